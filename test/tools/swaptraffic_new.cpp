// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Kind tcp-new: connect, ask, receive the answer, close normally.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <limits>
#include <utility>
#include <vector>

#include "swaptraffic_flow.hpp"

namespace swaptraffic {
namespace {

constexpr std::string_view kQuestion = "new\n";
// After a pause of this process everything planned meanwhile is due at once. More connections at a time than this would
// measure the limit of open files.
constexpr std::size_t kMostAtOnce = 256;

class TcpNew final : public Flow {
 public:
  TcpNew(FlowOptions options, Registry registry) : Flow(std::move(options)), registry_(registry) {
    if (options_.every == 0) options_.every = 0.005;
    if (options_.patience == 0) options_.patience = 5;
  }
  ~TcpNew() override {
    for (const Connection& connection : connections_) {
      if (connection.fd >= 0) close(connection.fd);
    }
  }

  void begin(double begin) override { begin_ = begin; }

  void advance(double time, bool more) override {
    more_ = more;
    while (more && !full() && planned() <= time) {
      start(planned(), time);
      ++number_;
    }
    for (; !deadlines_.empty() && deadlines_.front().time <= time; deadlines_.pop_front()) {
      Connection& connection = connections_[deadlines_.front().slot];
      if (connection.fd < 0 || connection.generation != deadlines_.front().generation) continue;
      tally_.failed(connection.planned, std::string("no end of ") + step(connection.phase));
      finish(connection);
    }
  }

  [[nodiscard]] double due() const override {
    const double deadline = deadlines_.empty() ? std::numeric_limits<double>::infinity() : deadlines_.front().time;
    return more_ && !full() ? std::min(planned(), deadline) : deadline;
  }

  void handle(std::uint64_t tag, std::uint32_t events, double time) override {
    Connection& connection = connections_.at(tag & 0xffffffff);
    // Ignore an event of a connection that was closed after epoll returned it.
    if (connection.fd < 0 || connection.generation != tag >> 32) return;
    if (!advance(connection, events, time)) finish(connection);
  }

  [[nodiscard]] bool quiet() const override { return free_.size() == connections_.size(); }

 private:
  enum class Phase { connecting, asked, closing };
  struct Connection {
    int fd = -1;
    std::uint32_t generation = 0;
    Phase phase = Phase::connecting;
    double planned = 0;
    double dialled = 0;
    std::string answer{};
  };
  struct Deadline {
    double time;
    std::size_t slot;
    std::uint32_t generation;
  };

  static const char* step(Phase phase) {
    return phase == Phase::connecting ? "connect" : phase == Phase::asked ? "answer" : "close";
  }

  [[nodiscard]] bool full() const { return connections_.size() - free_.size() >= kMostAtOnce; }

  [[nodiscard]] double planned() const { return begin_ + static_cast<double>(number_) * options_.every; }

  void start(double planned, double time) {
    tally_.sent();
    const int fd = dial(SOCK_STREAM, 0);
    if (fd < 0) return tally_.failed(time, "connect", -fd);
    if (free_.empty()) {
      free_.push_back(connections_.size());
      connections_.emplace_back();
    }
    tally_.opened();
    const std::size_t slot = free_.back();
    free_.pop_back();
    Connection& connection = connections_[slot];
    connection.fd = fd;
    connection.generation = (connection.generation + 1) & 0xffffff;
    connection.phase = Phase::connecting;
    connection.planned = planned;
    connection.dialled = time;
    connection.answer.clear();
    registry_.add(fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, std::uint64_t{connection.generation} << 32 | slot);
    // Measured from now on, not from the schedule: the delay until now was caused by the machine, not by the proxy.
    deadlines_.push_back({time + options_.patience, slot, connection.generation});
  }

  // Returns false at the end of the connection.
  bool advance(Connection& connection, std::uint32_t events, double time) {
    if (connection.phase == Phase::connecting) {
      int error = 0;
      socklen_t size = sizeof(error);
      getsockopt(connection.fd, SOL_SOCKET, SO_ERROR, &error, &size);
      if (error != 0) return over(connection, "connect", error, time);
      if ((events & EPOLLOUT) == 0) return true;
      if (send(connection.fd, kQuestion.data(), kQuestion.size(), MSG_NOSIGNAL) < 0) {
        return over(connection, "ask", errno, time);
      }
      connection.phase = Phase::asked;
    }
    std::array<char, 256> data{};
    for (;;) {
      const ssize_t got = recv(connection.fd, data.data(), data.size(), 0);
      if (got < 0 && errno == EAGAIN) return true;
      if (got < 0) return over(connection, step(connection.phase), errno, time);
      if (got == 0 && connection.phase == Phase::asked) return over(connection, "answer", 0, time);
      if (got == 0) return false;
      connection.answer.append(data.data(), static_cast<std::size_t>(got));
      if (connection.phase != Phase::asked || !connection.answer.ends_with('\n')) continue;
      answered(connection.planned, time, std::string_view(connection.answer).substr(0, connection.answer.find(' ')));
      shutdown(connection.fd, SHUT_WR);
      connection.phase = Phase::closing;
    }
  }

  bool over(Connection& connection, const char* what, int error, double time) {
    if (connection.phase != Phase::connecting && (error == 0 || error == ECONNRESET || error == EPIPE)) {
      tally_.reset(time, what, error, time - connection.dialled);
    } else {
      tally_.failed(time, what, error);
    }
    return false;
  }

  void finish(Connection& connection) {
    tally_.closed();
    tally_.repeated(repetitions(connection.fd));
    close(connection.fd);
    connection.fd = -1;
    free_.push_back(static_cast<std::size_t>(&connection - connections_.data()));
  }

  Registry registry_;
  std::vector<Connection> connections_;
  std::vector<std::size_t> free_;
  std::deque<Deadline> deadlines_;
  double begin_ = 0;
  std::uint64_t number_ = 0;
  bool more_ = true;
};

}  // namespace

std::unique_ptr<Flow> make_tcp_new(FlowOptions options, Registry registry) {
  return std::make_unique<TcpNew>(std::move(options), registry);
}

}  // namespace swaptraffic
