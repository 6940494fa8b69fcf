// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Many connections that stay open: idle, or with few requests while short connections come and go.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <stdexcept>
#include <system_error>

#include "netecho_options.hpp"
#include "relayload_commands.hpp"
#include "relayload_net.hpp"

namespace relayload {
namespace {

constexpr std::size_t kOpeningAtOnce = 256;
constexpr double kPatience = 60;

// A connection that sends one byte and receives the answer, repeatedly.
struct Asker {
  int fd = -1;
  bool waits = false;  // for the connection, or for an answer
  bool connected = false;
  double begun = 0;
};

// Asks as soon as it is connected. Returns true when an answer has arrived; throws on failure.
bool advance(Asker& asker, std::uint32_t events) {
  char byte = kEcho;
  // EPOLLERR alone may be an ICMP error of a router for the first packet; the kernel retries.
  if (!asker.connected && (events & EPOLLOUT) != 0) {
    if (send(asker.fd, &byte, 1, 0) != 1) throw std::system_error(errno, std::generic_category(), "send");
    asker.connected = true;
  }
  if (!asker.connected || (events & (EPOLLIN | EPOLLERR | EPOLLHUP)) == 0) return false;
  const ssize_t got = recv(asker.fd, &byte, 1, 0);
  if (got < 0 && errno == EAGAIN) return false;
  if (got < 0) throw std::system_error(errno, std::generic_category(), "receive");
  if (got == 0) throw std::system_error(ECONNRESET, std::generic_category(), "receive");
  asker.waits = false;
  return true;
}

void ask(Asker& asker) {
  const char byte = kEcho;
  asker.begun = now();
  asker.waits = true;
  if (send(asker.fd, &byte, 1, 0) != 1) throw std::system_error(errno, std::generic_category(), "send");
}

class Held {
 public:
  // Waits until all of `count` connections have been answered once.
  Held(Dialler& dialler, std::size_t count) : askers_(count) {
    const double end = now() + kPatience;
    std::size_t begun = 0;
    std::size_t answered = 0;
    while (answered < count) {
      for (; begun < count && begun < answered + kOpeningAtOnce; ++begun) {
        const int fd = dialler.dial(SOCK_STREAM);
        if (fd < 0) throw std::system_error(-fd, std::generic_category(), "connect");
        askers_[begun] = Asker{fd, true, false, now()};
        epoll_.add(fd, EPOLLIN | EPOLLOUT | EPOLLET, begun);
      }
      for (const epoll_event& event : epoll_.wait(1)) answered += advance(askers_[event.data.u64], event.events);
      if (now() > end || stop_requested != 0) {
        throw std::runtime_error("only " + std::to_string(answered) + " connections were answered");
      }
    }
  }
  ~Held() {
    for (const Asker& asker : askers_) {
      if (asker.fd >= 0) close(asker.fd);
    }
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

  Epoll& epoll() { return epoll_; }
  std::vector<Asker>& askers() { return askers_; }

 private:
  Epoll epoll_;
  std::vector<Asker> askers_;
};

class Prober {
 public:
  Prober(Dialler& dialler, Held& held, double rate, double every) : dialler_(dialler), held_(held) {
    probe_interval_ = 1 / rate;
    ask_interval_ = every / static_cast<double>(std::max<std::size_t>(held.askers().size(), 1));
  }
  ~Prober() {
    for (const Asker& probe : probes_) {
      if (probe.fd >= 0) close(probe.fd);
    }
  }
  Prober(const Prober&) = delete;
  Prober& operator=(const Prober&) = delete;

  void run(double seconds) {
    const double begin = now();
    double next_probe = begin;
    double next_ask = begin;
    const auto over = [&](double time) {
      return stop_requested != 0 || time >= begin + seconds + (connects_.count() == 0 ? kFirstPatience : 0);
    };
    for (double time = begin; !over(time); time = now()) {
      for (; next_probe <= time; next_probe += probe_interval_) start_probe();
      for (; next_ask <= time; next_ask += ask_interval_) ask_next();
      for (const epoll_event& event : held_.epoll().wait(std::max(0.0, std::min(next_probe, next_ask) - now()))) {
        handle(event.data.u64, event.events);
      }
    }
  }

