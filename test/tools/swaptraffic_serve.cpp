// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// swaptraffic serve: answers every line and every datagram with the name of the server, the address of the client that
// it sees, and the request. One thread with epoll.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "netecho_options.hpp"
#include "relayload_net.hpp"
#include "swaptraffic_commands.hpp"

namespace swaptraffic {
namespace {

constexpr std::size_t kLongestLine = 4096;

// Without the port; an IPv4 address in its own form.
std::string address_text(const relayload::Address& peer) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(peer.storage).sin6_addr;  // sockets are of IPv6
  const bool v4 = IN6_IS_ADDR_V4MAPPED(&v6);
  inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? v6.s6_addr + 12 : v6.s6_addr, text.data(), text.size());
  return text.data();
}

class Server {
 public:
  explicit Server(std::string name) : name_(std::move(name)) {}
  ~Server() {
    for (const int fd : listeners_) close(fd);
    for (const int fd : datagrams_) close(fd);
    for (const auto& [fd, stream] : streams_) close(fd);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  void listen(std::uint16_t port) {
    const relayload::Address anywhere = relayload::parse_address("::", port);  // IPv4 too
    listeners_.insert(watch(relayload::listen_on(anywhere, SOCK_STREAM)));
    const int datagrams = relayload::listen_on(anywhere, SOCK_DGRAM);
    datagrams_.insert(watch(datagrams));
    relayload::keep_datagrams(datagrams);
  }

  void run() {
    while (stop_requested == 0) {
      for (const epoll_event& event : epoll_.wait(0.5)) {
        const int fd = static_cast<int>(event.data.u64);
        if (listeners_.contains(fd)) accept_all(fd);
        else if (datagrams_.contains(fd)) answer_datagrams(fd);
        else if (!answer_lines(fd)) end(fd);
      }
    }
  }

 private:
  struct Stream {
    std::string answer;  // what each answer begins with
    std::string line;    // incomplete
  };

  std::string answer_to(const relayload::Address& peer) const { return name_ + "@" + address_text(peer) + " "; }

  int watch(int fd) {
    epoll_.add(fd, EPOLLIN, static_cast<std::uint64_t>(fd));
    return fd;
  }

  void accept_all(int listener) {
    for (;;) {
      relayload::Address peer;
      peer.size = sizeof(peer.storage);
      const int fd =
          accept4(listener, reinterpret_cast<sockaddr*>(&peer.storage), &peer.size, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd < 0) return;
      streams_[watch(fd)] = {answer_to(peer), {}};
    }
  }

  void answer_datagrams(int fd) {
    std::array<char, 512> data{};
    for (;;) {
      relayload::Address peer;
      peer.size = sizeof(peer.storage);
      const ssize_t got = recvfrom(fd, data.data(), data.size(), 0,
                                   reinterpret_cast<sockaddr*>(&peer.storage), &peer.size);
      if (got < 0 && errno == EAGAIN) return;
      if (got < 0) continue;  // an ICMP error of an earlier answer, which reading has cleared
      const std::string text = answer_to(peer) + std::string(data.data(), static_cast<std::size_t>(got));
      (void)sendto(fd, text.data(), text.size(), MSG_NOSIGNAL, peer.get(), peer.size);
    }
  }

  // Returns false at the end of the stream.
  bool answer_lines(int fd) {
    auto& [answer, line] = streams_.at(fd);
    std::array<char, 1024> data{};
    for (;;) {
      const ssize_t got = recv(fd, data.data(), data.size(), 0);
      if (got < 0) return errno == EAGAIN;
      if (got == 0) return false;
      line.append(data.data(), static_cast<std::size_t>(got));
      for (std::size_t end = line.find('\n'); end != std::string::npos; end = line.find('\n')) {
        const std::string text = answer + line.substr(0, end + 1);
        // There is no queue for a client that does not read its few bytes: the connection is closed.
        if (send(fd, text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size())) return false;
        line.erase(0, end + 1);
      }
      if (line.size() > kLongestLine) return false;
    }
  }

  void end(int fd) {
    close(fd);
    streams_.erase(fd);
  }

  std::string name_;
  relayload::Epoll epoll_;
  std::set<int> listeners_;
  std::set<int> datagrams_;
  std::map<int, Stream> streams_;
};

}  // namespace

int serve(const std::vector<std::string>& words) {
  const netecho::Options options(words, {{"--name", "--port", "--ready-file"}, {}, 0});
  if (!options.has("--name") || !options.has("--port")) throw netecho::UsageError("serve needs --name and --port");
  Server server(options.text("--name", ""));
  for (const std::string& port : options.all("--port")) server.listen(netecho::parse_port(port));
  if (options.has("--ready-file")) {
    const std::string path = options.text("--ready-file", "");
    std::FILE* file = std::fopen(path.c_str(), "w");
    if (file == nullptr) throw std::system_error(errno, std::generic_category(), path);
    std::fclose(file);
  }
  server.run();
  return 0;
}

}  // namespace swaptraffic
