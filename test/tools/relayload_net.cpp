// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "relayload_net.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <system_error>

#include "netecho_options.hpp"

namespace relayload {
namespace {

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

void set(int fd, int level, int option, int value, const char* what) {
  if (setsockopt(fd, level, option, &value, sizeof(value)) != 0) fail(what);
}

}  // namespace

double now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

void raise_descriptor_limit() {
  constexpr rlim_t kWanted = 1 << 20;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) fail("getrlimit");
  const rlimit high{kWanted, std::max(limit.rlim_max, kWanted)};
  if (setrlimit(RLIMIT_NOFILE, &high) == 0) return;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) fail("setrlimit");
}

Address parse_address(const std::string& text, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int status = getaddrinfo(text.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (status != 0) throw std::runtime_error(text + ": " + gai_strerror(status));
  Address address;
  address.size = found->ai_addrlen;
  std::memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  return address;
}

Dialler::Dialler(const Address& target, const std::vector<std::string>& sources) : target_(target) {
  for (const std::string& source : sources) sources_.push_back(parse_address(source, 0));
}

int Dialler::dial(int type) {
  const int fd = socket(target_.family(), type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  const auto failed = [fd] {
    const int error = errno;
    close(fd);
    return -error;
  };
  if (!sources_.empty()) {
    const Address& source = sources_[next_++ % sources_.size()];
    const int on = 1;
    // connect() selects the port, so that a port can be used for several destinations.
    if (setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on)) != 0) return failed();
    if (bind(fd, source.get(), source.size) != 0) return failed();
  }
  if (connect(fd, target_.get(), target_.size) != 0 && errno != EINPROGRESS) return failed();
  return fd;
}

int listen_on(const Address& address, int type) {
  const int fd = socket(address.family(), type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) fail("socket");
  set(fd, SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR");
  if (bind(fd, address.get(), address.size) != 0) fail("bind");
  if (type == SOCK_STREAM && listen(fd, 65535) != 0) fail("listen");
  return fd;
}

void keep_datagrams(int fd) { set(fd, SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20, "SO_RCVBUFFORCE"); }

Epoll::Epoll() : fd_(epoll_create1(EPOLL_CLOEXEC)) {
  if (fd_ < 0) fail("epoll_create1");
}

Epoll::~Epoll() { close(fd_); }

void Epoll::add(int fd, std::uint32_t events, std::uint64_t tag) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = tag;
  if (epoll_ctl(fd_, EPOLL_CTL_ADD, fd, &event) != 0) fail("epoll_ctl");
}

void Epoll::modify(int fd, std::uint32_t events, std::uint64_t tag) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = tag;
  if (epoll_ctl(fd_, EPOLL_CTL_MOD, fd, &event) != 0) fail("epoll_ctl");
}

void Epoll::remove(int fd) {
  if (epoll_ctl(fd_, EPOLL_CTL_DEL, fd, nullptr) != 0) fail("epoll_ctl");
}

std::span<const epoll_event> Epoll::wait(double seconds) {
  timespec patience{};
  if (seconds > 0) {
    patience.tv_sec = static_cast<time_t>(seconds);
    patience.tv_nsec = static_cast<long>((seconds - std::floor(seconds)) * 1e9);
  }
  const int count =
      epoll_pwait2(fd_, events_.data(), static_cast<int>(events_.size()), seconds < 0 ? nullptr : &patience, nullptr);
  if (count < 0 && errno != EINTR) fail("epoll_pwait2");
  return {events_.data(), static_cast<std::size_t>(std::max(count, 0))};
}

double Latencies::percentile(double percent) {
  if (seconds_.empty()) return 0;
  if (!sorted_) std::sort(seconds_.begin(), seconds_.end());
  sorted_ = true;
  const auto rank = static_cast<std::size_t>(static_cast<double>(seconds_.size()) * percent / 100);
  return static_cast<double>(seconds_[std::min(rank, seconds_.size() - 1)]) * 1000;
}

std::string Failures::json() const {
  std::string text = "\"failed\": " + std::to_string(count_);
  if (count_ != 0) text += std::string(", \"first_failure\": \"") + std::strerror(first_) + "\"";
  return text;
}

double parse_seconds(const std::string& text) {
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc{} || end != text.data() + text.size() || !(seconds >= 0)) {
    throw netecho::UsageError("--seconds: '" + text + "' is no length of time");
  }
  return seconds;
}

}  // namespace relayload
