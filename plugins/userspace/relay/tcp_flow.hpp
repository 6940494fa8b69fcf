// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One direction of a TCP connection, from one socket to another: by copying, or by splice() through
// a pipe while it is busy. Holds neither buffer nor pipe while idle.
#pragma once

#include <sys/epoll.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "lib/fd.hpp"
#include "plugins/userspace/balancer/balancer.hpp"
#include "plugins/userspace/relay/pipe_pool.hpp"
#include "plugins/userspace/relay/statistics.hpp"

namespace sluice::userspace {

// The events that both ends of a connection wait for.
inline constexpr std::uint32_t kStreamEvents = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;

// A socket and its readiness, as reported by edge-triggered epoll.
struct TcpEnd {
  lib::Fd socket;
  bool readable = false;
  bool writable = false;
  bool hung_up = false;  // the peer has sent FIN, or failed: a short read does not mean that the buffer is empty
  bool failed = false;
  bool sent = false;   // at least one byte was sent to it
  bool quick = false;  // TCP_NODELAY is set
};

// Buffer and pipes shared by the flows of one thread. Outlives them.
struct FlowTools {
  static constexpr std::size_t kBufferBytes = 65536;

  FlowTools(std::size_t pipe_bytes, Counter& open_pipes)
      : buffer(std::make_unique<char[]>(kBufferBytes)), pipes(pipe_bytes, open_pipes) {}

  std::unique_ptr<char[]> buffer;
  PipePool pipes;
  bool splice_works = true;
};

// Only on the thread of the loop. Throws nothing.
class TcpFlow {
 public:
  enum class Outcome {
    kWaits,   // for a socket to become ready
    kMore,    // its turn is over, more data is ready
    kEnded,   // everything up to the end of the stream was passed to the kernel
    kFailed,  // a socket failed, or no memory
  };

  // Moves the data that is ready, up to the limit of one turn. REQUIRES: it has not ended
  Outcome run(TcpEnd& from, TcpEnd& to, FlowTools& tools, Counter& bytes, Nanoseconds now) noexcept;

  // Reads what has arrived, such as a small request, before there is a socket to send it to. An error or the end of the
  // stream is left to run(). Returns false without memory; what was read is lost then. REQUIRES: nothing has been read
  [[nodiscard]] bool read_ahead(TcpEnd& from, FlowTools& tools) noexcept;

  // Sends these bytes before anything else. Returns false without memory. REQUIRES: nothing has been sent
  [[nodiscard]] bool put_first(const char* data, std::size_t size) noexcept;

  // Releases buffer and pipe; data in them is lost.
  void drop(FlowTools& tools) noexcept;

  bool holds_data() const noexcept { return kept_ != nullptr || in_pipe_ > 0; }
  bool ended = false;  // its owner has handled kEnded

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
  void update_busy(std::size_t size) noexcept;

  std::unique_ptr<char[]> kept_;  // data read and not yet sent
  std::uint32_t kept_begin_ = 0;
  std::uint32_t kept_end_ = 0;
  std::unique_ptr<Pipe> pipe_;  // while it holds data, or during a turn
  std::uint32_t in_pipe_ = 0;
  std::uint8_t busy_ = 0;  // large reads minus small reads, see update_busy()
  bool splicing_ = false;
  bool never_splice_ = false;  // splice() failed on these sockets
  bool end_seen_ = false;
};

}  // namespace sluice::userspace
