// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Connections in several slots: connect, send a byte, receive the answer, close, and again; or requests on kept
// connections.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "netecho_options.hpp"
#include "relayload_commands.hpp"
#include "relayload_net.hpp"

namespace relayload {
namespace {

constexpr double kRestAfterFailure = 0.001;

class Slots {
 public:
  Slots(Dialler& dialler, std::size_t count, bool keep) : dialler_(dialler), keep_(keep), slots_(count) {}
  ~Slots() {
    for (const Slot& slot : slots_) {
      if (slot.fd >= 0) close(slot.fd);
    }
  }
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;

  void run(double seconds) {
    const double begin = now();
    const double end = begin + seconds;
    for (std::size_t i = 0; i < slots_.size(); ++i) start(i);
    const auto over = [&](double time) {
      return stop_requested != 0 || time >= (times_.count() == 0 ? end + kFirstPatience : end);
    };
    for (double time = begin; !over(time); time = now()) {
      for (const epoll_event& event : epoll_.wait(resting_.empty() ? std::max(end - time, 0.1) : kRestAfterFailure)) {
        handle(event.data.u64, event.events);
      }
      std::vector<std::size_t> rested;
      rested.swap(resting_);
      for (const std::size_t index : rested) start(index);
    }
    elapsed_ = now() - begin;
  }

  void print() {
    std::printf(
        "{\"connections\": %zu, \"seconds\": %.3f, \"connections_per_second\": %.1f, \"ms_p50\": %.3f, "
        "\"ms_p99\": %.3f, %s}\n",
        times_.count(), elapsed_, static_cast<double>(times_.count()) / elapsed_, times_.percentile(50),
        times_.percentile(99), failures_.json().c_str());
  }

 private:
  struct Slot {
    int fd = -1;
    bool asked = false;
    double begun = 0;
  };

  void start(std::size_t index) {
    Slot& slot = slots_[index];
    slot = Slot{-1, false, now()};
    const int fd = dialler_.dial(SOCK_STREAM);
    if (fd < 0) return rest(index, -fd);
    slot.fd = fd;
    epoll_.add(fd, EPOLLIN | EPOLLOUT | EPOLLET, index);
  }

  // A connection that fails at once would fail a million times per second.
  void rest(std::size_t index, int error) {
    failures_.add(error);
    resting_.push_back(index);
  }

  void handle(std::size_t index, std::uint32_t events) {
    Slot& slot = slots_[index];
    char byte = kEcho;
    // EPOLLERR alone may be an ICMP error of a router for the first packet; the kernel retries.
    if (!slot.asked && (events & EPOLLOUT) != 0) {
      if (send(slot.fd, &byte, 1, 0) != 1) return give_up(index, errno);
      slot.asked = true;
    }
    if (!slot.asked || (events & (EPOLLIN | EPOLLERR | EPOLLHUP)) == 0) return;
    const ssize_t got = recv(slot.fd, &byte, 1, 0);
    if (got < 0 && errno == EAGAIN) return;
    if (got != 1 || byte != kEcho) return give_up(index, got < 0 ? errno : ECONNRESET);
    times_.add(now() - slot.begun);
    if (keep_) return ask_again(index);
    close(slot.fd);
    start(index);
  }

  void ask_again(std::size_t index) {
    slots_[index].begun = now();
    if (send(slots_[index].fd, &kEcho, 1, 0) != 1) give_up(index, errno);
  }

  void give_up(std::size_t index, int error) {
    close(slots_[index].fd);
    slots_[index].fd = -1;
    rest(index, error);
  }

  Dialler& dialler_;
  bool keep_;
  Epoll epoll_;
  std::vector<Slot> slots_;
  std::vector<std::size_t> resting_;
  Latencies times_;
  Failures failures_;
  double elapsed_ = 0;
};

}  // namespace

int connections(const std::vector<std::string>& words) {
  const netecho::Options options(words, {{"--parallel", "--seconds", "--source"}, {"--keep"}, 2});
  Dialler dialler(parse_address(options.positional(0), netecho::parse_port(options.positional(1))),
                  options.all("--source"));
  Slots slots(dialler, options.number("--parallel", 32), options.has("--keep"));
  slots.run(parse_seconds(options.text("--seconds", "5")));
  slots.print();
  return 0;
}

}  // namespace relayload
