// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "netecho_attempt.hpp"

#include <linux/errqueue.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <sstream>

#include "netecho_commands.hpp"

namespace netecho {
namespace {

using Clock = std::chrono::steady_clock;

// Waits for `events` until the deadline. False on timeout (errno 0 → ETIMEDOUT) or when asked to stop (EINTR).
bool wait_for(int socket, short events, Clock::time_point deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) {
      errno = ETIMEDOUT;
      return false;
    }
    pollfd entry{socket, events, 0};
    const int ready = ::poll(&entry, 1, static_cast<int>(left));
    if (ready > 0) return true;
    if (ready < 0 && (errno != EINTR || stop_requested)) return false;
  }
}

int pending_error(int socket) {
  int number = 0;
  socklen_t length = sizeof number;
  ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &number, &length);
  return number;
}

// Returns 0, or the errno of the failed send.
int send_all(int socket, std::string_view text, Clock::time_point deadline) {
  while (!text.empty()) {
    const ssize_t sent = ::send(socket, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      text.remove_prefix(static_cast<std::size_t>(sent));
      continue;
    }
    if (errno == EPERM) {
      // A datagram rejected in OUTPUT fails with EPERM although an ICMP error is on its way to the
      // socket; only that error distinguishes a rejection from a drop.
      (void)wait_for(socket, 0, std::min(deadline, Clock::now() + std::chrono::milliseconds(50)));
      const int later = pending_error(socket);
      return later != 0 ? later : EPERM;
    }
    if (errno != EAGAIN) return errno;
    if (!wait_for(socket, POLLOUT, deadline)) return errno;
  }
  return 0;
}

std::optional<std::string> read_line(int socket, Clock::time_point deadline, int& number) {
  std::string line;
  std::array<char, 512> buffer{};
  while (line.empty() || line.back() != '\n') {
    const ssize_t got = ::recv(socket, buffer.data(), buffer.size(), 0);
    if (got > 0) {
      line.append(buffer.data(), static_cast<std::size_t>(got));
    } else if (got == 0) {
      number = ECONNRESET;
      return std::nullopt;
    } else if (errno != EAGAIN) {
      number = errno;
      return std::nullopt;
    } else if (!wait_for(socket, POLLIN, deadline)) {
      number = errno;
      return std::nullopt;
    }
  }
  line.pop_back();
  return line;
}

// An ICMP error that arrives while connect() still holds the socket is only noted by the kernel, and shows a
// second later when the SYN is sent again. Between namespaces of one host answers come that fast. The error
// queue has it at once.
class ErrorQueue {
 public:
  ErrorQueue(int socket, int family)
      : socket_(socket),
        level_(family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6),
        option_(family == AF_INET ? IP_RECVERR : IPV6_RECVERR) {
    set(1);
  }
  ErrorQueue(const ErrorQueue&) = delete;
  ErrorQueue& operator=(const ErrorQueue&) = delete;
  // An established connection must survive such errors, so they are only enabled while connecting.
  ~ErrorQueue() { set(0); }

  // The errno of the oldest error, or 0.
  [[nodiscard]] int take() const {
    alignas(cmsghdr) std::array<char, 512> control{};
    msghdr message{};
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    if (::recvmsg(socket_, &message, MSG_ERRQUEUE) < 0) return 0;
    for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
      if (part->cmsg_level == level_ && part->cmsg_type == option_) {
        return static_cast<int>(reinterpret_cast<const sock_extended_err*>(CMSG_DATA(part))->ee_errno);
      }
    }
    return 0;
  }

 private:
  void set(int on) const { ::setsockopt(socket_, level_, option_, &on, sizeof on); }

  int socket_;
  int level_;
  int option_;
};

int connect_and_wait(int socket, const Target& target, Clock::time_point deadline) {
  if (::connect(socket, target.address.raw(), target.address.length) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  if (!wait_for(socket, POLLOUT, deadline)) return errno;
  return pending_error(socket);
}

// Whether the kernel has retransmitted on this connection so far.
bool sent_again(int socket) {
  tcp_info info{};
  socklen_t length = sizeof info;
  return ::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 && info.tcpi_total_retrans != 0;
}

int prepare_and_connect(int socket, const Target& target, Clock::time_point deadline) {
  if (!target.device.empty() && ::setsockopt(socket, SOL_SOCKET, SO_BINDTODEVICE, target.device.c_str(),
                                             static_cast<socklen_t>(target.device.size())) != 0) {
    return errno;
  }
  if (target.source) {
    const int on = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    // Without this option bind() searches for a free port, which is slow when thousands of earlier sockets are in TIME_WAIT.
    if (target.source->port() == 0) ::setsockopt(socket, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    if (::bind(socket, target.source->raw(), target.source->length) != 0) return errno;
  }
  if (target.protocol != Protocol::tcp) return connect_and_wait(socket, target, deadline);
  const ErrorQueue queue(socket, target.address.family());
  const int number = connect_and_wait(socket, target, deadline);
  const int queued = queue.take();
  if (number == 0 && queued == 0 && target.first_syn_only && sent_again(socket)) return ETIMEDOUT;
  return number == 0 && queued != 0 ? queued : number;
}

}  // namespace

std::string_view outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::ok: return "ok";
    case Outcome::refused: return "refused";
    case Outcome::timeout: return "timeout";
    case Outcome::unreachable: return "unreachable";
    case Outcome::error: break;
  }
  return "error";
}

std::string Answer::line() const {
  std::string text(outcome_name(outcome));
  if (outcome == Outcome::ok) text += " " + server + " " + client;
  if (outcome == Outcome::error) text += " " + detail;
  return text;
}

Answer answer_from_errno(int number) {
  switch (number) {
    case ECONNREFUSED: return {Outcome::refused, {}, {}, {}};
    case ETIMEDOUT: return {Outcome::timeout, {}, {}, {}};
    case EHOSTUNREACH:
    case ENETUNREACH: return {Outcome::unreachable, {}, {}, {}};
    default: return {Outcome::error, {}, {}, std::strerror(number)};
  }
}

std::optional<std::string> exchange(int socket, std::string_view text, std::chrono::milliseconds timeout,
                                    Answer& failure) {
  const auto deadline = Clock::now() + timeout;
  int number = send_all(socket, text, deadline);
  if (number == 0) {
    if (auto line = read_line(socket, deadline, number)) return line;
  }
  failure = answer_from_errno(number);
  return std::nullopt;
}

Conversation open_conversation(const Target& target) {
  const auto deadline = Clock::now() + target.timeout;
  Conversation result;
  result.socket = open_socket(target.address.family(), target.protocol);
  if (!result.socket.valid()) {
    result.answer = answer_from_errno(errno);
    return result;
  }
  if (const int number = prepare_and_connect(result.socket.get(), target, deadline)) {
    result.answer = answer_from_errno(number);
    return result;
  }
  // A stream server greets first; a datagram server needs a request.
  const std::string_view first = target.protocol == Protocol::udp ? "?\n" : "";
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
  if (const auto line = exchange(result.socket.get(), first, left, result.answer)) {
    std::istringstream words(*line);
    if (words >> result.answer.server >> result.answer.client) {
      result.answer.outcome = Outcome::ok;
    } else {
      result.answer = {Outcome::error, {}, {}, "unexpected reply"};
    }
  }
  return result;
}

}  // namespace netecho
