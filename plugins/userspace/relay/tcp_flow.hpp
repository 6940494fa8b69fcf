// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One direction of a TCP connection: from one socket to another, by copying while little
// is to do, by splice() through a pipe while it is busy. Holds nothing while it is idle.
#pragma once

#include <sys/epoll.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "plugins/userspace/balancer/balancer.hpp"
#include "plugins/userspace/descriptor.hpp"
#include "plugins/userspace/relay/pipe_pool.hpp"
#include "plugins/userspace/relay/statistics.hpp"

namespace sluice::userspace {

// The events that both ends of a connection wait for.
inline constexpr std::uint32_t kStreamEvents = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;

// A socket and what edge-triggered epoll has said of it that still holds.
struct TcpEnd {
  Descriptor socket;
  bool readable = false;
  bool writable = false;
  bool hung_up = false;  // it has sent its last byte, or failed: a short read is not the last thing to be read
  bool failed = false;
  bool sent = false;   // something, at least once
  bool quick = false;  // TCP_NODELAY is on
};

// What the flows of one thread share. Outlives them.
struct FlowTools {
  static constexpr std::size_t kBufferBytes = 65536;

  FlowTools(std::size_t pipe_bytes, Counter& open_pipes)
      : buffer(std::make_unique<char[]>(kBufferBytes)), pipes(pipe_bytes, open_pipes) {}

  std::unique_ptr<char[]> buffer;
  PipePool pipes;
  bool splice_works = true;
};

// The loop's thread only. Throws nothing.
class TcpFlow {
 public:
  enum class Outcome {
    kWaits,   // for one of the sockets
    kMore,    // its turn is over, there is more to do
    kEnded,   // everything up to the end of the stream has been handed to the kernel
    kFailed,  // one of the sockets, or memory
  };

  // Moves what can be moved now. REQUIRES: it has not ended.
  Outcome run(TcpEnd& from, TcpEnd& to, FlowTools& tools, Counter& bytes, Nanoseconds now) noexcept;

  // These go before everything else. REQUIRES: nothing has been moved. False: no memory.
  [[nodiscard]] bool put_first(const char* data, std::size_t size) noexcept { return keep(data, size); }

  // Gives back what it holds; what is in there is lost.
  void drop(FlowTools& tools) noexcept;

  bool holds_data() const noexcept { return kept_ != nullptr || in_pipe_ > 0; }
  bool ended = false;  // its owner has acted on kEnded

 private:
  enum class Step { kGoOn, kWaits, kFailed };

  Step flush(TcpEnd& to, FlowTools& tools, Counter& bytes) noexcept;
  Step flush_pipe(TcpEnd& to, FlowTools& tools, Counter& bytes) noexcept;
  Step copy(TcpEnd& from, TcpEnd& to, FlowTools& tools, Counter& bytes, std::size_t& moved) noexcept;
  Step splice_in(TcpEnd& from, FlowTools& tools, std::size_t& moved) noexcept;
  Step send_some(TcpEnd& to, const char* data, std::size_t size, Counter& bytes, std::size_t& sent) noexcept;
  bool keep(const char* data, std::size_t size) noexcept;
  bool keep_pipe(FlowTools& tools) noexcept;
  bool ready_to_splice(FlowTools& tools, Nanoseconds now) noexcept;
  void weigh(std::size_t size) noexcept;

  std::unique_ptr<char[]> kept_;  // read and not yet sent
  std::uint32_t kept_begin_ = 0;
  std::uint32_t kept_end_ = 0;
  std::unique_ptr<Pipe> pipe_;  // while there is something in it, or the turn lasts
  std::uint32_t in_pipe_ = 0;
  std::uint8_t busy_ = 0;  // large pieces lately
  bool splicing_ = false;
  bool never_splice_ = false;  // the kernel does not splice these sockets
  bool end_seen_ = false;
};

}  // namespace sluice::userspace
