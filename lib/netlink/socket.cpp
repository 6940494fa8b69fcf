// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "lib/netlink/socket.hpp"

#include <netlink/msg.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

#include "lib/netlink/error.hpp"
#include "lib/netlink/message.hpp"

namespace sluice::lib::netlink {
namespace {

// The kernel sends dumps in datagrams of 32 KiB; a larger single reply grows the buffer.
constexpr std::size_t kFirstBuffer = 64 * 1024;
constexpr int kMissing = -1;  // an answer

Status unknown(int error, std::string message) {
  return {is_temporary(error) ? StatusCode::unavailable : errno_status({}, error).code(), std::move(message), error};
}

}  // namespace

Socket::Socket(int protocol, std::string what)
    : Socket([protocol] { return open_raw_socket(protocol); }, std::move(what)) {}

Socket::Socket(OpenRawSocket open, std::string what, std::chrono::milliseconds timeout)
    : open_(std::move(open)), what_(std::move(what)), timeout_(timeout), buffer_(kFirstBuffer) {}

Socket::~Socket() = default;

Status Socket::open() {
  if (raw_socket_) return {};
  auto raw_socket = open_();
  if (!raw_socket) return give_up(raw_socket.status());
  raw_socket_ = std::move(*raw_socket);
  return {};
}

void Socket::close() noexcept { raw_socket_.reset(); }

Status Socket::give_up(const Status& status) {
  close();
  return status.prefixed("the exchange with " + what_ + " failed");
}

Status Socket::give_up(int error, const std::string& why) {
  return give_up(unknown(error, why));
}

std::uint32_t Socket::stamp(nlmsghdr* message, int flags) {
  if (++sequence_ == 0) ++sequence_;  // notifications have 0
  message->nlmsg_seq = sequence_;
  message->nlmsg_pid = raw_socket_->port_id();
  message->nlmsg_flags = static_cast<std::uint16_t>(message->nlmsg_flags | NLM_F_REQUEST | flags);
  return sequence_;
}

std::uint32_t Socket::append(std::string& datagram, nlmsghdr* message, int flags) {
  const std::uint32_t number = stamp(message, flags);
  datagram.append(reinterpret_cast<const char*>(message), message->nlmsg_len);
  datagram.resize(NLMSG_ALIGN(datagram.size()));
  return number;
}

Status Socket::send(std::string_view datagram) {
  const int error = raw_socket_->send(datagram);
  if (error != 0) return give_up(error, "sending " + std::to_string(datagram.size()) + " bytes: " + error_text(error));
  ++datagrams_;
  return {};
}

long Socket::receive() {
  long size = -EINTR;
  while (size == -EINTR) size = raw_socket_->receive(std::span<char>(buffer_), timeout_);
  if (size > static_cast<long>(buffer_.size())) {
    buffer_.resize(static_cast<std::size_t>(size));  // for the next try
    return -ENOBUFS;
  }
  return size;
}

// The errno of an NLMSG_ERROR message, 0 for an acknowledgement.
int Socket::answer(nlmsghdr* message) {
  if (message->nlmsg_len < NLMSG_LENGTH(sizeof(nlmsgerr))) return EPROTO;
  const auto* const error = static_cast<const nlmsgerr*>(nlmsg_data(message));
  if (error->error == 0) return 0;
  reason_.clear();
  if ((message->nlmsg_flags & NLM_F_ACK_TLVS) != 0) {
    std::size_t skip = sizeof(nlmsgerr);
    if ((message->nlmsg_flags & NLM_F_CAPPED) == 0) skip += NLMSG_ALIGN(error->msg.nlmsg_len) - sizeof(nlmsghdr);
    const nlattr* const words = message->nlmsg_len > NLMSG_HDRLEN + skip
                                    ? nlmsg_find_attr(message, static_cast<int>(skip), NLMSGERR_ATTR_MSG)
                                    : nullptr;
    reason_ = string_attribute(words);
  }
  return error->error < 0 && error->error != INT_MIN ? -error->error : EPROTO;
}

Status Socket::take_answers(std::uint32_t first, std::span<int> answers, const Take& take, bool whole) {
  for (auto missing = std::count(answers.begin(), answers.end(), kMissing); missing > 0;) {
    const long size = receive();
    if (size == -EAGAIN) {
      return give_up(ETIMEDOUT, std::to_string(missing) + " of " + std::to_string(answers.size()) +
                                    " requests were not answered within " + std::to_string(timeout_.count()) + " ms");
    }
    if (size < 0) return give_up(static_cast<int>(-size), "receiving an answer: " + error_text(static_cast<int>(-size)));
    int left = static_cast<int>(size);
    auto* message = reinterpret_cast<nlmsghdr*>(buffer_.data());
    for (; nlmsg_ok(message, left); message = nlmsg_next(message, &left)) {
      const std::size_t index = message->nlmsg_seq - first;
      if (message->nlmsg_pid != raw_socket_->port_id() || index >= answers.size()) continue;
      if (message->nlmsg_type == NLMSG_OVERRUN) return give_up(ENOBUFS, "the kernel reports lost replies (NLMSG_OVERRUN)");
      if (message->nlmsg_type == NLMSG_ERROR) {
        if (answers[index] == kMissing) --missing;
        answers[index] = answer(message);
        if (whole && answers[index] != 0) return {};
      } else if (message->nlmsg_type >= NLMSG_MIN_TYPE && take) {
        take(message);
      }
    }
    if (size == 0 || left > 0) return give_up(EAGAIN, "a reply of " + std::to_string(size) + " bytes was truncated");
  }
  return {};
}

Result<int> Socket::request(nlmsghdr* message, const Take& take) {
  if (Status status = open(); !status.ok()) return status;
  const std::uint32_t first = stamp(message, NLM_F_ACK);
  if (Status status = send({reinterpret_cast<const char*>(message), message->nlmsg_len}); !status.ok()) return status;
  ++requests_;
  int error = kMissing;
  if (Status status = take_answers(first, {&error, 1}, take); !status.ok()) return status;
  return error;
}

Result<std::vector<int>> Socket::batch(std::size_t count, const std::function<nlmsghdr*(std::size_t index)>& make, Acks acks) {
  std::vector<int> answers(count);
  std::string datagram;
  std::size_t begun = 0;  // the first request of this datagram
  std::size_t last = 0;   // where its last request begins
  std::uint32_t first = 0;
  const auto flush = [&](std::size_t end) -> Status {
    if (end == begun) return {};
    const auto some = std::span(answers).subspan(begun, end - begun);
    if (acks == Acks::kEach) std::fill(some.begin(), some.end(), kMissing);
    some.back() = kMissing;
    reinterpret_cast<nlmsghdr*>(datagram.data() + last)->nlmsg_flags |= NLM_F_ACK;
    if (Status status = send(datagram); !status.ok()) return status;
    requests_ += some.size();
    datagram.clear();
    begun = end;
    return take_answers(first, some, {});
  };
  for (std::size_t i = 0; i < count; ++i) {
    nlmsghdr* const message = make(i);
    if (i - begun >= kWindow || datagram.size() + message->nlmsg_len > kDatagram) {
      if (Status status = flush(i); !status.ok()) return status;
    }
    if (Status status = open(); !status.ok()) return status;
    last = datagram.size();
    const std::uint32_t number = append(datagram, message, acks == Acks::kEach ? NLM_F_ACK : 0);
    if (i == begun) first = number;
  }
  if (Status status = flush(count); !status.ok()) return status;
  return answers;
}

Result<int> Socket::transact(nlmsghdr* begin, std::span<nlmsghdr* const> changes, nlmsghdr* end) {
  if (Status status = open(); !status.ok()) return status;
  std::string datagram;
  const std::uint32_t first = append(datagram, begin, 0);
  for (nlmsghdr* const change : changes) append(datagram, change, NLM_F_ACK);
  append(datagram, end, 0);
  if (Status status = send(datagram); !status.ok()) return status;
  std::vector<int> answers(changes.size() + 2, kMissing);
  answers.front() = answers.back() = 0;
  if (Status status = take_answers(first, answers, {}, true); !status.ok()) return status;
  const auto refused = std::find_if(answers.begin(), answers.end(), [](int error) { return error > 0; });
  if (refused == answers.end()) return 0;
  close();  // more refusals of this transaction may follow
  return *refused;
}

Result<int> Socket::dump(nlmsghdr* message, const std::function<void()>& begin, const Take& take, InterruptibleDump* loose) {
  DumpEnd end;
  int silences = 0;
  const auto visit = [&take](nlmsghdr* one) {
    take(one);
    return true;
  };
  for (int attempt = 0; attempt < kTries && silences < 2; ++attempt) {
    begin();
    end = read_dump(message, visit, loose != nullptr ? loose->stop : nullptr);
    if (end.broken == DumpEnd::Broken::kForGood) return unknown(end.error, end.why);
    if (end.broken == DumpEnd::Broken::kNo && end.interrupted && loose == nullptr && end.error == 0) {
      close();
      end.why = "the data changed meanwhile";
    } else if (end.broken == DumpEnd::Broken::kNo) {
      if (loose != nullptr && end.error != ECANCELED) loose->interrupted = end.interrupted;
      return end.error;
    }
    if (end.broken == DumpEnd::Broken::kSilent) ++silences;
  }
  return give_up(EAGAIN, "a dump failed repeatedly, the last time because " + end.why);
}

Socket::DumpEnd Socket::read_dump(nlmsghdr* message, const Visit& visit, const std::function<bool()>& stop) {
  using Broken = DumpEnd::Broken;
  DumpEnd end;
  const auto ended = [&](int error, Broken broken = Broken::kNo, std::string why = {}) {
    end.error = error;
    end.broken = broken;
    end.why = std::move(why);
    if (broken != Broken::kNo || error == ECANCELED) close();  // the rest of the dump may still arrive
    return std::move(end);
  };
  const auto refused = [&](int error) {
    return is_temporary(error) ? ended(error, Broken::kAgain, "of " + error_text(error)) : ended(error);
  };
  if (const Status status = open(); !status.ok()) return ended(status.os_errno(), Broken::kForGood, status.message());
  const std::uint32_t number = stamp(message, NLM_F_DUMP);
  if (const Status status = send({reinterpret_cast<const char*>(message), message->nlmsg_len}); !status.ok()) {
    return ended(status.os_errno(), Broken::kForGood, status.message());
  }
  for (;;) {
    const long size = receive();
    if (size == -EAGAIN) return ended(ETIMEDOUT, Broken::kSilent, "its end did not arrive in time");
    if (size < 0 && is_temporary(static_cast<int>(-size))) return refused(static_cast<int>(-size));
    if (size < 0) {
      const Status status = give_up(static_cast<int>(-size), "receiving a dump: " + error_text(static_cast<int>(-size)));
      return ended(status.os_errno(), Broken::kForGood, status.message());
    }
    if (stop && stop()) return ended(ECANCELED);
    int left = static_cast<int>(size);
    auto* part = reinterpret_cast<nlmsghdr*>(buffer_.data());
    for (; nlmsg_ok(part, left); part = nlmsg_next(part, &left)) {
      if (part->nlmsg_pid != raw_socket_->port_id() || part->nlmsg_seq != number) continue;
      if ((part->nlmsg_flags & NLM_F_DUMP_INTR) != 0) end.interrupted = true;
      if (part->nlmsg_type == NLMSG_OVERRUN) return ended(ENOBUFS, Broken::kAgain, "replies were lost");
      if (part->nlmsg_type == NLMSG_ERROR) return refused(answer(part));
      if (part->nlmsg_type == NLMSG_DONE) {
        int result = 0;
        if (part->nlmsg_len >= NLMSG_LENGTH(sizeof(int))) result = *static_cast<const int*>(nlmsg_data(part));
        if (result == INT_MIN) result = -EPROTO;
        return refused(result < 0 ? -result : 0);
      }
      if (part->nlmsg_type >= NLMSG_MIN_TYPE && !visit(part)) return ended(ECANCELED);
    }
    if (size == 0 || left > 0) return ended(EMSGSIZE, Broken::kAgain, "a part of it was truncated");
  }
}

}  // namespace sluice::lib::netlink
