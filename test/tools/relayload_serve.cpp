// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The server behind the proxy: echoes, counts or sends.
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "netecho_options.hpp"
#include "relayload_commands.hpp"
#include "relayload_net.hpp"

namespace relayload {
namespace {

constexpr std::size_t kChunk = 1 << 20;
constexpr std::size_t kBatch = 64;
constexpr std::size_t kDatagram = 2048;

class Server {
 public:
  void listen(const Address& address) {
    add(listen_on(address, SOCK_STREAM), Kind::kListener);
    const int datagrams = listen_on(address, SOCK_DGRAM);
    const int room = 8 << 20;
    // FORCE requires root; for other users the limits apply.
    if (setsockopt(datagrams, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) != 0) {
      setsockopt(datagrams, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
    }
    add(datagrams, Kind::kDatagrams);
  }

  void run() {
    while (stop_requested == 0) {
      for (const epoll_event& event : epoll_.wait(-1)) handle(static_cast<int>(event.data.u64), event.events);
    }
  }

 private:
  enum class Kind : std::uint8_t { kListener, kDatagrams, kNew, kEchoing, kCounting, kSending, kBothWays };

  struct Connection {
    Kind kind = Kind::kNew;
    std::uint64_t received = 0;
  };

  void add(int fd, Kind kind) {
    epoll_.add(fd, EPOLLIN, static_cast<std::uint64_t>(fd));
    const auto index = static_cast<std::size_t>(fd);
    if (connections_.size() <= index) connections_.resize(index * 2 + 1);
    connections_[index] = Connection{kind, 0};
  }

  Connection& at(int fd) { return connections_[static_cast<std::size_t>(fd)]; }

  void handle(int fd, std::uint32_t events) {
    switch (at(fd).kind) {
      case Kind::kListener:
        return accept_all(fd);
      case Kind::kDatagrams:
        return answer_datagrams(fd);
      case Kind::kNew:
        return begin(fd);
      case Kind::kEchoing:
        return echo(fd);
      case Kind::kCounting:
        return count(fd);
      case Kind::kSending:
      case Kind::kBothWays:
        if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) count(fd);
        if ((events & EPOLLOUT) != 0 && at(fd).kind != Kind::kNew) send_more(fd);
        return;
    }
  }

  void accept_all(int listener) {
    for (;;) {
      const int fd = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd < 0) {
        if (errno == ECONNABORTED || errno == EINTR) continue;
        if (errno == EMFILE || errno == ENFILE) std::fprintf(stderr, "relayload: accept: %s\n", std::strerror(errno));
        return;
      }
      add(fd, Kind::kNew);
    }
  }

  void begin(int fd) {
    char what = 0;
    const ssize_t got = recv(fd, &what, 1, MSG_PEEK);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) return end(fd);
    Connection& connection = at(fd);
    if (what == kEcho) {
      connection.kind = Kind::kEchoing;
      return echo(fd);
    }
    if (what == kUp) {
      connection.kind = Kind::kCounting;
      return count(fd);
    }
    if (what != kDown && what != kBoth) return end(fd);
    connection.kind = what == kDown ? Kind::kSending : Kind::kBothWays;
    epoll_.modify(fd, EPOLLIN | EPOLLOUT, static_cast<std::uint64_t>(fd));
    send_more(fd);
  }

  void echo(int fd) {
    const ssize_t got = recv(fd, buffer_.data(), buffer_.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    // An echo that does not fit would need a queue; clients ask for a few bytes only.
    if (got <= 0 || send(fd, buffer_.data(), static_cast<std::size_t>(got), 0) != got) end(fd);
  }

  // MSG_TRUNC: the kernel drops the bytes without copying them.
  void count(int fd) {
    Connection& connection = at(fd);
    const ssize_t got = recv(fd, nullptr, kChunk, MSG_TRUNC);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got > 0) {
      connection.received += static_cast<std::uint64_t>(got);
      return;
    }
    if (got == 0 && connection.kind == Kind::kCounting) {
      // 8 bytes fit into the buffer of a socket that has sent nothing. A disconnected client does not need them.
      [[maybe_unused]] const ssize_t sent = send(fd, &connection.received, sizeof(connection.received), 0);
    }
    end(fd);
  }

  void send_more(int fd) {
    if (send(fd, zeros_.data(), zeros_.size(), 0) < 0 && errno != EAGAIN && errno != EINTR) end(fd);
  }

  void end(int fd) {
    at(fd).kind = Kind::kNew;
    close(fd);
  }

  void answer_datagrams(int fd) {
    for (int round = 0; round < 4; ++round) {
      for (std::size_t i = 0; i < kBatch; ++i) {
        pieces_[i] = iovec{datagrams_[i].data(), kDatagram};
        messages_[i].msg_hdr = {};
        messages_[i].msg_hdr.msg_name = &peers_[i];
        messages_[i].msg_hdr.msg_namelen = sizeof(peers_[i]);
        messages_[i].msg_hdr.msg_iov = &pieces_[i];
        messages_[i].msg_hdr.msg_iovlen = 1;
      }
      const int got = recvmmsg(fd, messages_.data(), kBatch, MSG_DONTWAIT, nullptr);
      if (got <= 0) return;
      for (std::size_t i = 0; i < static_cast<std::size_t>(got); ++i) pieces_[i].iov_len = messages_[i].msg_len;
      for (int sent = 0; sent < got;) {
        const int now_sent = sendmmsg(fd, messages_.data() + sent, static_cast<unsigned>(got - sent), 0);
        sent += now_sent > 0 ? now_sent : 1;  // a datagram that cannot be sent is lost
      }
      if (got < static_cast<int>(kBatch)) return;
    }
  }

  Epoll epoll_;
  std::vector<Connection> connections_;
  std::vector<char> zeros_ = std::vector<char>(kChunk);
  std::array<char, 65536> buffer_{};
  std::array<std::array<char, kDatagram>, kBatch> datagrams_{};
  std::array<sockaddr_storage, kBatch> peers_{};
  std::array<iovec, kBatch> pieces_{};
  std::array<mmsghdr, kBatch> messages_{};
};

}  // namespace

int serve(const std::vector<std::string>& words) {
  const netecho::Options options(words, {{"--port", "--address"}, {}, 0});
  auto addresses = options.all("--address");
  if (addresses.empty()) addresses = {"0.0.0.0"};
  const auto port = netecho::parse_port(options.text("--port", "9000"));
  auto server = std::make_unique<Server>();
  for (const std::string& address : addresses) server->listen(parse_address(address, port));
  std::printf("ready\n");
  std::fflush(stdout);
  server->run();
  return 0;
}

}  // namespace relayload
