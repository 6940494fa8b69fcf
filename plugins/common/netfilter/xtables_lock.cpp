// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/netfilter/xtables_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <system_error>
#include <thread>
#include <utility>

namespace sluice::netfilter {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void fail(const std::string& what) { throw std::system_error(errno, std::system_category(), what); }

}  // namespace

XtablesLock::Place XtablesLock::default_place() {
  const char* file = std::getenv("XTABLES_LOCKFILE");
  return {file != nullptr && *file != '\0' ? file : "/run/xtables.lock", "xtables"};
}

bool XtablesLock::try_file() {
  if (!file_.valid()) file_ = lib::Fd(open(place_.file.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!file_.valid()) fail("open the iptables lock " + place_.file);
  if (flock(file_.get(), LOCK_EX | LOCK_NB) == 0) return true;
  if (errno != EWOULDBLOCK && errno != EINTR) fail("lock " + place_.file);
  return false;
}

bool XtablesLock::try_socket() {
  if (place_.socket.empty() || socket_.valid()) return true;
  lib::Fd made(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!made.valid()) fail("make a socket for the iptables lock");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // Abstract: the first byte stays 0.
  const std::size_t size = std::min(place_.socket.size(), sizeof(address.sun_path) - 1);
  std::copy_n(place_.socket.data(), size, address.sun_path + 1);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size);
  if (bind(made.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0) {
    socket_ = std::move(made);
    return true;
  }
  if (errno != EADDRINUSE) fail("take the iptables lock @" + place_.socket);
  return false;
}

bool XtablesLock::acquire(std::chrono::milliseconds limit, std::chrono::milliseconds pause,
                          const std::function<bool()>& stopped) {
  const Clock::time_point begin = Clock::now();
  bool held = false;
  for (;;) {
    held = try_file() && try_socket();
    const auto spent = Clock::now() - begin;
    waited_ = std::chrono::duration_cast<std::chrono::milliseconds>(spent);
    if (held || spent >= limit || (stopped && stopped())) break;
    std::this_thread::sleep_for(std::min<Clock::duration>(pause, limit - spent));
  }
  if (!held) release();
  return held;
}

void XtablesLock::release() noexcept {
  file_.reset();
  socket_.reset();
}

}  // namespace sluice::netfilter
