// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The listening sockets of one thread: accepts connections, and pauses while the node is short of
// descriptors, memory or ports.
#pragma once

#include <array>
#include <atomic>
#include <boost/intrusive/list.hpp>
#include <memory>
#include <unordered_map>

#include "plugins/userspace/relay/engine.hpp"
#include "plugins/userspace/relay/event_loop.hpp"
#include "plugins/userspace/relay/tcp_conditions.hpp"
#include "plugins/userspace/relay/tcp_connection.hpp"

namespace sluice::userspace {

// A listening socket that several threads watch. The last thread that stops closes it.
struct TcpListenSocket {
  TcpListenSocket(lib::Fd given, unsigned watched_by) noexcept : socket(std::move(given)), watchers(watched_by) {}
  lib::Fd socket;
  std::atomic<unsigned> watchers;
};

// A timer that calls a member function.
template <class Owner>
class Alarm final : public Timer {
 public:
  Alarm(Owner& owner, void (Owner::*what)() noexcept) noexcept : owner_(owner), what_(what) {}
  void on_timer() noexcept override { (owner_.*what_)(); }

 private:
  Owner& owner_;
  void (Owner::*what_)() noexcept;
};

// Only on the thread of the loop. Functions that are not noexcept may throw std::bad_alloc.
class TcpAcceptor {
 public:
  explicit TcpAcceptor(TcpRelay& relay) noexcept;
  ~TcpAcceptor();
  TcpAcceptor(const TcpAcceptor&) = delete;
  TcpAcceptor& operator=(const TcpAcceptor&) = delete;

  void serve(ServingId id, std::shared_ptr<TcpListenSocket> socket, ListenerPtr listener);
  // `drain_queue`: the last thread that stops accepts all queued connections. Otherwise they stay queued for the
  // backend or process that shares the socket.
  void stop(ServingId id, bool drain_queue) noexcept;

  // A resource that connections need is exhausted: pauses accepting, retries soon.
  void shortage(TcpShortage shortage, int error) noexcept;
  // Calls retry() of the connection after the pause. Uses its hook `waiting`.
  void wait(TcpConnection& connection) noexcept { waiting_.push_back(connection); }
  void on_connection_ended() noexcept;

 private:
  struct WatchedSocket final : EventHandler, Retired {
    WatchedSocket(TcpAcceptor& owner, std::shared_ptr<TcpListenSocket> given, ListenerPtr of) noexcept
        : acceptor(owner), shared(std::move(given)), listener(std::move(of)) {}
    void on_events(std::uint32_t) noexcept override { acceptor.accept_from(*this); }
    int fd() const noexcept { return shared->socket.get(); }

    TcpAcceptor& acceptor;
    std::shared_ptr<TcpListenSocket> shared;
    ListenerPtr listener;
    bool stopped = false;
    unsigned batch = 1;  // connections accepted per event; adapts to the load
    boost::intrusive::list_member_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> unwatched;
  };
  struct Condition {
    bool active = false;
    Nanoseconds last = 0;
  };

  void watch(WatchedSocket& watched) noexcept;
  void accept_from(WatchedSocket& watched) noexcept;
  bool accept_one(WatchedSocket& watched, bool drain_queue) noexcept;
  bool below_limit() noexcept;
  bool has_spare_descriptors() const noexcept;
  void resume() noexcept;
  void count(TcpShortage shortage) noexcept;

  TcpRelay& relay_;
  std::unordered_map<ServingId, std::unique_ptr<WatchedSocket>> watched_;
  // Sockets removed from epoll during a pause.
  boost::intrusive::list<
      WatchedSocket,
      boost::intrusive::member_hook<WatchedSocket, decltype(WatchedSocket::unwatched), &WatchedSocket::unwatched>,
      boost::intrusive::constant_time_size<false>>
      unwatched_;
  ConnectionList<&TcpConnection::waiting> waiting_;
  std::array<Condition, kTcpShortages> conditions_{};
  bool paused_ = false;
  const int reserve_from_;  // descriptors from this number on are not used for accepted sockets
  Alarm<TcpAcceptor> resume_{*this, &TcpAcceptor::resume};
};

}  // namespace sluice::userspace
