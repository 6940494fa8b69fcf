// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Kind udp-fixed: sockets that keep their port, like a resolver or a game, with requests at a fixed interval.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <deque>
#include <limits>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include "swaptraffic_flow.hpp"

namespace swaptraffic {
namespace {

class UdpFixed final : public Flow {
 public:
  UdpFixed(FlowOptions options, Registry registry) : Flow(std::move(options)), registry_(registry) {
    if (options_.every == 0) options_.every = 0.02;
    if (options_.patience == 0) options_.patience = 1;
    if (options_.count == 0) options_.count = 1;
    sockets_.resize(options_.count);
  }
  ~UdpFixed() override {
    for (const int fd : sockets_) {
      if (fd > 0) close(fd);
    }
  }

  void begin(double begin) override {
    begin_ = begin;
    for (std::size_t i = 0; i < sockets_.size(); ++i) {
      const std::uint16_t port = options_.from_port == 0 ? 0 : static_cast<std::uint16_t>(options_.from_port + i);
      sockets_[i] = dial(SOCK_DGRAM, port);
      if (sockets_[i] < 0) throw std::system_error(-sockets_[i], std::generic_category(), options_.label);
      relayload::keep_datagrams(sockets_[i]);
      registry_.add(sockets_[i], EPOLLIN | EPOLLERR, i);
    }
  }

  void advance(double time, bool more) override {
    more_ = more;
    for (; more && planned() <= time; ++number_) ask(time);
    for (; !asked_.empty() && (asked_.front().answered || asked_.front().planned + options_.patience <= time); ++first_) {
      if (!asked_.front().answered) tally_.lost(asked_.front().planned);
      asked_.pop_front();
    }
  }

  [[nodiscard]] double due() const override {
    const double deadline =
        asked_.empty() ? std::numeric_limits<double>::infinity() : asked_.front().planned + options_.patience;
    return more_ ? std::min(planned(), deadline) : deadline;
  }

  void handle(std::uint64_t tag, std::uint32_t, double time) override {
    std::array<char, 512> data{};
    for (;;) {
      const ssize_t got = recv(sockets_.at(tag), data.data(), data.size(), 0);
      if (got < 0 && errno == EAGAIN) return;
      if (got < 0) {
        tally_.failed(time, "answer", errno);  // an ICMP error for an earlier datagram
        continue;
      }
      take({data.data(), static_cast<std::size_t>(got)}, time);
    }
  }

  [[nodiscard]] bool quiet() const override {
    for (const Request& request : asked_) {
      if (!request.answered) return false;
    }
    return true;
  }

 private:
  struct Request {
    double planned;
    bool answered;
  };

  // Every socket asks once per `every`; the sockets are spread over that time.
  [[nodiscard]] double planned() const {
    return begin_ + static_cast<double>(number_) * options_.every / static_cast<double>(sockets_.size());
  }

  void ask(double time) {
    const int fd = sockets_[number_ % sockets_.size()];
    const std::string text = std::to_string(number_);
    tally_.sent();
    asked_.push_back({planned(), false});
    for (int attempt = 0; attempt < 2; ++attempt) {
      if (send(fd, text.data(), text.size(), MSG_NOSIGNAL) >= 0) return;
      // send() may return an ICMP error of an earlier datagram; then this one was not sent.
      tally_.failed(time, "ask", errno);
    }
  }

  // "SERVER@CLIENT NUMBER"
  void take(std::string_view text, double time) {
    const std::size_t space = text.find(' ');
    std::uint64_t number = 0;
    const char* begin = text.data() + (space == std::string_view::npos ? text.size() : space + 1);
    if (std::from_chars(begin, text.data() + text.size(), number).ec != std::errc{} || number >= number_) {
      return tally_.failed(time, "an answer that fits no question");
    }
    if (number < first_) return;  // timed out: it is already counted as lost
    Request& request = asked_[number - first_];
    if (request.answered) return tally_.failed(time, "answered twice");
    request.answered = true;
    answered(request.planned, time, text.substr(0, space));
  }

  Registry registry_;
  std::vector<int> sockets_;
  std::deque<Request> asked_;  // from number first_ on
  std::uint64_t first_ = 0;
  double begin_ = 0;
  std::uint64_t number_ = 0;
  bool more_ = true;
};

}  // namespace

std::unique_ptr<Flow> make_udp_fixed(FlowOptions options, Registry registry) {
  return std::make_unique<UdpFixed>(std::move(options), registry);
}

}  // namespace swaptraffic
