// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/http/host_resolver.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "lib/fd.hpp"
#include "lib/mutex.hpp"

namespace sluice::kube {
namespace {

constexpr auto kStopCheck = std::chrono::milliseconds(50);

constexpr const char* kRemedy = "; check the name servers in /etc/resolv.conf, or use an IP address";

std::vector<lib::IpAddress> distinct_addresses(const addrinfo* list) {
  std::vector<lib::IpAddress> addresses;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    lib::IpAddress address;
    if (entry->ai_family == AF_INET) {
      sockaddr_in in{};
      std::memcpy(&in, entry->ai_addr, sizeof in);
      address = lib::IpAddress::from_bytes(lib::Family::ipv4, &in.sin_addr);
    } else if (entry->ai_family == AF_INET6) {
      sockaddr_in6 in6{};
      std::memcpy(&in6, entry->ai_addr, sizeof in6);
      address = lib::IpAddress::from_bytes(lib::Family::ipv6, &in6.sin6_addr);
    } else {
      continue;
    }
    if (std::find(addresses.begin(), addresses.end(), address) == addresses.end()) addresses.push_back(address);
  }
  return addresses;
}

lib::Status failed_lookup(const std::string& host, const std::string& reason) {
  return lib::unavailable("the name " + host + " cannot be looked up: " + reason);
}

// One lookup; the fields are under the mutex of HostResolver::Shared.
struct InProgress {
  const std::string host;
  bool timed_out = false;  // a caller has timed out
  std::optional<LookupResult> result{};
};

}  // namespace

LookupResult system_lookup(const std::string& host) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int error = ::getaddrinfo(host.c_str(), nullptr, &hints, &list);
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(list, [](addrinfo* all) {
    if (all != nullptr) ::freeaddrinfo(all);
  });
  return {error, distinct_addresses(error == 0 ? list : nullptr)};
}

struct HostResolver::Shared {
  explicit Shared(Lookup how) : lookup(std::move(how)) {}

  const Lookup lookup;
  lib::Mutex mutex;
  lib::ConditionVariable ended;
  std::vector<std::shared_ptr<InProgress>> in_progress SLUICE_GUARDED_BY(mutex);

  // The lookup of `host` in which no caller has timed out, if any.
  std::shared_ptr<InProgress> find(const std::string& host) const SLUICE_REQUIRES(mutex) {
    const auto same = std::find_if(in_progress.begin(), in_progress.end(),
                                   [&](const auto& one) { return one->host == host && !one->timed_out; });
    return same == in_progress.end() ? nullptr : *same;
  }
  // [thread of the lookup]
  void run(const std::shared_ptr<InProgress>& what) {
    LookupResult result{EAI_MEMORY, {}};
    try {
      result = lookup(what->host);
    } catch (const std::bad_alloc&) {
    }
    const lib::Lock lock(mutex);
    what->result = std::move(result);
    std::erase(in_progress, what);
    ended.notify_all();
  }
};

HostResolver::HostResolver(Lookup lookup) : shared_(std::make_shared<Shared>(std::move(lookup))) {}

std::size_t HostResolver::in_progress() const {
  const lib::Lock lock(shared_->mutex);
  return shared_->in_progress.size();
}

lib::Result<std::vector<lib::IpAddress>> HostResolver::resolve(const std::string& host,
                                                               std::chrono::milliseconds limit,
                                                               const std::function<bool()>& stopped) {
  if (const auto literal = lib::IpAddress::parse(host)) return std::vector{*literal};
  lib::UniqueLock lock(shared_->mutex);
  std::shared_ptr<InProgress> lookup = shared_->find(host);
  if (lookup == nullptr) {
    if (shared_->in_progress.size() >= kMostLookups) {
      return failed_lookup(host, std::to_string(kMostLookups) +
                                     " lookups still wait for the name server, and no more are started" + kRemedy);
    }
    lookup = std::make_shared<InProgress>(InProgress{host});
    shared_->in_progress.push_back(lookup);
    try {
      std::thread([shared = shared_, lookup] { shared->run(lookup); }).detach();
    } catch (const std::system_error& error) {
      shared_->in_progress.pop_back();
      return failed_lookup(host, error.what());
    }
  }
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!lookup->result) {
    lock.unlock();
    const bool ends = stopped();
    lock.lock();
    if (ends) return lib::unavailable("stopped");
    if (lookup->result) break;
    if (std::chrono::steady_clock::now() >= deadline) {
      lookup->timed_out = true;
      return failed_lookup(host, std::string("no answer from the name server") + kRemedy);
    }
    shared_->ended.wait_until(shared_->mutex, std::chrono::steady_clock::now() + kStopCheck);
  }
  const LookupResult& found = *lookup->result;
  if (found.error != 0) return failed_lookup(host, ::gai_strerror(found.error));
  if (found.addresses.empty()) return lib::unavailable("the name " + host + " has no address");
  return found.addresses;
}

lib::Status probe_connect(const lib::IpAddress& address, std::uint16_t port, std::chrono::milliseconds limit) {
  const std::string action = "connect to " + lib::host_port(address, port);
  const bool v4 = address.family() == lib::Family::ipv4;
  const lib::Fd fd(::socket(v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return lib::errno_status(action, errno);
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
  if (errno != EINPROGRESS) return lib::errno_status(action, errno);
  pollfd wait{fd.get(), POLLOUT, 0};
  if (::poll(&wait, 1, static_cast<int>(limit.count())) <= 0) return lib::errno_status(action, ETIMEDOUT);
  int error = 0;
  socklen_t error_size = sizeof error;
  if (::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &error_size) != 0) error = errno;
  return error == 0 ? lib::Status() : lib::errno_status(action, error);
}

}  // namespace sluice::kube
