// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/base/notify.hpp"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cstddef>

#include "lib/number.hpp"

namespace sluice::base {
namespace {

std::string taken(const char* name) {
  const char* value = ::getenv(name);
  const std::string out = value == nullptr ? "" : value;
  ::unsetenv(name);
  return out;
}

// `name` is a path, or a name in the abstract namespace with "@" in place of its leading zero byte.
std::vector<char> socket_address(const std::string& name) {
  sockaddr_un address{};
  const bool abstract = name.starts_with('@');
  if (!(abstract || name.starts_with('/')) || name.size() < 2 || name.size() >= sizeof address.sun_path) return {};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, name.data(), name.size());
  if (abstract) address.sun_path[0] = '\0';
  // A path includes its terminating zero byte; an abstract name has none.
  const std::size_t length = offsetof(sockaddr_un, sun_path) + name.size() + (abstract ? 0 : 1);
  const char* bytes = reinterpret_cast<const char*>(&address);
  return {bytes, bytes + length};
}

}  // namespace

Notifier Notifier::from_environment() {
  const std::string socket = taken("NOTIFY_SOCKET");
  const auto every = lib::parse_number<long long>(taken("WATCHDOG_USEC"), 1);
  const std::string watched = taken("WATCHDOG_PID");

  Notifier out;
  out.address_ = socket_address(socket);
  if (out.address_.empty()) return out;
  out.socket_ = lib::Fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const bool meant_for_us = watched.empty() || lib::parse_number<pid_t>(watched, 1) == ::getpid();
  if (every && meant_for_us) out.watchdog_ = std::chrono::microseconds(*every);
  return out;
}

void Notifier::notify(std::string_view state) const {
  if (!is_enabled()) return;
  const auto* address = reinterpret_cast<const sockaddr*>(address_.data());
  [[maybe_unused]] const auto sent = ::sendto(socket_.get(), state.data(), state.size(), MSG_NOSIGNAL, address,
                                              static_cast<socklen_t>(address_.size()));
}

void Notifier::reloading() const {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const long long microseconds = now.tv_sec * 1'000'000LL + now.tv_nsec / 1000;
  notify("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(microseconds));
}

void Notifier::ready() const { notify("READY=1"); }

}  // namespace sluice::base
