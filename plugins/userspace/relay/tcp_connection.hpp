// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One relayed TCP connection: dials endpoints with increasing timeouts, then runs two flows until both
// have ended. Only on the thread of the loop. Throws nothing: without memory only this connection ends.
#pragma once

#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "plugins/userspace/relay/event_loop.hpp"
#include "plugins/userspace/relay/listener.hpp"
#include "plugins/userspace/relay/tcp_flow.hpp"

namespace sluice::userspace {

class TcpRelay;
struct ListenerConnections;

using ConnectionHook = boost::intrusive::list_member_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

// Owns itself: passes itself to retire() when it ends.
class TcpConnection final : public Retired, private Timer {
 public:
  TcpConnection(TcpRelay& relay, ListenerConnections& group, lib::Fd client, const SocketAddress& address) noexcept;
  ~TcpConnection() override = default;
  TcpConnection(const TcpConnection&) = delete;
  TcpConnection& operator=(const TcpConnection&) = delete;

  // The connection may have ended when any of these returns.
  void begin() noexcept;
  void take_turn() noexcept { run(); }
  void retry() noexcept { dial(); }  // after a shortage
  // Its endpoint was removed. `reset_at`: when to reset an established connection; 0: never.
  void endpoint_gone(Nanoseconds reset_at) noexcept;
  void reset_by(Nanoseconds deadline) noexcept;
  void reset() noexcept;
  void add_descriptors(std::set<int>& out) const;

  ConnectionHook of_listener;
  ConnectionHook of_endpoint;
  ConnectionHook waiting;  // for its turn, or for the end of a shortage

 private:
  enum class State : std::uint8_t { kWaiting, kDialling, kRelaying, kEnded };
  struct End final : EventHandler, TcpEnd {
    explicit End(TcpConnection& given) noexcept : owner(given) {}
    void on_events(std::uint32_t events) noexcept override { owner.on_end(*this, events); }
    TcpConnection& owner;
  };

  void on_end(End& end, std::uint32_t events) noexcept;
  void on_timer() noexcept override;
  void dial() noexcept;
  bool choose(Nanoseconds now) noexcept;
  int attempt(Nanoseconds now) noexcept;
  bool was_tried(const EndpointPtr& endpoint) const noexcept;
  int connect_to_endpoint(Nanoseconds now) noexcept;
  bool decide_source() noexcept;
  void remove_entry() noexcept;
  bool attempt_failed(bool blame) noexcept;
  void wait_for_node(int error) noexcept;
  void give_up() noexcept;
  void leave_endpoint() noexcept;
  void connected() noexcept;
  void run() noexcept;
  bool advance(TcpFlow& flow, const TcpFlow& other, End& from, End& to, Counter& bytes,
               Traffic::Count Traffic::*counted) noexcept;
  void check_age() noexcept;
  void arm(Nanoseconds deadline) noexcept;
  void end() noexcept;

  TcpRelay& relay_;
  ListenerConnections& group_;
  EndpointPtr endpoint_;
  End client_{*this};
  End server_{*this};
  TcpFlow up_;    // client to endpoint
  TcpFlow down_;  // endpoint to client
  SocketAddress address_;
  Listener::Client shown_as_{};
  SocketAddress entry_;  // local end of the conntrack entry that translates the dial; without family: there is none
  Nanoseconds give_up_at_;
  Nanoseconds last_active_ = 0;
  Nanoseconds reset_at_ = 0;  // 0: never
  std::vector<EndpointPtr> tried_;
  std::uint32_t attempts_ = 0;
  std::uint16_t time_outs_ = 0;
  State state_ = State::kWaiting;
  bool kept_alive_ = false;
};

template <ConnectionHook TcpConnection::*Hook>
using ConnectionList =
    boost::intrusive::list<TcpConnection, boost::intrusive::member_hook<TcpConnection, ConnectionHook, Hook>,
                           boost::intrusive::constant_time_size<false>>;

// The connections of a listener on one thread.
struct ListenerConnections {
  explicit ListenerConnections(ListenerPtr given) noexcept : listener(std::move(given)) {}
  const ListenerPtr listener;
  ConnectionList<&TcpConnection::of_listener> connections;
  std::unordered_map<const Endpoint*, ConnectionList<&TcpConnection::of_endpoint>> by_endpoint;
  bool stopped = false;
  unsigned pins = 0;  // iterations in progress; not erased meanwhile
};

}  // namespace sluice::userspace
