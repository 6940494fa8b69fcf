// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Sends datagrams and counts answers. Datagrams without an answer are lost.
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include "netecho_options.hpp"
#include "relayload_commands.hpp"
#include "relayload_net.hpp"

namespace relayload {
namespace {

constexpr unsigned kDatagramBatch = 32;
constexpr double kLostAfter = 0.2;  // far above any queueing delay
constexpr double kSweepEvery = 0.05;
constexpr std::size_t kLargest = 2048;

struct Load {
  std::size_t clients = 1;
  unsigned size = 64;
  unsigned window = 16;  // 0: none
  bool fresh = false;
  bool patient = false;
};

class Clients {
 public:
  Clients(Dialler& dialler, const Load& load) : dialler_(dialler), load_(load), clients_(load.clients) {
    for (unsigned i = 0; i < kDatagramBatch; ++i) {
      requests_[i] = iovec{request_.data(), load.size};
      sending_[i].msg_hdr.msg_iov = &requests_[i];
      sending_[i].msg_hdr.msg_iovlen = 1;
      answers_[i] = iovec{answer_[i].data(), kLargest};
      receiving_[i].msg_hdr.msg_iov = &answers_[i];
      receiving_[i].msg_hdr.msg_iovlen = 1;
    }
    for (std::size_t i = 0; i < clients_.size(); ++i) open(i);
  }
  ~Clients() {
    for (const Client& client : clients_) close(client.fd);
  }
  Clients(const Clients&) = delete;
  Clients& operator=(const Clients&) = delete;

  void run(double seconds) {
    const double begin = now();
    const double end = begin + seconds;
    double sweep = begin + kSweepEvery;
    for (std::size_t i = 0; i < clients_.size(); ++i) refill(i);
    const auto over = [&](double time) {
      return stop_requested != 0 || time >= end + (answered_ == 0 && load_.patient ? kFirstPatience : 0);
    };
    for (double time = begin; !over(time); time = now()) {
      if (load_.window == 0) {
        for (std::size_t i = 0; i < clients_.size(); ++i) send_some(clients_[i], kDatagramBatch);
      }
      for (const epoll_event& event : epoll_.wait(load_.window == 0 ? 0 : kSweepEvery)) receive(event.data.u64, true);
      if (time < sweep) continue;
      sweep = time + kSweepEvery;
      give_up_lost(time);
    }
    elapsed_ = now() - begin;
    in_time_ = answered_;
    for (double left = kLostAfter; left > 0 && answered_ < sent_; left = end + kLostAfter - now()) {
      for (const epoll_event& event : epoll_.wait(left)) receive(event.data.u64, false);
    }
  }

  void print() {
    const std::uint64_t lost = sent_ - answered_;
    std::printf(
        "{\"clients\": %zu, \"size\": %u, \"window\": %u, \"seconds\": %.3f, \"sent\": %llu, \"answered\": %llu, "
        "\"lost\": %llu, \"lost_percent\": %.3f, \"answers_per_second\": %.1f, \"ms_p50\": %.3f, "
        "\"ms_p99\": %.3f, %s}\n",
        clients_.size(), load_.size, load_.window, elapsed_, static_cast<unsigned long long>(sent_),
        static_cast<unsigned long long>(answered_), static_cast<unsigned long long>(lost),
        sent_ == 0 ? 0.0 : 100.0 * static_cast<double>(lost) / static_cast<double>(sent_),
        static_cast<double>(in_time_) / elapsed_, times_.percentile(50), times_.percentile(99),
        failures_.json().c_str());
  }

 private:
  struct Client {
    int fd = -1;
    unsigned waits_for = 0;
    double last = 0;  // the time of the last datagram sent or received
  };

