// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// netecho serve: greets and echoes every stream, and answers every datagram. One thread with epoll.
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <stdexcept>

#include "netecho_commands.hpp"
#include "netecho_options.hpp"
#include "netecho_socket.hpp"

namespace netecho {
namespace {

constexpr std::size_t kLongestLine = 65536;

std::string greeting(const std::string& name, const Address& peer, const Address& local) {
  return name + " " + peer.ip() + " " + std::to_string(peer.port()) + " " + local.ip() + " " +
         std::to_string(local.port()) + "\n";
}

// The answer to a datagram leaves from the address the datagram was sent to: a server behind several
// addresses would otherwise reply from the wrong one and the client would not recognise it.
class DatagramAnswerer {
 public:
  explicit DatagramAnswerer(const std::string& name) : name_(name) {}

  void answer_all(int socket) const {
    std::array<char, 2048> data{};
    for (;;) {
      Address peer;
      peer.length = sizeof peer.storage;
      iovec part{data.data(), data.size()};
      alignas(cmsghdr) std::array<char, 256> control{};
      msghdr message{};
      message.msg_name = peer.raw();
      message.msg_namelen = peer.length;
      message.msg_iov = &part;
      message.msg_iovlen = 1;
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      if (::recvmsg(socket, &message, 0) < 0) {
        if (errno == EAGAIN) return;
        continue;  // a queued ICMP error of an earlier answer, which reading has cleared
      }
      peer.length = message.msg_namelen;
      const std::string text = greeting(name_, peer, destination(message, local_of(socket)));
      part = {const_cast<char*>(text.data()), text.size()};
      (void)::sendmsg(socket, &message, MSG_NOSIGNAL);
    }
  }

 private:
  // Reads the packet's destination and turns the control message into "send from there".
  static Address destination(msghdr& message, Address local) {
    for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
      if (part->cmsg_level == IPPROTO_IP && part->cmsg_type == IP_PKTINFO) {
        auto* info = reinterpret_cast<in_pktinfo*>(CMSG_DATA(part));
        reinterpret_cast<sockaddr_in&>(local.storage).sin_addr = info->ipi_addr;
        info->ipi_spec_dst = info->ipi_addr;
        info->ipi_ifindex = 0;
      } else if (part->cmsg_level == IPPROTO_IPV6 && part->cmsg_type == IPV6_PKTINFO) {
        auto* info = reinterpret_cast<in6_pktinfo*>(CMSG_DATA(part));
        reinterpret_cast<sockaddr_in6&>(local.storage).sin6_addr = info->ipi6_addr;
        if (!IN6_IS_ADDR_LINKLOCAL(&info->ipi6_addr)) info->ipi6_ifindex = 0;
      }
    }
    return local;
  }

  std::string name_;
};

class Server {
 public:
  explicit Server(std::string name)
      : name_(std::move(name)), datagrams_(name_), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    if (!epoll_.valid()) throw std::runtime_error(std::string("epoll: ") + std::strerror(errno));
  }

  void listen(const std::string& ip, std::uint16_t port, Protocol protocol) {
    const Address address = make_address(ip, port);
    Fd socket = open_socket(address.family(), protocol);
    const std::string where = ip + " port " + std::to_string(port);
    if (!socket.valid()) throw std::runtime_error(where + ": " + std::strerror(errno));
    const int on = 1;
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address.family() == AF_INET6) {
      ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
      ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof on);
    } else {
      ::setsockopt(socket.get(), IPPROTO_IP, IP_PKTINFO, &on, sizeof on);
    }
    if (::bind(socket.get(), address.raw(), address.length) != 0 ||
        (protocol != Protocol::udp && ::listen(socket.get(), 1024) != 0)) {
      throw std::runtime_error("listen on " + where + ": " + std::strerror(errno));
    }
    watch(socket.get());
    const int number = socket.get();
    (protocol == Protocol::udp ? datagram_sockets_ : listeners_).emplace(number, std::move(socket));
  }

  void run() {
    std::array<epoll_event, 64> events{};
    while (!stop_requested) {
      const int ready = ::epoll_wait(epoll_.get(), events.data(), events.size(), -1);
      for (int i = 0; i < ready; ++i) {
        const int number = events[static_cast<std::size_t>(i)].data.fd;
        if (listeners_.contains(number)) {
          accept_all(number);
        } else if (datagram_sockets_.contains(number)) {
          datagrams_.answer_all(number);
        } else if (!echo(number)) {
          streams_.erase(number);
        }
      }
    }
  }

 private:
  struct Stream {
    Fd socket;
    std::string unfinished_line;
  };

  void watch(int socket) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = socket;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket, &event) != 0) {
      throw std::runtime_error(std::string("epoll: ") + std::strerror(errno));
    }
  }

  void accept_all(int listener) {
    for (;;) {
      Fd socket(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!socket.valid()) return;
      const int number = socket.get();
      if (!reply(number, greeting(name_, peer_of(number), local_of(number)))) continue;
      watch(number);
      streams_.emplace(number, Stream{std::move(socket), {}});
    }
  }

  // Returns false at the end of the stream.
  bool echo(int number) {
    Stream& stream = streams_.at(number);
    std::array<char, 4096> data{};
    for (;;) {
      const ssize_t got = ::recv(number, data.data(), data.size(), 0);
      if (got < 0) return errno == EAGAIN;
      if (got == 0) return false;
      stream.unfinished_line.append(data.data(), static_cast<std::size_t>(got));
      std::size_t end = 0;
      while ((end = stream.unfinished_line.find('\n')) != std::string::npos) {
        if (!reply(number, name_ + " " + stream.unfinished_line.substr(0, end + 1))) return false;
        stream.unfinished_line.erase(0, end + 1);
      }
      if (stream.unfinished_line.size() > kLongestLine) return false;
    }
  }

  // There is no queue for a client that does not read its few bytes: the connection is closed.
  static bool reply(int socket, const std::string& text) {
    return ::send(socket, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }

  std::string name_;
  DatagramAnswerer datagrams_;
  Fd epoll_;
  std::map<int, Fd> listeners_;
  std::map<int, Fd> datagram_sockets_;
  std::map<int, Stream> streams_;
};

void write_ready_file(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) throw std::runtime_error(path + ": " + std::strerror(errno));
  std::fputs("ready\n", file);
  std::fclose(file);
}

}  // namespace

int serve(const std::vector<std::string>& words) {
  const Options options(words, {{"--name", "--port", "--address", "--ready-file"}, {"--tcp", "--udp", "--sctp"}, 0});
  if (!options.has("--name") || !options.has("--port")) throw UsageError("serve needs --name and --port");
  auto addresses = options.all("--address");
  if (addresses.empty()) addresses = {"0.0.0.0", "::"};

  std::vector<Protocol> protocols;
  if (options.has("--tcp")) protocols.push_back(Protocol::tcp);
  if (options.has("--udp")) protocols.push_back(Protocol::udp);
  if (options.has("--sctp")) protocols.push_back(Protocol::sctp);
  if (protocols.empty()) throw UsageError("serve needs at least one of --tcp, --udp, --sctp");

  Server server(options.text("--name", ""));
  for (const auto& port : options.all("--port")) {
    for (const auto& address : addresses) {
      for (const Protocol protocol : protocols) server.listen(address, parse_port(port), protocol);
    }
  }
  if (options.has("--ready-file")) write_ready_file(options.text("--ready-file", ""));
  server.run();
  return 0;
}

}  // namespace netecho
