// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One thread's share of relaying TCP: its listening sockets, its connections by face and
// endpoint, whose turn it is, and what its flows share.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "plugins/userspace/relay/tcp_acceptor.hpp"

namespace sluice::userspace {

// What the threads of one engine share. Outlives them.
struct TcpShared {
  explicit TcpShared(const RelaySettings& given) : settings(given) {}
  const RelaySettings settings;
  TcpConditions conditions;
  std::atomic<std::size_t> open{0};  // counted only where max_connections limits it
  std::vector<TcpRelay*> relays;     // complete before the first thread runs
};

// Probes of an idle connection.
void keep_alive(int fd, std::chrono::seconds idle) noexcept;

// The loop's thread only. What is noexcept throws nothing; the rest may throw std::bad_alloc.
class TcpRelay {
 public:
  // All outlive the relay. `thread`: its number in the engine.
  TcpRelay(EventLoop& loop, TcpShared& shared, ThreadStatistics& statistics, unsigned thread);
  ~TcpRelay();  // resets every connection. REQUIRES: the loop does not run
  TcpRelay(const TcpRelay&) = delete;
  TcpRelay& operator=(const TcpRelay&) = delete;

  TcpAcceptor& acceptor() noexcept { return acceptor_; }
  EventLoop& loop() noexcept { return loop_; }
  TcpShared& shared() noexcept { return shared_; }
  const RelaySettings& settings() const noexcept { return shared_.settings; }
  ThreadStatistics& statistics() noexcept { return statistics_; }
  FlowTools& tools() noexcept { return tools_; }

  // The ladder: after so many attempts that timed out; all of it.
  Nanoseconds dial_timeout(unsigned time_outs) const noexcept;
  Nanoseconds dial_patience() const noexcept { return patience_; }

  // An accepted connection, for this thread or one that has clearly less to do.
  void take_in(Descriptor client, const abi::Address& address, const FacePtr& face) noexcept;
  void take_in_here(Descriptor client, const abi::Address& address, const FacePtr& face) noexcept;

  void endpoints_gone(const FacePtr& face, std::span<const EndpointPtr> gone) noexcept;
  // No thread listens for it any more. `stays`: what is established lives on, whatever the settings say.
  void face_gone(const FacePtr& face, bool stays) noexcept;
  // Now, everybody who is counted there.
  void reset(const RelayedCount& counted) noexcept;

  // For its connections.
  void queue(TcpConnection& connection) noexcept;
  void ended(TcpFace& face) noexcept;
  void pipes_used() noexcept;

 private:
  void adopt(Descriptor client, const abi::Address& address, const FacePtr& face) noexcept;
  void not_taken() noexcept;
  TcpRelay& placement() noexcept;
  Nanoseconds when_removed() const noexcept;
  void give_turns() noexcept;
  void trim_pipes() noexcept;
  void sweep(TcpFace& face) noexcept;
  void reset_by(TcpFace& face, Nanoseconds deadline) noexcept;

  EventLoop& loop_;
  TcpShared& shared_;
  ThreadStatistics& statistics_;
  const unsigned thread_;
  Nanoseconds patience_ = 0;
  FlowTools tools_;
  std::atomic<std::uint32_t> load_{0};  // connections, those on their way from other threads too
  TcpRelay* least_loaded_ = this;
  Nanoseconds looked_at_ = 0;
  std::unordered_map<const Face*, TcpFace> faces_;
  ConnectionList<&TcpConnection::waiting> turns_;
  TcpAcceptor acceptor_;
  Alarm<TcpRelay> turn_alarm_{*this, &TcpRelay::give_turns};
  Alarm<TcpRelay> trim_alarm_{*this, &TcpRelay::trim_pipes};
};

}  // namespace sluice::userspace
