// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/control/control_reply.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <utility>

namespace sluice::observe {

lib::Result<std::shared_ptr<ReplyMailbox>> ReplyMailbox::make() {
  lib::Fd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) return lib::errno_status("cannot create the reply queue of the control server", errno);
  return std::shared_ptr<ReplyMailbox>(new ReplyMailbox(std::move(wake)));
}

void ReplyMailbox::put(Letter letter) {
  {
    const lib::Lock lock(mutex_);
    letters_.push_back(std::move(letter));
  }
  const std::uint64_t one = 1;
  // Cannot fail: the counter is far from its limit.
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
}

std::deque<ReplyMailbox::Letter> ReplyMailbox::take_all() {
  std::uint64_t count = 0;
  // Only clears the eventfd; the count does not matter.
  [[maybe_unused]] const ssize_t read = ::read(wake_.get(), &count, sizeof count);
  const lib::Lock lock(mutex_);
  return std::exchange(letters_, {});
}

void ControlReply::State::answer(MakeResult make) {
  if (!answered.exchange(true)) mailbox->put({ticket, std::move(make)});
}

ControlReply::State::~State() {
  if (answered) return;
  try {
    answer([]() -> nlohmann::json { throw std::runtime_error("request cancelled: the daemon is shutting down"); });
  } catch (...) {
    // Out of memory: the request times out.
  }
}

}  // namespace sluice::observe
