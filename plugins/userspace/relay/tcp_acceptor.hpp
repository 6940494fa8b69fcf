// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One thread's listening sockets: takes connections from them while the node has what
// connections need, waits while it has not.
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

// A listening socket that several threads watch. Closed by the last of them that stops.
struct TcpListenSocket {
  TcpListenSocket(Descriptor given, unsigned watched_by) noexcept : socket(std::move(given)), watchers(watched_by) {}
  Descriptor socket;
  std::atomic<unsigned> watchers;
};

// Calls a member function at its deadline.
template <class Owner>
class Alarm final : public Timer {
 public:
  Alarm(Owner& owner, void (Owner::*what)() noexcept) noexcept : owner_(owner), what_(what) {}
  void on_timer() noexcept override { (owner_.*what_)(); }

 private:
  Owner& owner_;
  void (Owner::*what_)() noexcept;
};

// The loop's thread only. What is noexcept throws nothing; the rest may throw std::bad_alloc.
class TcpAcceptor {
 public:
  explicit TcpAcceptor(TcpRelay& relay) noexcept;
  ~TcpAcceptor();
  TcpAcceptor(const TcpAcceptor&) = delete;
  TcpAcceptor& operator=(const TcpAcceptor&) = delete;

  void serve(ServingId id, std::shared_ptr<TcpListenSocket> socket, FacePtr face);
  // `last_call`: the last thread takes in who has connected already. Without, they are left to whoever else has the
  // socket.
  void stop(ServingId id, bool last_call) noexcept;

  // Something a connection needs is not to be had: pauses, tries again soon.
  void shortage(TcpShortage shortage, int error) noexcept;
  // Its retry() is called when it may be had again; `waiting` of it is used.
  void wait(TcpConnection& connection) noexcept { waiting_.push_back(connection); }
  void something_ended() noexcept;

 private:
  struct Listener final : EventHandler, Retired {
    Listener(TcpAcceptor& owner, std::shared_ptr<TcpListenSocket> given, FacePtr of) noexcept
        : acceptor(owner), shared(std::move(given)), face(std::move(of)) {}
    void on_events(std::uint32_t) noexcept override { acceptor.accept_from(*this); }
    int fd() const noexcept { return shared->socket.get(); }

    TcpAcceptor& acceptor;
    std::shared_ptr<TcpListenSocket> shared;
    FacePtr face;
    bool stopped = false;
    unsigned batch = 1;  // so many are taken at once; follows what is there
    boost::intrusive::list_member_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> out;
  };
  struct Condition {
    bool active = false;
    Nanoseconds last = 0;
  };

  void watch(Listener& listener) noexcept;
  void accept_from(Listener& listener) noexcept;
  bool accept_one(Listener& listener, bool last_call) noexcept;
  bool below_limit() noexcept;
  bool has_spare_descriptors() const noexcept;
  void resume() noexcept;
  void count(TcpShortage shortage) noexcept;

  TcpRelay& relay_;
  std::unordered_map<ServingId, std::unique_ptr<Listener>> listeners_;
  // Those out of epoll while it is paused.
  boost::intrusive::list<Listener, boost::intrusive::member_hook<Listener, decltype(Listener::out), &Listener::out>,
                         boost::intrusive::constant_time_size<false>>
      out_;
  ConnectionList<&TcpConnection::waiting> waiting_;
  std::array<Condition, kTcpShortages> conditions_{};
  bool paused_ = false;
  const int reserve_from_;  // descriptors from this number on are not for accepting
  Alarm<TcpAcceptor> resume_{*this, &TcpAcceptor::resume};
};

}  // namespace sluice::userspace
