// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "test/unit/nftables/kernel/nft_socket.hpp"

#include <arpa/inet.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "plugins/nftables/kernel/attributes.hpp"

namespace sluice::nftables {
namespace {

constexpr std::uint16_t kType = NFNL_SUBSYS_NFTABLES << 8;

class NftSocket final : public lib::netlink::RawSocket {
 public:
  explicit NftSocket(NftLine& line) : line_(line) {
    ++line_.opened;
    line_.queue.clear();
  }

  ~NftSocket() override {
    if (line_.closed) line_.closed();
  }

  int send(std::string_view datagram) noexcept override {
    if (line_.send_error != 0) return std::exchange(line_.send_error, 0);
    std::deque<NftItem> answers;
    if (header_of(datagram).nlmsg_type == NFNL_MSG_BATCH_BEGIN) {
      transaction(datagram, answers);
    } else {
      request(datagram, answers);
    }
    if (line_.spoil) line_.spoil(answers);
    for (NftItem& answer : answers) line_.queue.push_back(std::move(answer));
    return 0;
  }

  long receive(std::span<char> into, std::chrono::milliseconds) noexcept override {
    std::deque<NftItem>& queue = listens_ ? line_.notifications : line_.queue;
    if (queue.empty()) return -EAGAIN;
    const NftItem item = std::move(queue.front());
    queue.pop_front();
    if (item.error != 0) return -item.error;
    item.bytes.copy(into.data(), into.size());
    return static_cast<long>(item.bytes.size());
  }

  std::uint32_t port_id() const noexcept override { return line_.port_id; }
  int set_membership(std::uint32_t group, bool on) noexcept override {
    listens_ = on;
    return line_.joined ? line_.joined(group, on) : 0;
  }
  int ignore_senders(std::span<const std::uint32_t> port_ids) noexcept override {
    line_.filtered_port_ids.assign(port_ids.begin(), port_ids.end());
    return 0;
  }

 private:
  static nlmsghdr header_of(std::string_view datagram) {
    nlmsghdr header{};
    std::memcpy(&header, datagram.data(), sizeof(header));
    return header;
  }

  std::string answer(std::uint32_t sequence, int error, std::uint32_t offset = 0) const {
    nlmsgerr body{};
    body.error = -error;
    std::string bytes(reinterpret_cast<const char*>(&body), sizeof(body));
    std::uint16_t flags = NLM_F_CAPPED;
    if (offset != 0) {
      AttributeWriter(bytes).put(NLMSGERR_ATTR_OFFS, &offset, sizeof(offset));
      flags |= NLM_F_ACK_TLVS;
    }
    return netlink_message(NLMSG_ERROR, flags, sequence, line_.port_id, bytes);
  }

  void transaction(std::string_view datagram, std::deque<NftItem>& answers) {
    ++line_.transactions;
    const std::uint32_t begin = header_of(datagram).nlmsg_seq;
    if (line_.whole_error != 0) {
      answers.push_back({answer(begin, std::exchange(line_.whole_error, 0)), 0});
      return;
    }
    std::vector<std::pair<int, std::string>> messages;
    bool refused = false, ended = false;
    while (!datagram.empty()) {
      const nlmsghdr header = header_of(datagram);
      const std::string_view body = datagram.substr(NLMSG_HDRLEN, header.nlmsg_len - NLMSG_HDRLEN);
      ended = ended || header.nlmsg_type == NFNL_MSG_BATCH_END;
      if (header.nlmsg_type >> 8 == NFNL_SUBSYS_NFTABLES) {
        const int kind = header.nlmsg_type & 0xff;
        const int error = line_.refuse ? line_.refuse(messages.size(), kind, body) : 0;
        refused = refused || error != 0;
        if (error != 0 || (header.nlmsg_flags & NLM_F_ACK) != 0) {
          answers.push_back({answer(header.nlmsg_seq, error, error != 0 ? line_.offset : 0), 0});
        }
        messages.emplace_back(kind, body);
      }
      datagram.remove_prefix(NLMSG_ALIGN(header.nlmsg_len));
    }
    if (messages.empty()) ++line_.empty;
    if (refused || !ended || messages.empty()) return;
    ++line_.generation;
    for (auto& [kind, body] : messages) line_.kept[kind].push_back(std::move(body));
  }

  void request(std::string_view datagram, std::deque<NftItem>& answers) {
    const nlmsghdr header = header_of(datagram);
    const int kind = header.nlmsg_type & 0xff;
    const std::string_view attributes = datagram.substr(NLMSG_HDRLEN + sizeof(nfgenmsg));
    const std::uint32_t sequence = header.nlmsg_seq;
    if (kind == NFT_MSG_GETGEN) {
      const nfgenmsg extra{};
      std::string body(reinterpret_cast<const char*>(&extra), sizeof(extra));
      AttributeWriter(body).put_be32(NFTA_GEN_ID, line_.next_generation ? line_.next_generation() : line_.generation);
      answers.push_back({netlink_message(kType | NFT_MSG_NEWGEN, 0, sequence, line_.port_id, body), 0});
      answers.push_back({answer(sequence, 0), 0});
    } else if (kind == NFT_MSG_GETTABLE || kind == NFT_MSG_GETFLOWTABLE) {
      const int new_kind = kind - 1;  // NEW… stands before GET…
      const auto type = static_cast<std::uint16_t>(kType | new_kind);
      for (const std::string& body : line_.kept[new_kind]) {
        answers.push_back({netlink_message(type, 0, sequence, line_.port_id, body), 0});
      }
      answers.push_back({answer(sequence, line_.kept[new_kind].empty() ? ENOENT : 0), 0});
    } else {
      ++line_.dumps;
      const int new_kind = kind - 1;  // NEW… stands before GET…
      for (const std::string& body : line_.kept[new_kind]) {
        const std::string_view set = find_attribute(attributes, NFTA_SET_ELEM_LIST_SET);
        if (kind == NFT_MSG_GETSETELEM &&
            text_of(find_attribute(std::string_view(body).substr(sizeof(nfgenmsg)), NFTA_SET_ELEM_LIST_SET)) != text_of(set)) {
          continue;
        }
        const auto type = static_cast<std::uint16_t>(kType | new_kind);
        answers.push_back({netlink_message(type, NLM_F_MULTI, sequence, line_.port_id, body), 0});
      }
      const int none = 0;
      answers.push_back({netlink_message(NLMSG_DONE, NLM_F_MULTI, sequence, line_.port_id,
                                         {reinterpret_cast<const char*>(&none), sizeof(none)}),
                         0});
    }
  }

  NftLine& line_;
  bool listens_ = false;
};

}  // namespace

netlink::OpenRawSocket NftLine::opener() {
  return [this] { return std::make_unique<NftSocket>(*this); };
}

std::string netlink_message(std::uint16_t type, std::uint16_t flags, std::uint32_t sequence, std::uint32_t port_id,
                            std::string_view body) {
  nlmsghdr header{};
  header.nlmsg_len = static_cast<std::uint32_t>(NLMSG_HDRLEN + body.size());
  header.nlmsg_type = type;
  header.nlmsg_flags = flags;
  header.nlmsg_seq = sequence;
  header.nlmsg_pid = port_id;
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  bytes += body;
  bytes.resize(NLMSG_ALIGN(bytes.size()));
  return bytes;
}

}  // namespace sluice::nftables
