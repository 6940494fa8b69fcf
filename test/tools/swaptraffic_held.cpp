// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Kind tcp-held: connections that must stay open as long as the flow, with requests in turn. A connection that ends is
// a failure and is opened again, so that later failures are detected, too.
#include <unistd.h>

#include <array>
#include <cerrno>
#include <deque>
#include <limits>
#include <utility>
#include <vector>

#include "swaptraffic_flow.hpp"

namespace swaptraffic {
namespace {

constexpr double kPause = 0.2;  // before a connection is opened again

class TcpHeld final : public Flow {
 public:
  TcpHeld(FlowOptions options, Registry registry) : Flow(std::move(options)), registry_(registry) {
    if (options_.every == 0) options_.every = 0.05;
    if (options_.patience == 0) options_.patience = 15;
    if (options_.count == 0) options_.count = 4;
    connections_.resize(options_.count);
  }
  ~TcpHeld() override {
    for (const Connection& connection : connections_) {
      if (connection.fd >= 0) close(connection.fd);
    }
  }

  void begin(double begin) override {
    begin_ = begin;
    for (Connection& connection : connections_) connection.dial_at = begin;
  }

  void advance(double time, bool more) override {
    more_ = more;
    for (Connection& connection : connections_) {
      if (more && connection.fd < 0 && connection.dial_at <= time) open(connection, time);
      if (!connection.asked.empty() && connection.asked.front().planned + options_.patience <= time) {
        tally_.failed(connection.asked.front().planned, connection.open ? "no answer" : "no end of connect");
        end(connection, time);
      }
    }
    for (; more && planned() <= time; ++number_) {
      Connection& connection = connections_[number_ % connections_.size()];
      tally_.sent();
      connection.asked.push_back({number_, planned()});
      if (connection.open) ask(connection, connection.asked.back(), time);
    }
  }

  [[nodiscard]] double due() const override {
    return more_ ? planned() : relayload::now() + 0.01;
  }

  void handle(std::uint64_t tag, std::uint32_t events, double time) override {
    Connection& connection = connections_.at(tag & 0xffffffff);
    if (connection.fd < 0 || connection.generation != tag >> 32) return;
    if (!connection.open && !opened(connection, events, time)) return;
    receive(connection, time);
  }

  [[nodiscard]] bool quiet() const override {
    for (const Connection& connection : connections_) {
      // Without a connection no answer arrives; its end is already counted.
      if (connection.fd >= 0 && !connection.asked.empty()) return false;
    }
    return true;
  }

 private:
  struct Request {
    std::uint64_t number;
    double planned;
  };
  struct Connection {
    int fd = -1;
    std::uint32_t generation = 0;
    bool open = false;
    double dial_at = 0;  // of an open connection: when it was dialled
    std::deque<Request> asked{};  // unanswered requests; those due while connecting are sent afterwards
    std::uint64_t repeated = 0;   // retransmitted segments that are already counted
    std::string unfinished_line{};
  };

  [[nodiscard]] double planned() const { return begin_ + static_cast<double>(number_) * options_.every; }

  void open(Connection& connection, double time) {
    const int fd = dial(SOCK_STREAM, 0);
    if (fd < 0) {
      tally_.failed(time, "connect", -fd);
      connection.dial_at = time + kPause;
      return;
    }
    connection.fd = fd;
    connection.dial_at = time;
    connection.open = false;
    connection.generation = (connection.generation + 1) & 0xffffff;
    const auto slot = static_cast<std::uint64_t>(&connection - connections_.data());
    registry_.add(fd, EPOLLIN | EPOLLOUT | EPOLLET, std::uint64_t{connection.generation} << 32 | slot);
  }

  bool opened(Connection& connection, std::uint32_t events, double time) {
    int error = 0;
    socklen_t size = sizeof(error);
    getsockopt(connection.fd, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) {
      tally_.failed(time, "connect", error);
      end(connection, time);
      return false;
    }
    if ((events & EPOLLOUT) == 0) return false;
    connection.open = true;
    const std::deque<Request> waiting = connection.asked;
    for (const Request& request : waiting) {
      if (connection.open) ask(connection, request, time);
    }
    return connection.open;
  }

  void ask(Connection& connection, const Request& request, double time) {
    const std::string text = std::to_string(request.number) + "\n";
    if (send(connection.fd, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size())) return;
    tally_.reset(time, "ask", errno, time - connection.dial_at);
    end(connection, time);
  }

  void receive(Connection& connection, double time) {
    std::array<char, 4096> data{};
    for (;;) {
      const ssize_t got = recv(connection.fd, data.data(), data.size(), 0);
      if (got < 0 && errno == EAGAIN) return;
      if (got <= 0) {
        tally_.reset(time, "answer", got < 0 ? errno : 0, time - connection.dial_at);
        return end(connection, time);
      }
      std::string& text = connection.unfinished_line.append(data.data(), static_cast<std::size_t>(got));
      for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
        take(connection, std::string_view(text).substr(0, end), time);
        text.erase(0, end + 1);
      }
    }
  }

  // "SERVER@CLIENT NUMBER"; answers have the order of the requests.
  void take(Connection& connection, std::string_view line, double time) {
    const std::size_t space = line.find(' ');
    if (connection.asked.empty() || space == std::string_view::npos ||
        line.substr(space + 1) != std::to_string(connection.asked.front().number)) {
      return tally_.failed(time, "an answer that fits no question");
    }
    answered(connection.asked.front().planned, time, line.substr(0, space));
    connection.asked.pop_front();
    count_repetitions(connection);
  }

  void count_repetitions(Connection& connection) {
    const std::uint64_t all = repetitions(connection.fd);
    tally_.repeated(all - connection.repeated);
    connection.repeated = all;
  }

  void end(Connection& connection, double time) {
    count_repetitions(connection);
    connection.repeated = 0;
    close(connection.fd);
    connection.fd = -1;
    connection.open = false;
    connection.dial_at = time + kPause;
    connection.asked.clear();
    connection.unfinished_line.clear();
  }

  Registry registry_;
  std::vector<Connection> connections_;
  double begin_ = 0;
  std::uint64_t number_ = 0;
  bool more_ = true;
};

}  // namespace

std::unique_ptr<Flow> make_tcp_held(FlowOptions options, Registry registry) {
  return std::make_unique<TcpHeld>(std::move(options), registry);
}

}  // namespace swaptraffic
