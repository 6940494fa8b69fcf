// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/relay/tcp_flow.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

namespace sluice::userspace {
namespace {

// Bytes per turn, before other connections have theirs.
constexpr std::size_t kTurn = 512 << 10;
// A direction is spliced when large reads outnumber small ones by a threshold.
constexpr std::size_t kLarge = 8192;
constexpr std::size_t kSmall = 2048;
// A client may send that much before its endpoint is connected; the rest stays in the kernel.
constexpr std::size_t kAhead = 2048;
constexpr std::uint8_t kBusy = 4;
constexpr std::uint8_t kBusiest = 8;

// Nagle's algorithm does not delay the first write, so a connection with one request can skip setting TCP_NODELAY.
void before_send(TcpEnd& to) noexcept {
  if (to.sent && !to.quick) {
    const int on = 1;
    setsockopt(to.socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    to.quick = true;
  }
  to.sent = true;
}

bool would_block(int error) noexcept { return error == EAGAIN || error == EWOULDBLOCK; }

}  // namespace

bool TcpFlow::keep(const char* data, std::size_t size) noexcept {
  kept_.reset(new (std::nothrow) char[size]);
  if (kept_ == nullptr) return false;
  std::memcpy(kept_.get(), data, size);
  kept_begin_ = 0;
  kept_end_ = static_cast<std::uint32_t>(size);
  return true;
}

bool TcpFlow::read_ahead(TcpEnd& from, FlowTools& tools) noexcept {
  const ssize_t n = recv(from.socket.get(), tools.buffer.get(), kAhead, MSG_DONTWAIT);
  if (n <= 0) return true;
  from.readable = static_cast<std::size_t>(n) == kAhead;
  return keep(tools.buffer.get(), static_cast<std::size_t>(n));
}

bool TcpFlow::put_first(const char* data, std::size_t size) noexcept {
  const std::size_t ahead = kept_ == nullptr ? 0 : kept_end_;
  std::unique_ptr<char[]> joined(new (std::nothrow) char[size + ahead]);
  if (joined == nullptr) return false;
  std::memcpy(joined.get(), data, size);
  if (ahead != 0) std::memcpy(joined.get() + size, kept_.get(), ahead);
  kept_ = std::move(joined);
  kept_begin_ = 0;
  kept_end_ = static_cast<std::uint32_t>(size + ahead);
  return true;
}

// Reads the data out of a pipe that splice() cannot empty.
bool TcpFlow::keep_pipe(FlowTools& tools) noexcept {
  kept_.reset(new (std::nothrow) char[in_pipe_]);
  if (kept_ == nullptr) return false;
  kept_begin_ = 0;
  kept_end_ = 0;
  while (kept_end_ < in_pipe_) {
    const ssize_t n = read(pipe_->read_end.get(), kept_.get() + kept_end_, in_pipe_ - kept_end_);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    kept_end_ += static_cast<std::uint32_t>(n);
  }
  in_pipe_ = 0;
  tools.pipes.give_back(std::move(pipe_));
  return true;
}

void TcpFlow::drop(FlowTools& tools) noexcept {
  kept_.reset();
  if (pipe_ == nullptr) return;
  if (in_pipe_ == 0) {
    tools.pipes.give_back(std::move(pipe_));
  } else {
    tools.pipes.discard(std::move(pipe_));
  }
  in_pipe_ = 0;
}

void TcpFlow::update_busy(std::size_t size) noexcept {
  if (size >= kLarge) {
    if (busy_ < kBusiest) ++busy_;
    if (busy_ >= kBusy) splicing_ = true;
  } else if (size < kSmall) {
    if (busy_ > 0) --busy_;
    if (busy_ == 0) splicing_ = false;
  }
}

TcpFlow::Step TcpFlow::send_some(TcpEnd& to, const char* data, std::size_t size, Counter& bytes,
                                 std::size_t& sent) noexcept {
  sent = 0;
  if (!to.writable) return Step::kWaits;
  before_send(to);
  while (sent < size) {
    const ssize_t n = send(to.socket.get(), data + sent, size - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0) {
      if (errno == EINTR) continue;
      if (!would_block(errno)) return Step::kFailed;
      to.writable = false;
      return Step::kWaits;
    }
    bytes.add(static_cast<std::uint64_t>(n));
    sent += static_cast<std::size_t>(n);
  }
  return Step::kGoOn;
}

TcpFlow::Step TcpFlow::flush_pipe(TcpEnd& to, FlowTools& tools, Counter& bytes) noexcept {
  if (!to.writable) return Step::kWaits;
  before_send(to);
  while (in_pipe_ > 0) {
    const ssize_t n =
        splice(pipe_->read_end.get(), nullptr, to.socket.get(), nullptr, in_pipe_, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    if (n > 0) {
      in_pipe_ -= static_cast<std::uint32_t>(n);
      bytes.add(static_cast<std::uint64_t>(n));
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && would_block(errno)) {
      to.writable = false;
      return Step::kWaits;
    }
    if (n < 0 && (errno == EINVAL || errno == ENOSYS)) {
      never_splice_ = true;
      return keep_pipe(tools) ? flush(to, tools, bytes) : Step::kFailed;
    }
    return Step::kFailed;
  }
  return Step::kGoOn;
}

TcpFlow::Step TcpFlow::flush(TcpEnd& to, FlowTools& tools, Counter& bytes) noexcept {
  if (kept_ != nullptr) {
    std::size_t sent = 0;
    const Step step = send_some(to, kept_.get() + kept_begin_, kept_end_ - kept_begin_, bytes, sent);
    kept_begin_ += static_cast<std::uint32_t>(sent);
    if (step != Step::kGoOn) return step;
    kept_.reset();
  }
  return in_pipe_ > 0 ? flush_pipe(to, tools, bytes) : Step::kGoOn;
}

TcpFlow::Step TcpFlow::copy(TcpEnd& from, TcpEnd& to, FlowTools& tools, Counter& bytes, std::size_t& moved) noexcept {
  char* const buffer = tools.buffer.get();
  const ssize_t n = recv(from.socket.get(), buffer, FlowTools::kBufferBytes, MSG_DONTWAIT);
  if (n < 0) {
    if (errno == EINTR) return Step::kGoOn;
    if (!would_block(errno)) return Step::kFailed;
    from.readable = false;
    return Step::kWaits;
  }
  if (n == 0) {
    end_seen_ = true;
    return Step::kGoOn;
  }
  const auto size = static_cast<std::size_t>(n);
  moved += size;
  update_busy(size);
  // The socket buffer is empty then, and edge-triggered epoll reports later data.
  if (size < FlowTools::kBufferBytes && !from.hung_up) from.readable = false;
  std::size_t sent = 0;
  const Step step = send_some(to, buffer, size, bytes, sent);
  if (step == Step::kWaits && !keep(buffer + sent, size - sent)) return Step::kFailed;
  return step;
}

TcpFlow::Step TcpFlow::splice_in(TcpEnd& from, FlowTools& tools, std::size_t& moved) noexcept {
  // The pipe is empty, so EAGAIN means that the socket has no data.
  const ssize_t n = splice(from.socket.get(), nullptr, pipe_->write_end.get(), nullptr,
                           std::min(pipe_->capacity, kTurn - moved), SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
  if (n > 0) {
    in_pipe_ = static_cast<std::uint32_t>(n);
    moved += in_pipe_;
    update_busy(in_pipe_);
    return Step::kGoOn;
  }
  if (n == 0) {
    end_seen_ = true;
    return Step::kGoOn;
  }
  if (errno == EINTR) return Step::kGoOn;
  if (would_block(errno)) {
    from.readable = false;
    return Step::kWaits;
  }
  if (errno == EINVAL || errno == ENOSYS) {
    if (errno == ENOSYS) tools.splice_works = false;
    never_splice_ = true;
    return Step::kGoOn;
  }
  if (errno != ENOMEM) return Step::kFailed;
  busy_ = 0;
  splicing_ = false;
  return Step::kGoOn;
}

bool TcpFlow::ready_to_splice(FlowTools& tools, Nanoseconds now) noexcept {
  if (!splicing_ || never_splice_ || !tools.splice_works) return false;
  if (pipe_ == nullptr) pipe_ = tools.pipes.take(now);
  return pipe_ != nullptr;
}

TcpFlow::Outcome TcpFlow::run(TcpEnd& from, TcpEnd& to, FlowTools& tools, Counter& bytes, Nanoseconds now) noexcept {
  std::size_t moved = 0;
  Outcome outcome = Outcome::kWaits;
  for (;;) {
    Step step = holds_data() ? flush(to, tools, bytes) : Step::kGoOn;
    if (step == Step::kGoOn) {
      if (end_seen_) {
        outcome = Outcome::kEnded;
        break;
      }
      if (!from.readable) break;
      if (moved >= kTurn) {
        outcome = Outcome::kMore;
        break;
      }
      step = ready_to_splice(tools, now) ? splice_in(from, tools, moved) : copy(from, to, tools, bytes, moved);
    }
    if (step == Step::kFailed) outcome = Outcome::kFailed;
    if (step != Step::kGoOn) break;
  }
  if (pipe_ != nullptr && in_pipe_ == 0) tools.pipes.give_back(std::move(pipe_));
  return outcome;
}

}  // namespace sluice::userspace
