// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One relayed TCP connection: the dial with its ladder and retries, then two flows until
// both have ended. The loop's thread only. Throws nothing: where memory is missing, this
// connection ends and no other.
#pragma once

#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "plugins/userspace/relay/event_loop.hpp"
#include "plugins/userspace/relay/face.hpp"
#include "plugins/userspace/relay/tcp_flow.hpp"

namespace sluice::userspace {

class TcpRelay;
struct TcpFace;

using ConnectionHook = boost::intrusive::list_member_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

// Owned by itself: it hands itself to retire() when it ends.
class TcpConnection final : public Retired, private Timer {
 public:
  TcpConnection(TcpRelay& relay, TcpFace& face, Descriptor client, const abi::Address& address) noexcept;
  ~TcpConnection() override = default;
  TcpConnection(const TcpConnection&) = delete;
  TcpConnection& operator=(const TcpConnection&) = delete;

  // It may have ended when any of these returns.
  void begin() noexcept;
  void take_turn() noexcept { run(); }
  void retry() noexcept { dial(); }  // what the node was short of may be there again
  // The endpoint it has or dials is no longer one. `reset_at`: when an established one is reset; 0: never.
  void endpoint_gone(Nanoseconds reset_at) noexcept;
  void reset_by(Nanoseconds deadline) noexcept;
  void reset() noexcept;

  ConnectionHook of_face;
  ConnectionHook of_endpoint;
  ConnectionHook waiting;  // for its turn, or for what the node is short of

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
  bool attempt_failed(bool blame) noexcept;
  void wait_for_node(int error) noexcept;
  void give_up() noexcept;
  void leave_endpoint() noexcept;
  void connected() noexcept;
  void run() noexcept;
  bool advance(TcpFlow& flow, const TcpFlow& other, End& from, End& to, Counter& bytes) noexcept;
  void check_age() noexcept;
  void arm(Nanoseconds deadline) noexcept;
  void end() noexcept;

  TcpRelay& relay_;
  TcpFace& face_;
  EndpointPtr endpoint_;
  End client_{*this};
  End server_{*this};
  TcpFlow up_;    // client to endpoint
  TcpFlow down_;  // endpoint to client
  abi::Address address_;
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

// One thread's connections of a face.
struct TcpFace {
  explicit TcpFace(FacePtr given) noexcept : face(std::move(given)) {}
  const FacePtr face;
  ConnectionList<&TcpConnection::of_face> connections;
  std::unordered_map<const Endpoint*, ConnectionList<&TcpConnection::of_endpoint>> by_endpoint;
  bool stopped = false;
  unsigned pins = 0;  // walks under way
};

}  // namespace sluice::userspace
