// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/http/host_resolver.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "core/base/fd.hpp"

namespace sluice::kube {
namespace {

constexpr auto kStopCheck = std::chrono::milliseconds(50);

struct Lookup {
  std::mutex mutex;
  std::condition_variable done_changed;
  bool done = false;
  int error = 0;
  std::vector<base::IpAddress> addresses;
};

void look_up(const std::string& host, Lookup& out) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int error = ::getaddrinfo(host.c_str(), nullptr, &hints, &list);
  std::vector<base::IpAddress> addresses;
  for (const addrinfo* entry = list; error == 0 && entry != nullptr; entry = entry->ai_next) {
    base::IpAddress address;
    if (entry->ai_family == AF_INET) {
      sockaddr_in in{};
      std::memcpy(&in, entry->ai_addr, sizeof in);
      address = base::IpAddress::from_bytes(base::Family::ipv4, &in.sin_addr);
    } else if (entry->ai_family == AF_INET6) {
      sockaddr_in6 in6{};
      std::memcpy(&in6, entry->ai_addr, sizeof in6);
      address = base::IpAddress::from_bytes(base::Family::ipv6, &in6.sin6_addr);
    } else {
      continue;
    }
    if (std::find(addresses.begin(), addresses.end(), address) == addresses.end()) addresses.push_back(address);
  }
  if (list != nullptr) ::freeaddrinfo(list);
  const std::lock_guard lock(out.mutex);
  out.error = error;
  out.addresses = std::move(addresses);
  out.done = true;
  out.done_changed.notify_all();
}

}  // namespace

base::Result<std::vector<base::IpAddress>> resolve_host(const std::string& host, std::chrono::milliseconds limit,
                                                        const std::function<bool()>& stopped) {
  if (const auto literal = base::IpAddress::parse(host)) return std::vector{*literal};
  const auto lookup = std::make_shared<Lookup>();
  try {
    std::thread([lookup, host] { look_up(host, *lookup); }).detach();
  } catch (const std::system_error& error) {
    return base::unavailable("cannot look up " + host + ": " + error.what());
  }
  const auto deadline = std::chrono::steady_clock::now() + limit;
  std::unique_lock lock(lookup->mutex);
  while (!lookup->done) {
    if (stopped()) return base::unavailable("stopped");
    if (std::chrono::steady_clock::now() >= deadline) {
      return base::unavailable("the name " + host + " cannot be looked up: no answer from the name server");
    }
    lookup->done_changed.wait_for(lock, kStopCheck);
  }
  if (lookup->error != 0) {
    return base::unavailable("the name " + host + " cannot be looked up: " + ::gai_strerror(lookup->error));
  }
  if (lookup->addresses.empty()) return base::unavailable("the name " + host + " has no address");
  return lookup->addresses;
}

base::Status probe_connect(const base::IpAddress& address, std::uint16_t port, std::chrono::milliseconds limit) {
  const std::string action = "connect to " + base::host_port(address, port);
  const bool v4 = address.family() == base::Family::ipv4;
  const base::Fd fd(::socket(v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return base::errno_status(action, errno);
  sockaddr_storage storage{};
  socklen_t size = 0;
  if (v4) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(port);
    std::memcpy(&in.sin_addr, address.bytes().data(), 4);
    std::memcpy(&storage, &in, size = sizeof in);
  } else {
    sockaddr_in6 in6{};
    in6.sin6_family = AF_INET6;
    in6.sin6_port = htons(port);
    std::memcpy(&in6.sin6_addr, address.bytes().data(), 16);
    std::memcpy(&storage, &in6, size = sizeof in6);
  }
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&storage), size) == 0) return {};
  if (errno != EINPROGRESS) return base::errno_status(action, errno);
  pollfd wait{fd.get(), POLLOUT, 0};
  if (::poll(&wait, 1, static_cast<int>(limit.count())) <= 0) return base::errno_status(action, ETIMEDOUT);
  int error = 0;
  socklen_t error_size = sizeof error;
  if (::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &error_size) != 0) error = errno;
  return error == 0 ? base::Status() : base::errno_status(action, error);
}

}  // namespace sluice::kube
