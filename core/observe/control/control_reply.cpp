// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/control/control_reply.hpp"

#include <stdexcept>
#include <utility>

namespace sluice::observe {

lib::Result<std::shared_ptr<ReplyMailbox>> ReplyMailbox::make() {
  lib::WakeUp wake;
  if (const int failure = wake.open(); failure != 0) {
    return lib::errno_status("cannot create the reply queue of the control server", failure);
  }
  return std::shared_ptr<ReplyMailbox>(new ReplyMailbox(std::move(wake)));
}

void ReplyMailbox::put(Letter letter) {
  {
    const lib::Lock lock(mutex_);
    letters_.push_back(std::move(letter));
  }
  wake_.signal();
}

std::deque<ReplyMailbox::Letter> ReplyMailbox::take_all() {
  wake_.drain();
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
