// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/netlink/socket.hpp"

#include <netlink/attr.h>
#include <netlink/msg.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <span>
#include <utility>

#include "plugins/common/netlink/error.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::netlink {
namespace {

// The kernel sends dumps in datagrams of at most this size; a larger single reply grows the buffer.
constexpr std::size_t kFirstBuffer = 64 * 1024;

nlmsghdr* header_of(const Message& message) { return nlmsg_hdr(message.get()); }

}  // namespace

Socket::Socket(int protocol, std::string what)
    : Socket([protocol] { return open_kernel(protocol); }, std::move(what)) {}

Socket::Socket(OpenWire open, std::string what, std::chrono::milliseconds patience)
    : open_(std::move(open)), what_(std::move(what)), patience_(patience), buffer_(kFirstBuffer) {}

Socket::~Socket() = default;

Wire& Socket::wire() {
  if (!wire_) wire_ = open_();
  return *wire_;
}

void Socket::close() noexcept { wire_.reset(); }

void Socket::give_up(int error, const std::string& why) {
  close();
  throw sdk::Failure(code_of(error), what_, "the exchange with " + what_ + " failed: " + why, error);
}

std::uint32_t Socket::stamp(nlmsghdr* header, int flags) {
  if (++sequence_ == 0) ++sequence_;  // notifications have 0
  header->nlmsg_seq = sequence_;
  header->nlmsg_pid = wire().port();
  header->nlmsg_flags = static_cast<std::uint16_t>(header->nlmsg_flags | NLM_F_REQUEST | flags);
  return sequence_;
}

void Socket::send(std::string_view datagram) {
  const int error = wire().send(datagram);
  if (error != 0) give_up(error, "sending " + std::to_string(datagram.size()) + " bytes: " + error_text(error));
  ++datagrams_;
}

long Socket::receive() {
  long size = -EINTR;
  while (size == -EINTR) size = wire().receive(std::span<char>(buffer_), patience_);
  if (size > static_cast<long>(buffer_.size())) {
    buffer_.resize(static_cast<std::size_t>(size));  // for the next try
    return -ENOBUFS;
  }
  return size;
}

// The errno of an NLMSG_ERROR message, 0 for an acknowledgement.
int Socket::answer(nlmsghdr* header) {
  if (header->nlmsg_len < NLMSG_LENGTH(sizeof(nlmsgerr))) return EPROTO;
  const auto* const error = static_cast<const nlmsgerr*>(nlmsg_data(header));
  if (error->error == 0) return 0;
  reason_.clear();
  if ((header->nlmsg_flags & NLM_F_ACK_TLVS) != 0) {
    std::size_t skip = sizeof(nlmsgerr);
    if ((header->nlmsg_flags & NLM_F_CAPPED) == 0) skip += NLMSG_ALIGN(error->msg.nlmsg_len) - sizeof(nlmsghdr);
    const nlattr* const words = header->nlmsg_len > NLMSG_HDRLEN + skip
                                    ? nlmsg_find_attr(header, static_cast<int>(skip), NLMSGERR_ATTR_MSG)
                                    : nullptr;
    if (words != nullptr && nla_len(words) > 0) {
      const auto* const text = static_cast<const char*>(nla_data(words));
      reason_.assign(text, std::find(text, text + nla_len(words), '\0'));
    }
  }
  return error->error < 0 && error->error != INT_MIN ? -error->error : EPROTO;
}

void Socket::take_answers(std::uint32_t first, std::size_t count, int* answers, const Take& take) {
  constexpr int kNone = -1;
  std::fill_n(answers, count, kNone);
  for (std::size_t missing = count; missing > 0;) {
    const long size = receive();
    if (size == -EAGAIN) {
      give_up(ETIMEDOUT, std::to_string(missing) + " of " + std::to_string(count) + " requests were not answered within " +
                             std::to_string(patience_.count()) + " ms");
    }
    if (size < 0) give_up(static_cast<int>(-size), "receiving an answer: " + error_text(static_cast<int>(-size)));
    int left = static_cast<int>(size);
    auto* message = reinterpret_cast<nlmsghdr*>(buffer_.data());
    for (; nlmsg_ok(message, left); message = nlmsg_next(message, &left)) {
      const std::size_t index = message->nlmsg_seq - first;
      if (message->nlmsg_pid != wire_->port() || index >= count) continue;
      if (message->nlmsg_type == NLMSG_OVERRUN) give_up(ENOBUFS, "the kernel reports lost replies (NLMSG_OVERRUN)");
      if (message->nlmsg_type == NLMSG_ERROR) {
        if (answers[index] == kNone) --missing;
        answers[index] = answer(message);
      } else if (message->nlmsg_type >= NLMSG_MIN_TYPE && take) {
        take(message);
      }
    }
    if (size == 0 || left > 0) give_up(EAGAIN, "a reply of " + std::to_string(size) + " bytes was truncated");
  }
}

