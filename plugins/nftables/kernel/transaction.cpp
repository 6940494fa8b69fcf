// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/kernel/transaction.hpp"

#include <arpa/inet.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <span>
#include <utility>

#include "lib/netlink/error.hpp"
#include "plugins/common/netlink/error.hpp"
#include "plugins/nftables/kernel/attributes.hpp"
#include "plugins/nftables/kernel/table_kernel.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::nftables {
namespace {

constexpr std::size_t kAnswerBuffer = 16 * 1024;  // an answer has some 100 bytes

// Transient errors of a whole transaction: it can be retried at once.
bool is_retryable(int error) { return error == EAGAIN || error == EINTR || error == ERESTART; }

[[noreturn]] void throw_unknown_result(int error, const std::string& why) {
  throw sdk::Failure(abi::Code::kRetry, kNfTables,
                     "it is not known whether a transaction of nf_tables was carried out: " + why +
                         "; the table is read again",
                     error);
}

}  // namespace

TransactionSocket::TransactionSocket(abi::Family family, netlink::OpenRawSocket open, std::shared_ptr<OwnSenders> own,
                                     std::chrono::milliseconds timeout)
    : family_(family), open_(std::move(open)), own_(std::move(own)), timeout_(timeout), buffer_(kAnswerBuffer) {}

void TransactionSocket::open() {
  if (socket_) return;
  std::unique_ptr<lib::netlink::RawSocket> socket = open_();
  own_->opened(socket->port_id());
  socket_ = std::move(socket);
}

// The kernel increments the generation and then sends notifications, both under a lock that each batch takes. An
// empty batch does nothing else and has no answer.
void TransactionSocket::flush_notifications() {
  open();
  struct {
    nlmsghdr header;
    nfgenmsg extra;
  } batch[2]{};
  for (auto& message : batch) {
    message.header.nlmsg_len = sizeof(message);
    message.header.nlmsg_flags = NLM_F_REQUEST;
    message.header.nlmsg_seq = ++sequence_;
    message.extra.res_id = htons(NFNL_SUBSYS_NFTABLES);
  }
  batch[0].header.nlmsg_type = NFNL_MSG_BATCH_BEGIN;
  batch[1].header.nlmsg_type = NFNL_MSG_BATCH_END;
  const int error = socket_->send({reinterpret_cast<const char*>(batch), sizeof(batch)});
  if (error == 0) return;
  close();
  netlink::fail(error, kNfTables, "cannot send to nf_tables");
}

void TransactionSocket::close() noexcept {
  if (socket_) own_->closing(socket_->port_id());
  socket_.reset();
}

std::vector<Refusal> TransactionSocket::run(const Batch& batch, const std::string& table, Mode mode) {
  EncodeOptions options;
  options.table = table;
  options.with_end = mode == Mode::kCommit;
  Encoded encoded;
  const Answers answers = send_with_retry(batch, options, encoded);
  if (answers.whole == 0)
    return answers.refused.empty() ? std::vector<Refusal>() : name_refusals(batch, table, encoded, answers);
  if (netlink::code_of(answers.whole) != abi::Code::kKernel) {
    netlink::fail(answers.whole, kNfTables, "the kernel does not take a transaction of nf_tables");
  }
  return {{0, answers.whole, "the transaction as a whole"}};
}

TransactionSocket::Answers TransactionSocket::send_with_retry(const Batch& batch, EncodeOptions options,
                                                              Encoded& encoded) {
  Answers answers;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    options.sequence = sequence_ + 1;
    encoded = encode(family_, batch, options);
    sequence_ = encoded.last() + 1;
    answers = exchange(encoded);
    if (!is_retryable(answers.whole)) break;
  }
  return answers;
}

// The kernel processes a batch within send(), so all answers are queued then, unless the buffer overflowed. The last
// message is always acknowledged (Encoder::run), so silence is never success.
TransactionSocket::Answers TransactionSocket::exchange(const Encoded& encoded) {
  open();
  int error = socket_->grow_send_buffer(encoded.bytes.size());
  if (error == 0) error = socket_->send(encoded.bytes);
  if (error != 0) {
    close();
    if (error == EMSGSIZE) {
      throw sdk::Failure(abi::Code::kKernel, kNfTables,
                         "a transaction of " + std::to_string(encoded.bytes.size()) +
                             " bytes does not fit into one message to nf_tables; it needs the capability CAP_NET_ADMIN in the user "
                             "namespace of its network namespace, or a higher net.core.wmem_max",
                         error);
    }
    netlink::fail(error, kNfTables, "cannot send a transaction of " + std::to_string(encoded.bytes.size()) + " bytes to nf_tables");
  }
  bytes_ += encoded.bytes.size();

  Answers answers;
  bool lost = false;  // some answers; earlier ones can still be read
  for (;;) {
    const long size = socket_->receive(std::span<char>(buffer_), lost ? std::chrono::milliseconds(0) : timeout_);
    if (size == -EINTR) continue;
    if (size == -ENOBUFS && !lost) {
      lost = true;
      continue;
    }
    int why = EPROTO;
    std::string words = "an answer of " + std::to_string(size) + " bytes was cut off";
    if (size >= 0 && size <= static_cast<long>(buffer_.size())) {
      const Read got = read({buffer_.data(), static_cast<std::size_t>(size)}, encoded, answers);
      if (got == Read::kMore) continue;
      if (got == Read::kAll && !lost) return answers;
    } else if (size < 0) {
      why = size == -EAGAIN ? ETIMEDOUT : static_cast<int>(-size);
      words = size == -EAGAIN ? "no answer came within " + std::to_string(timeout_.count()) + " ms"
                              : lib::netlink::error_text(why);
    }
    close();  // late answers must not be read by the next transaction
    // One refusal proves that nothing was committed.
    if (!answers.refused.empty() || answers.whole != 0) return answers;
    if (lost) throw_unknown_result(ENOBUFS, "answers were lost, " + lib::netlink::error_text(ENOBUFS));
    throw_unknown_result(why, words);
  }
}

