// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// relaycheck serve: sends to each client the bytes that its header requests, and verifies the received ones.
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <unordered_map>

#include "netecho_options.hpp"
#include "relaycheck_commands.hpp"
#include "relaycheck_session.hpp"
#include "relaycheck_tally.hpp"

namespace relaycheck {
namespace {

using netecho::Fd;

constexpr int kBacklog = 4096;
constexpr auto kPatienceAtEnd = std::chrono::seconds(3);

class Server {
 public:
  void listen(const std::string& ip, std::uint16_t port) {
    listeners_.push_back(std::make_unique<Listener>(*this, ip, port));
  }
  void run() {
    loop_.run();
    // The last bytes of finished clients may still be in transit.
    stop_requested = 0;
    loop_.set_deadline(last_orders_, last_orders_.at, Clock::now() + kPatienceAtEnd);
    ending_ = true;
    if (!sessions_.empty()) loop_.run();
    loop_.set_deadline(last_orders_, last_orders_.at, Clock::time_point::max());
    tally_.print(sessions_.size());
    listeners_.clear();
    sessions_.clear();
  }

 private:
  struct Listener final : Handler {
    Listener(Server& owner, const std::string& ip, std::uint16_t port);
    void on_events(std::uint32_t) override { server.accept_all(socket.get()); }
    Server& server;
    Fd socket;
  };

  struct LastOrders final : Handler {
    explicit LastOrders(Loop& of) : loop(of) {}
    void on_events(std::uint32_t) override {}
    void on_deadline() override {
      loop.set_deadline(*this, at, Clock::time_point::max());
      loop.stop();
    }
    Loop& loop;
    Clock::time_point at = Clock::time_point::max();
  };

  void accept_all(int listener) {
    for (;;) {
      Fd socket(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!socket.valid()) {
        if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return;
        throw std::runtime_error(std::string("accept: ") + std::strerror(errno));
      }
      const std::size_t number = ++last_;
      auto session = std::make_unique<Session>(loop_, owner_, std::move(socket), sizeof(Header), Share(), number);
      session->number = number;
      session->start();
      sessions_.emplace(number, std::move(session));
      tally_.most_open = std::max(tally_.most_open, sessions_.size());
    }
  }

  std::optional<Share> opened(Session& session, const std::vector<unsigned char>& first) {
    Header header;
    std::memcpy(&header, first.data(), sizeof header);
    if (header.magic != Header::kMagic) return std::nullopt;
    Share share;
    const std::uint64_t answer = acknowledgement(header);
    share.first.resize(sizeof answer);
    std::memcpy(share.first.data(), &answer, sizeof answer);
    share.out = Sequence(down_seed(header));
    share.out_bytes = header.down;
    share.in = Sequence(up_seed(header));
    share.in_bytes = header.up;
    share.closes_second = header.closes_first == ClosesFirst::client;
    share.pauses = header.pauses;
    share.read_rate = header.read_rate;
    session.go();
    return share;
  }

  void ended(Session& session, const std::string& problem) {
    tally_.bytes_up += session.received();
    tally_.bytes_down += session.sent();
    if (problem.empty()) {
      ++tally_.ok;
    } else if (!session.received_first()) {
      ++tally_.empty;
    } else {
      tally_.add_problem(session.number, problem);
    }
    const auto at = sessions_.find(session.number);
    loop_.retire(std::move(at->second));
    sessions_.erase(at);
    if (ending_ && sessions_.empty()) loop_.stop();
  }

  Loop loop_;
  LastOrders last_orders_{loop_};
  bool ending_ = false;
  Tally tally_;
  const Session::Owner owner_{
      [this](Session& session, const std::vector<unsigned char>& first) { return opened(session, first); },
      [this](Session& session, const std::string& problem) { ended(session, problem); }};
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::unordered_map<std::size_t, std::unique_ptr<Session>> sessions_;
  std::size_t last_ = 0;
};

Server::Listener::Listener(Server& owner, const std::string& ip, std::uint16_t port) : server(owner) {
  const netecho::Address address = netecho::make_address(ip, port);
  socket = netecho::open_socket(address.family(), netecho::Protocol::tcp);
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address.family() == AF_INET6) ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  if (::bind(socket.get(), address.raw(), address.length) != 0 || ::listen(socket.get(), kBacklog) != 0) {
    throw std::runtime_error("listen on " + ip + " port " + std::to_string(port) + ": " + std::strerror(errno));
  }
  owner.loop_.watch(socket.get(), EPOLLIN, *this, true);
}

}  // namespace

int serve(const std::vector<std::string>& words) {
  const netecho::Options options(words, {{"--port", "--ready-file"}, {}, 0});
  if (!options.has("--port")) throw netecho::UsageError("serve needs --port");
  raise_descriptor_limit();
  Server server;
  for (const auto& port : options.all("--port")) {
    for (const char* ip : {"0.0.0.0", "::"}) server.listen(ip, netecho::parse_port(port));
  }
  if (options.has("--ready-file")) std::ofstream(options.text("--ready-file", "")).put('\n');
  server.run();
  return 0;
}

}  // namespace relaycheck
