// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Sends as many bytes as possible. The throughput is the number of received bytes and the time until their arrival.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <limits>
#include <stdexcept>
#include <system_error>

#include "netecho_options.hpp"
#include "relayload_commands.hpp"
#include "relayload_net.hpp"
#include "test/unit/patience.hpp"

namespace relayload {
namespace {

constexpr std::size_t kReadBytes = 1 << 20;
constexpr double kDrainSeconds = 30;

struct Stream {
  int fd = -1;
  bool sending = false;
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::uint64_t counted = 0;  // by the server
};

class Streams {
 public:
  Streams(Dialler& dialler, std::size_t count, char direction) : direction_(direction), streams_(count) {
    for (Stream& stream : streams_) {
      stream.fd = dialler.dial(SOCK_STREAM);
      if (stream.fd < 0) throw std::system_error(-stream.fd, std::generic_category(), "connect");
    }
    for (std::size_t i = 0; i < count; ++i) begin(streams_[i], i);
  }
  ~Streams() {
    for (const Stream& stream : streams_) close(stream.fd);
  }
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  void run(double seconds) {
    const double begin = now();
    const double end = begin + seconds;
    while (now() < end && stop_requested == 0) round(end - now());
    while (received_ == 0 && direction_ != kUp && now() < end + kFirstPatience && stop_requested == 0) round(1);
    if (direction_ == kUp || direction_ == kBoth) finish();
    elapsed_ = now() - begin;
  }

  void print() const {
    std::uint64_t up = 0;
    std::uint64_t down = 0;
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    for (const Stream& stream : streams_) {
      up += stream.counted;
      down += stream.received;
      least = std::min(least, stream.counted + stream.received);
    }
    std::printf(
        "{\"streams\": %zu, \"seconds\": %.3f, \"bytes_up\": %llu, \"bytes_down\": %llu, "
        "\"bytes_slowest_stream\": %llu, \"gbit_per_second\": %.3f}\n",
        streams_.size(), elapsed_, static_cast<unsigned long long>(up), static_cast<unsigned long long>(down),
        static_cast<unsigned long long>(least), static_cast<double>(up + down) * 8e-9 / elapsed_);
  }

 private:
  void begin(Stream& stream, std::size_t index) {
    pollfd ready{stream.fd, POLLOUT, 0};
    const int timeout = sluice::test::stretched_milliseconds(std::chrono::seconds(10));
    if (poll(&ready, 1, timeout) != 1) throw std::runtime_error("connection timeout after " + std::to_string(timeout) + " ms");
    if (send(stream.fd, &direction_, 1, 0) != 1) throw std::system_error(errno, std::generic_category(), "connect");
    stream.sent = 1;
    stream.sending = direction_ != kDown;
    epoll_.add(stream.fd, (stream.sending ? EPOLLOUT : 0U) | EPOLLIN, index);
  }

  void round(double seconds) {
    for (const epoll_event& event : epoll_.wait(seconds)) {
      Stream& stream = streams_[event.data.u64];
      if ((event.events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) receive(stream);
      if ((event.events & EPOLLOUT) != 0 && stream.sending) send_more(stream);
    }
  }

  void send_more(Stream& stream) {
    const ssize_t sent = send(stream.fd, zeros_.data(), zeros_.size(), 0);
    if (sent > 0) stream.sent += static_cast<std::uint64_t>(sent);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) throw std::system_error(errno, std::generic_category(), "send");
  }

  void receive(Stream& stream) {
    if (direction_ == kUp) return receive_count(stream);
    const ssize_t got = recv(stream.fd, nullptr, kReadBytes, MSG_TRUNC);
    if (got > 0) {
      stream.received += static_cast<std::uint64_t>(got);
      received_ += static_cast<std::uint64_t>(got);
    } else if (got == 0) {
      if (stream.sending || direction_ == kDown) throw std::runtime_error("a stream ended too early");
      end(stream);
    } else if (errno != EAGAIN && errno != EINTR) {
      throw std::system_error(errno, std::generic_category(), "receive");
    }
  }

  void receive_count(Stream& stream) {
    const ssize_t got = recv(stream.fd, &stream.counted, sizeof(stream.counted), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got < 0) throw std::system_error(errno, std::generic_category(), "receive");
    if (got != sizeof(stream.counted)) throw std::runtime_error("a stream ended without the server's count");
    if (stream.counted != stream.sent) {
      throw std::runtime_error("sent " + std::to_string(stream.sent) + " bytes, the server got " +
                               std::to_string(stream.counted));
    }
    end(stream);
  }

  void end(Stream& stream) {
    ++ended_;
    epoll_.remove(stream.fd);
    if (direction_ == kBoth) stream.counted = stream.sent;  // the server ends after reading everything
  }

  void finish() {
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      streams_[i].sending = false;
      if (shutdown(streams_[i].fd, SHUT_WR) != 0) throw std::system_error(errno, std::generic_category(), "shutdown");
      epoll_.modify(streams_[i].fd, EPOLLIN, i);
    }
    const double end = now() + kDrainSeconds;
    while (ended_ < streams_.size()) {
      if (now() > end) throw std::runtime_error("not all that was sent arrived within 30 s");
      round(end - now());
    }
  }

  const char direction_;
  Epoll epoll_;
  std::vector<Stream> streams_;
  std::vector<char> zeros_ = std::vector<char>(kReadBytes);
  std::size_t ended_ = 0;
  std::uint64_t received_ = 0;
  double elapsed_ = 0;
};

}  // namespace

int throughput(const std::vector<std::string>& words) {
  const netecho::Options options(words, {{"--streams", "--seconds", "--direction", "--source"}, {}, 2});
  const std::string way = options.text("--direction", "up");
  const char direction = way == "up" ? kUp : way == "down" ? kDown : way == "both" ? kBoth : '\0';
  if (direction == '\0') throw netecho::UsageError("--direction: '" + way + "' is not up, down or both");
  Dialler dialler(parse_address(options.positional(0), netecho::parse_port(options.positional(1))),
                  options.all("--source"));
  Streams streams(dialler, options.number("--streams", 1), direction);
  streams.run(parse_seconds(options.text("--seconds", "5")));
  streams.print();
  return 0;
}

}  // namespace relayload