  void open(std::size_t index) {
    Client& client = clients_[index];
    client.fd = dialler_.dial(SOCK_DGRAM);
    if (client.fd < 0) throw std::system_error(-client.fd, std::generic_category(), "socket");
    if (!load_.fresh) {
      const int room = 4 << 20;
      // FORCE requires root; for other users the limits apply.
      if (setsockopt(client.fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) != 0) {
        setsockopt(client.fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
      }
    }
    epoll_.add(client.fd, EPOLLIN, index);
  }

  void refill(std::size_t index) {
    Client& client = clients_[index];
    client.last = now();
    if (client.waits_for < load_.window) send_some(client, load_.window - client.waits_for);
  }

  void send_some(Client& client, unsigned count) {
    while (count > 0) {
      const unsigned batch = count < kDatagramBatch ? count : kDatagramBatch;
      const int sent = batch == 1 ? (send(client.fd, request_.data(), load_.size, 0) >= 0 ? 1 : -1)
                                  : sendmmsg(client.fd, sending_.data(), batch, 0);
      if (sent <= 0) {
        if (errno != EAGAIN && errno != EINTR) failures_.add(errno);
        return;
      }
      sent_ += static_cast<std::uint64_t>(sent);
      client.waits_for += static_cast<unsigned>(sent);
      count -= static_cast<unsigned>(sent);
    }
  }

  void receive(std::size_t index, bool go_on) {
    Client& client = clients_[index];
    const int got = receive_some(client);
    if (got < 0) {
      if (errno != EAGAIN && errno != EINTR) failures_.add(errno);  // ICMP
      return;
    }
    answered_ += static_cast<std::uint64_t>(got);
    client.waits_for -= std::min(client.waits_for, static_cast<unsigned>(got));
    if (load_.window == 1 && got == 1) times_.add(now() - client.last);
    if (!go_on) return;
    if (load_.fresh) {
      close(client.fd);
      open(index);
      client.waits_for = 0;
    }
    if (load_.window != 0) refill(index);
  }

  // Returns the number of answers, or -1. An answer must be as long as the request.
  int receive_some(const Client& client) {
    if (load_.window == 1) {
      const ssize_t size = recv(client.fd, answer_[0].data(), kLargest, MSG_DONTWAIT);
      return size < 0 ? -1 : accept_size(static_cast<std::size_t>(size));
    }
    const int got = recvmmsg(client.fd, receiving_.data(), kDatagramBatch, MSG_DONTWAIT, nullptr);
    if (got < 0) return -1;
    int good = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(got); ++i) good += accept_size(receiving_[i].msg_len);
    return good;
  }

  int accept_size(std::size_t size) {
    if (size == load_.size) return 1;
    failures_.add(EBADMSG);
    return 0;
  }

  void give_up_lost(double time) {
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      if (load_.window == 0 || time - clients_[i].last < kLostAfter) continue;
      clients_[i].waits_for = 0;
      refill(i);
    }
  }

  Dialler& dialler_;
  const Load load_;
  Epoll epoll_;
  std::vector<Client> clients_;
  std::array<char, kLargest> request_{};
  std::array<std::array<char, kLargest>, kDatagramBatch> answer_{};
  std::array<iovec, kDatagramBatch> requests_{};
  std::array<iovec, kDatagramBatch> answers_{};
  std::array<mmsghdr, kDatagramBatch> sending_{};
  std::array<mmsghdr, kDatagramBatch> receiving_{};
  std::uint64_t sent_ = 0;
  std::uint64_t answered_ = 0;
  std::uint64_t in_time_ = 0;
  double elapsed_ = 0;
  Latencies times_;
  Failures failures_;
};

}  // namespace

int udp(const std::vector<std::string>& words) {
  const netecho::Options options(
      words, {{"--clients", "--size", "--seconds", "--window", "--source"}, {"--fresh", "--patient"}, 2});
  Load load;
  load.clients = options.number("--clients", 1);
  load.size = options.number("--size", 64);
  load.window = options.has("--fresh") ? 1 : options.number("--window", 16);
  load.patient = options.has("--patient");
  load.fresh = options.has("--fresh");
  if (load.size > kLargest) throw netecho::UsageError("--size: at most " + std::to_string(kLargest));
  Dialler dialler(parse_address(options.positional(0), netecho::parse_port(options.positional(1))),
                  options.all("--source"));
  Clients clients(dialler, load);
  clients.run(parse_seconds(options.text("--seconds", "5")));
  clients.print();
  return 0;
}

}  // namespace relayload