  void print() {
    std::printf(
        "{\"open\": %zu, \"connections\": %zu, \"ms_p50\": %.3f, \"ms_p99\": %.3f, \"answers\": %zu, "
        "\"answer_ms_p50\": %.3f, \"answer_ms_p99\": %.3f, \"late_answers\": %zu, %s}\n",
        held_.askers().size(), connects_.count(), connects_.percentile(50), connects_.percentile(99), answers_.count(),
        answers_.percentile(50), answers_.percentile(99), late_, failures_.json().c_str());
  }

 private:
  void start_probe() {
    if (free_.empty()) {
      free_.push_back(probes_.size());
      probes_.emplace_back();
    }
    const double begun = now();
    const int fd = dialler_.dial(SOCK_STREAM);
    if (fd < 0) return failures_.add(-fd);
    const std::size_t index = free_.back();
    free_.pop_back();
    probes_[index] = Asker{fd, true, false, begun};
    held_.epoll().add(fd, EPOLLIN | EPOLLOUT | EPOLLET, held_.askers().size() + index);
  }

  void ask_next() {
    auto& askers = held_.askers();
    if (askers.empty()) return;
    Asker& asker = askers[turn_++ % askers.size()];
    if (asker.waits) {
      ++late_;
    } else {
      ask(asker);
    }
  }

  void handle(std::size_t tag, std::uint32_t events) {
    auto& askers = held_.askers();
    if (tag < askers.size()) {
      Asker& asker = askers[tag];
      if (advance(asker, events)) answers_.add(now() - asker.begun);
      return;
    }
    const std::size_t index = tag - askers.size();
    Asker& probe = probes_[index];
    try {
      if (!advance(probe, events)) return;
      connects_.add(now() - probe.begun);
    } catch (const std::system_error& error) {
      failures_.add(error.code().value());
    }
    close(probe.fd);
    probe.fd = -1;
    free_.push_back(index);
  }

  Dialler& dialler_;
  Held& held_;
  double probe_interval_;
  double ask_interval_;
  std::vector<Asker> probes_;
  std::vector<std::size_t> free_;
  std::size_t turn_ = 0;
  std::size_t late_ = 0;
  Latencies connects_;
  Latencies answers_;
  Failures failures_;
};

void wait_for_end_of_input() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  char bytes[256];
  while (stop_requested == 0) {
    if (poll(&input, 1, -1) == 1 && read(STDIN_FILENO, bytes, sizeof(bytes)) <= 0) return;
  }
}

// How many of the connections still answer.
std::size_t ask_all(Held& held) {
  std::size_t answered = 0;
  for (Asker& asker : held.askers()) ask(asker);
  const double end = now() + kPatience;
  while (answered < held.askers().size() && now() < end) {
    for (const epoll_event& event : held.epoll().wait(1))
      answered += advance(held.askers()[event.data.u64], event.events);
  }
  return answered;
}

}  // namespace

int latency(const std::vector<std::string>& words) {
  const netecho::Options options(words, {{"--open", "--seconds", "--rate", "--every", "--source"}, {}, 2});
  Dialler dialler(parse_address(options.positional(0), netecho::parse_port(options.positional(1))),
                  options.all("--source"));
  Held held(dialler, options.number("--open", 1000));
  Prober prober(dialler, held, std::max(1U, options.number("--rate", 1000)), options.number("--every", 1000) * 0.001);
  prober.run(parse_seconds(options.text("--seconds", "5")));
  prober.print();
  return 0;
}

int idle(const std::vector<std::string>& words) {
  const netecho::Options options(words, {{"--open", "--source"}, {}, 2});
  Dialler dialler(parse_address(options.positional(0), netecho::parse_port(options.positional(1))),
                  options.all("--source"));
  const double begin = now();
  Held held(dialler, options.number("--open", 10'000));
  std::printf("{\"open\": %zu, \"seconds\": %.3f}\n", held.askers().size(), now() - begin);
  std::fflush(stdout);
  wait_for_end_of_input();
  std::printf("{\"open\": %zu, \"answered\": %zu}\n", held.askers().size(), ask_all(held));
  return 0;
}

}  // namespace relayload
