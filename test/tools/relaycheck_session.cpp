// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "relaycheck_session.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace relaycheck {
namespace {

constexpr unsigned kPieceBits = 16;  // pieces up to 128 KiB
constexpr std::size_t kRoom = 1u << 17;
constexpr std::uint64_t kLongestRestMicroseconds = 20000;
// The maximum number of bytes per event, so that other connections get their turn.
constexpr int kPiecesInTurn = 8;

std::array<unsigned char, kRoom>& room() {
  static std::array<unsigned char, kRoom> bytes;
  return bytes;
}

}  // namespace

std::string error_word(int error) {
  switch (error) {
    case ECONNRESET:
    case EPIPE: return "reset";
    case ECONNREFUSED: return "refused";
    case ETIMEDOUT: return "timed out";
    case EHOSTUNREACH:
    case ENETUNREACH: return "unreachable";
    default: return std::strerror(error);
  }
}

Session::Session(Loop& loop, const Owner& owner, netecho::Fd socket, std::size_t first_bytes, Share share,
                 std::uint64_t seed)
    : loop_(loop), owner_(owner), socket_(std::move(socket)), first_bytes_(first_bytes), share_(std::move(share)),
      random_(seed) {}

Session::~Session() {
  if (!ended_) {
    loop_.set_deadline(*this, deadline_, Clock::time_point::max());
    loop_.remove(socket_.get(), *this);
  }
}

void Session::start() {
  watched_ = EPOLLIN | EPOLLOUT;
  loop_.watch(socket_.get(), watched_, *this, true);
}

void Session::go() {
  going_ = true;
  update();
}

bool Session::moved() {
  const std::uint64_t now = sent_ + received_ + first_sent_ + first_.size() + (in_closed_ ? 1 : 0);
  return std::exchange(moved_then_, now) != now;
}

void Session::on_events(std::uint32_t events) {
  if ((events & EPOLLERR) != 0) {
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return end(error_word(error));
  }
  // Both directions are closed, and epoll would report it forever. All data has arrived, so do not wait.
  if ((events & EPOLLHUP) != 0) read_from_ = send_from_ = loop_.now();
  std::string problem;
  if ((events & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0) problem = receive();
  if (!ended_ && problem.empty() && (events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) != 0) problem = send();
  if (ended_) return;
  if (!problem.empty() || (in_closed_ && out_closed_)) return end(problem);
  update();
}

void Session::on_deadline() { update(); }

std::string Session::receive_first() {
  std::vector<unsigned char> part(first_bytes_ - first_.size());
  const ssize_t got = ::recv(socket_.get(), part.data(), part.size(), 0);
  if (got < 0) return errno == EAGAIN || errno == EINTR ? "" : error_word(errno);
  if (got == 0) return "closed before it began";
  first_.insert(first_.end(), part.begin(), part.begin() + got);
  if (first_.size() < first_bytes_) return "";
  auto share = owner_.opened(*this, first_);
  if (!share) return "not the peer that was asked for";
  share_ = std::move(*share);
  opened_ = true;
  return "";
}

std::string Session::receive() {
  for (int piece = 0; piece < kPiecesInTurn && !in_closed_; ++piece) {
    if (!opened_) {
      if (auto problem = receive_first(); !problem.empty()) return problem;
      if (!opened_) return "";
    }
    if (share_.read_rate != 0 && loop_.now() < read_from_) return "";
    const std::size_t most = share_.read_rate == 0
                                 ? kRoom
                                 : std::clamp<std::size_t>(static_cast<std::size_t>(share_.read_rate / 50), 1, kRoom);
    const ssize_t got = ::recv(socket_.get(), room().data(), most, 0);
    if (got < 0) return errno == EAGAIN || errno == EINTR ? "" : error_word(errno);
    if (got == 0) {
      in_closed_ = true;
      return received_ == share_.in_bytes
                 ? ""
                 : "short: ended after " + std::to_string(received_) + " of " + std::to_string(share_.in_bytes);
    }
    const auto bytes = std::span<const unsigned char>(room()).first(static_cast<std::size_t>(got));
    if (received_ + bytes.size() > share_.in_bytes) return "long: more than " + std::to_string(share_.in_bytes);
    const std::size_t right = share_.in.matches(received_, bytes);
    if (right != bytes.size()) return "corrupt: at byte " + std::to_string(received_ + right);
    received_ += bytes.size();
    if (share_.read_rate != 0) {
      read_from_ = loop_.now() + std::chrono::microseconds(bytes.size() * 1'000'000 / share_.read_rate);
    }
  }
  return "";
}

std::string Session::send() {
  while (first_sent_ < share_.first.size()) {
    const ssize_t sent = ::send(socket_.get(), share_.first.data() + first_sent_, share_.first.size() - first_sent_,
                                MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN || errno == EINTR ? "" : error_word(errno);
    first_sent_ += static_cast<std::size_t>(sent);
  }
  if (!going_ || share_.first.empty()) return "";
  for (int piece = 0; piece < kPiecesInTurn && sent_ < share_.out_bytes; ++piece) {
    if (loop_.now() < send_from_) return "";
    const auto left = share_.out_bytes - sent_;
    const auto bytes = std::span(room()).first(std::min<std::uint64_t>({random_.size(kPieceBits), left, kRoom}));
    share_.out.fill(sent_, bytes);
    const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN || errno == EINTR ? "" : error_word(errno);
    sent_ += static_cast<std::uint64_t>(sent);
    if (share_.pauses != 0 && random_.below(1000) < share_.pauses) {
      send_from_ = loop_.now() + std::chrono::microseconds(random_.below(kLongestRestMicroseconds));
    }
  }
  if (sent_ == share_.out_bytes && !out_closed_ && (!share_.closes_second || in_closed_)) {
    if (::shutdown(socket_.get(), SHUT_WR) != 0) return error_word(errno);
    out_closed_ = true;
  }
  return "";
}

// The epoll events to wait for.
void Session::update() {
  if (ended_) return;
  const auto now = loop_.now();
  const bool reads = !in_closed_ && (!opened_ || share_.read_rate == 0 || now >= read_from_);
  const bool first = first_sent_ < share_.first.size();
  const bool data = going_ && !share_.first.empty() && !out_closed_ &&
                    (sent_ < share_.out_bytes ? now >= send_from_ : !share_.closes_second || in_closed_);
  const std::uint32_t wanted = (reads ? EPOLLIN : 0u) | (first || data ? EPOLLOUT : 0u);
  if (wanted != watched_) {
    watched_ = wanted;
    loop_.watch(socket_.get(), watched_, *this, false);
  }
  auto due = Clock::time_point::max();
  if (!in_closed_ && read_from_ > now) due = read_from_;
  if (!out_closed_ && send_from_ > now) due = std::min(due, send_from_);
  loop_.set_deadline(*this, deadline_, due);
}

void Session::end(const std::string& problem) {
  ended_ = true;
  loop_.set_deadline(*this, deadline_, Clock::time_point::max());
  loop_.remove(socket_.get(), *this);
  owner_.ended(*this, problem);
}

}  // namespace relaycheck