int Socket::request(const Message& message, const Take& take) {
  nlmsghdr* const header = header_of(message);
  const std::uint32_t first = stamp(header, NLM_F_ACK);
  send(bytes(message));
  ++requests_;
  int error = 0;
  take_answers(first, 1, &error, take);
  return error;
}

std::vector<int> Socket::batch(std::size_t count, const std::function<Message(std::size_t index)>& make) {
  std::vector<int> answers(count);
  std::string datagram;
  std::size_t begun = 0;  // the first request of this datagram
  std::uint32_t first = 0;
  const auto flush = [&](std::size_t end) {
    if (end == begun) return;
    send(datagram);
    requests_ += end - begun;
    take_answers(first, end - begun, answers.data() + begun, {});
    datagram.clear();
    begun = end;
  };
  for (std::size_t i = 0; i < count; ++i) {
    const Message message = make(i);
    if (i - begun >= kWindow || datagram.size() + bytes(message).size() > kDatagram) flush(i);
    const std::uint32_t number = stamp(header_of(message), NLM_F_ACK);
    if (i == begun) first = number;
    datagram.append(bytes(message));
    datagram.resize(NLMSG_ALIGN(datagram.size()));
  }
  flush(count);
  return answers;
}

int Socket::dump(const Message& message, const std::function<void()>& begin, const Take& take, InterruptibleDump* loose) {
  std::string why;
  int silences = 0;
  for (int attempt = 0; attempt < kTries && silences < 2; ++attempt) {
    begin();
    Broken broken = Broken::kNo;
    const int error = try_dump(message, take, loose, broken, why);
    if (broken == Broken::kNo) return error;
    if (broken == Broken::kSilent) ++silences;
  }
  give_up(EAGAIN, "a dump failed repeatedly, the last time because " + why);
}

int Socket::try_dump(const Message& message, const Take& take, InterruptibleDump* loose, Broken& broken, std::string& why) {
  const std::uint32_t number = stamp(header_of(message), NLM_F_DUMP);
  send(bytes(message));
  bool changed = false;
  const auto again = [&](Broken how, std::string reason) {
    close();  // the rest of the dump may still arrive
    broken = how;
    why = std::move(reason);
    return 0;
  };
  for (;;) {
    const long size = receive();
    if (size == -EAGAIN) return again(Broken::kSilent, "its end did not arrive in time");
    if (size < 0 && code_of(static_cast<int>(-size)) == abi::Code::kRetry) {
      return again(Broken::kAgain, "of " + error_text(static_cast<int>(-size)));
    }
    if (size < 0) give_up(static_cast<int>(-size), "receiving a dump: " + error_text(static_cast<int>(-size)));
    if (loose != nullptr && loose->stop && loose->stop()) {
      close();
      return ECANCELED;
    }
    int left = static_cast<int>(size);
    auto* message_in = reinterpret_cast<nlmsghdr*>(buffer_.data());
    for (; nlmsg_ok(message_in, left); message_in = nlmsg_next(message_in, &left)) {
      if (message_in->nlmsg_pid != wire_->port() || message_in->nlmsg_seq != number) continue;
      if ((message_in->nlmsg_flags & NLM_F_DUMP_INTR) != 0) changed = true;
      if (message_in->nlmsg_type == NLMSG_OVERRUN) return again(Broken::kAgain, "replies were lost");
      if (message_in->nlmsg_type == NLMSG_ERROR) {
        const int error = answer(message_in);
        return code_of(error) == abi::Code::kRetry ? again(Broken::kAgain, "of " + error_text(error)) : error;
      }
      if (message_in->nlmsg_type == NLMSG_DONE) {
        int result = 0;
        if (message_in->nlmsg_len >= NLMSG_LENGTH(sizeof(int))) result = *static_cast<const int*>(nlmsg_data(message_in));
        if (result == INT_MIN) result = -EPROTO;
        if (result < 0 && code_of(-result) == abi::Code::kRetry) return again(Broken::kAgain, "of " + error_text(-result));
        if (changed && loose == nullptr) return again(Broken::kAgain, "the data changed meanwhile");
        if (loose != nullptr) loose->interrupted = changed;
        return result < 0 ? -result : 0;
      }
      if (message_in->nlmsg_type >= NLMSG_MIN_TYPE) take(message_in);
    }
    if (size == 0 || left > 0) return again(Broken::kAgain, "a part of it was truncated");
  }
}

}  // namespace sluice::netlink