TransactionSocket::Read TransactionSocket::read(std::string_view datagram, const Encoded& encoded, Answers& answers) {
  while (datagram.size() >= sizeof(nlmsghdr)) {
    const auto* const message = reinterpret_cast<const nlmsghdr*>(datagram.data());
    if (message->nlmsg_len < sizeof(nlmsghdr) || message->nlmsg_len > datagram.size()) return Read::kBroken;
    if (take(message, encoded, answers)) return Read::kAll;
    datagram.remove_prefix(std::min<std::size_t>(NLMSG_ALIGN(message->nlmsg_len), datagram.size()));
  }
  return datagram.empty() ? Read::kMore : Read::kBroken;
}

// Returns true for the last answer.
bool TransactionSocket::take(const nlmsghdr* message, const Encoded& encoded, Answers& answers) {
  if (message->nlmsg_type != NLMSG_ERROR || message->nlmsg_pid != socket_->port_id()) return false;
  const std::uint32_t part = message->nlmsg_seq - encoded.first;
  const bool whole = message->nlmsg_seq == encoded.first - 1;
  if (!whole && part >= encoded.parts.size()) return false;
  nlmsgerr body{};
  int error = EPROTO;
  if (message->nlmsg_len >= NLMSG_LENGTH(sizeof(body))) {
    std::memcpy(&body, reinterpret_cast<const char*>(message) + NLMSG_HDRLEN, sizeof(body));
    if (body.error <= 0 && body.error != INT_MIN) error = -body.error;
  }
  if (whole) {
    // An error of the whole batch, such as ENOMEM. Earlier refusals do not matter any more.
    if (error == 0) return false;
    answers.whole = error;
    return true;
  }
  const bool last = part + 1 == encoded.parts.size();
  if (error == 0) return last;
  std::uint32_t offset = 0;
  if ((message->nlmsg_flags & NLM_F_ACK_TLVS) != 0) {
    std::size_t skip = NLMSG_HDRLEN + sizeof(body);
    if ((message->nlmsg_flags & NLM_F_CAPPED) == 0) skip += NLMSG_ALIGN(body.msg.nlmsg_len) - sizeof(nlmsghdr);
    if (skip < message->nlmsg_len) {
      const std::string_view words(reinterpret_cast<const char*>(message) + skip, message->nlmsg_len - skip);
      const std::string_view value = find_attribute(words, NLMSGERR_ATTR_OFFS);
      if (value.size() == sizeof(offset)) std::memcpy(&offset, value.data(), sizeof(offset));
    }
  }
  answers.refused.push_back({part, error, offset});
  return last;
}

// The kernel stops at the first refused element of a message, and kernels before 5.19 do not name it. So the batch is
// sent again without an end message, with a message for each of these elements.
std::vector<Refusal> TransactionSocket::name_refusals(const Batch& batch, const std::string& table,
                                                      const Encoded& encoded, const Answers& answers) {
  std::vector<bool> alone(encoded.order.size(), false);
  std::size_t count = 0;
  for (const Answer& answer : answers.refused) {
    const Encoded::Part& part = encoded.parts[answer.part];
    if (part.kind != Encoded::Kind::kElements || part.count == 1 || count + part.count > kMostAlone) continue;
    count += part.count;
    std::fill_n(alone.begin() + part.index, part.count, true);
  }
  std::vector<std::pair<std::uint32_t, int>> elements;  // position in `order`, errno
  if (count != 0) {
    EncodeOptions options;
    options.table = table;
    options.with_end = false;
    options.alone = &alone;
    Encoded again;
    Answers by_element;
    try {
      by_element = send_with_retry(batch, options, again);
    } catch (const sdk::Failure&) {
      // The refusals known so far are enough.
    }
    for (const Answer& answer : by_element.refused) {
      const Encoded::Part& part = again.parts[answer.part];
      if (part.kind == Encoded::Kind::kElements && part.count == 1 && alone[part.index]) {
        elements.emplace_back(part.index, answer.error);
      }
    }
  }

  std::vector<Refusal> refusals;
  const auto refuse = [&](std::uint32_t position, int error) {
    Encoded::Part single{Encoded::Kind::kElements, position, 1, 0};
    refusals.push_back({batch.elements[encoded.order[position]].owner, error, describe(family_, batch, encoded, single)});
  };
  for (const Answer& answer : answers.refused) {
    const Encoded::Part& part = encoded.parts[answer.part];
    if (part.kind != Encoded::Kind::kElements) {
      refusals.push_back({0, answer.error, describe(family_, batch, encoded, part)});
      continue;
    }
    const std::size_t before = refusals.size();
    for (const auto& [position, error] : elements) {
      if (position >= part.index && position < part.index + part.count) refuse(position, error);
    }
    if (refusals.size() != before) continue;
    std::size_t position = part.index;
    if (part.count > 1) position = encoded.element_at(part, answer.offset);
    if (position < part.index + part.count) {
      refuse(static_cast<std::uint32_t>(position), answer.error);
    } else {
      refusals.push_back({0, answer.error, "one of " + describe(family_, batch, encoded, part)});
    }
  }
  return refusals;
}

}  // namespace sluice::nftables
