// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/kernel/encoder.hpp"

#include <arpa/inet.h>
#include <endian.h>
#include <libnftnl/udata.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "plugins/nftables/kernel/attributes.hpp"
#include "plugins/nftables/layout/layout.hpp"

namespace sluice::nftables {
namespace {

// An element list is one attribute, whose length has 16 bits. The longest element with its comment has less than 512
// bytes.
constexpr std::size_t kListRoom = 65535 - 512;
constexpr char kTableComment[] = "rules for kube-proxy";

class Encoder {
 public:
  Encoder(abi::Family family, const Batch& batch, const EncodeOptions& options)
      : batch_(batch), options_(options), ip_(family), family_(protocol_family(family)), put_(encoded_.bytes) {}

  Encoded run() {
    // Elements take most of the space. Reserve once, to avoid copies.
    encoded_.bytes.reserve(4096 + batch_.elements.size() * 160);
    sequence_ = options_.sequence;
    open(NFNL_MSG_BATCH_BEGIN, 0, AF_UNSPEC, NFNL_SUBSYS_NFTABLES);
    close();
    encoded_.first = sequence_;
    if (batch_.delete_table) table(Encoded::Kind::kDeleteTable, NFT_MSG_DELTABLE, 0);
    if (batch_.create_table) table(Encoded::Kind::kCreateTable, NFT_MSG_NEWTABLE, NLM_F_CREATE | NLM_F_EXCL);
    for (std::uint32_t i = 0; i < batch_.create_sets.size(); ++i) set(i);
    if (batch_.create_flowtable) flowtable(Encoded::Kind::kFlowtable, NFT_MSG_NEWFLOWTABLE, {});
    for (std::uint32_t i = 0; i < batch_.chains.size(); ++i) chain(i);
    for (const bool remove : {true, false}) {
      for (std::uint32_t i = 0; i < batch_.dispatch.size(); ++i) {
        if (batch_.dispatch[i].remove == remove) dispatch(i);
      }
    }
    elements();
    clients();
    // All chains are emptied before the first one is deleted, as they may refer to each other.
    for (std::uint32_t i = 0; i < batch_.remove_chains.size(); ++i) {
      begin(Encoded::Kind::kEmpty, i, 0, NFT_MSG_DELRULE, 0);
      put_.put_text(NFTA_RULE_TABLE, options_.table);
      put_.put_text(NFTA_RULE_CHAIN, batch_.remove_chains[i]);
      close();
    }
    for (std::uint32_t i = 0; i < batch_.remove_chains.size(); ++i) {
      begin(Encoded::Kind::kRemove, i, 0, NFT_MSG_DELCHAIN, 0);
      put_.put_text(NFTA_CHAIN_TABLE, options_.table);
      put_.put_text(NFTA_CHAIN_NAME, batch_.remove_chains[i]);
      close();
    }
    if (!batch_.remove_interfaces.empty()) {
      flowtable(Encoded::Kind::kRemoveInterfaces, NFT_MSG_DELFLOWTABLE, batch_.remove_interfaces);
    }
    if (!batch_.add_interfaces.empty()) {
      flowtable(Encoded::Kind::kAddInterfaces, NFT_MSG_NEWFLOWTABLE, batch_.add_interfaces);
    }
    // The acknowledgement of the last message ends the answers: the kernel sends errors in the order of the messages
    // once it has processed the whole batch, and sends nothing on success otherwise.
    if (!encoded_.parts.empty()) {
      nlmsghdr header;
      char* const last = encoded_.bytes.data() + encoded_.parts.back().at;
      std::memcpy(&header, last, sizeof(header));
      header.nlmsg_flags |= NLM_F_ACK;
      std::memcpy(last, &header, sizeof(header));
    }
    if (options_.with_end) {
      open(NFNL_MSG_BATCH_END, 0, AF_UNSPEC, NFNL_SUBSYS_NFTABLES);
      close();
    }
    return std::move(encoded_);
  }

 private:
  void open(std::uint16_t type, std::uint16_t flags, std::uint8_t family, std::uint16_t resource) {
    at_ = encoded_.bytes.size();
    nlmsghdr header{};
    header.nlmsg_type = type;
    header.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
    header.nlmsg_seq = sequence_++;
    nfgenmsg extra{};
    extra.nfgen_family = family;
    extra.version = NFNETLINK_V0;
    extra.res_id = htons(resource);
    encoded_.bytes.append(reinterpret_cast<const char*>(&header), sizeof(header));
    encoded_.bytes.append(reinterpret_cast<const char*>(&extra), sizeof(extra));
  }
  void close() {
    const auto size = static_cast<std::uint32_t>(encoded_.bytes.size() - at_);
    std::memcpy(encoded_.bytes.data() + at_, &size, sizeof(size));
  }
  void begin(Encoded::Kind kind, std::uint32_t index, std::uint32_t count, int message, std::uint16_t flags) {
    encoded_.parts.push_back({kind, index, count, encoded_.bytes.size()});
    open(message_type(message), flags, family_, 0);
  }

  // In the format of nft: type, length, text with its NUL.
  void comment(std::uint16_t type, std::uint8_t kind, std::string_view text) {
    if (text.empty()) return;
    std::array<char, 2 + kCommentRoom + 1> value{};
    const std::size_t size = text.copy(value.data() + 2, kCommentRoom);
    value[0] = static_cast<char>(kind);
    value[1] = static_cast<char>(size + 1);
    put_.put(type, value.data(), 2 + size + 1);
  }

  void table(Encoded::Kind kind, int message, std::uint16_t flags) {
    begin(kind, 0, 0, message, flags);
    put_.put_text(NFTA_TABLE_NAME, options_.table);
    if (kind == Encoded::Kind::kCreateTable) {
      put_.put_be32(NFTA_TABLE_FLAGS, 0);
      comment(NFTA_TABLE_USERDATA, NFTNL_UDATA_TABLE_COMMENT, kTableComment);
    }
    close();
  }

  void set(std::uint32_t index) {
    const SetSpec& spec = batch_.create_sets[index];
    begin(Encoded::Kind::kSet, index, 0, NFT_MSG_NEWSET, NLM_F_CREATE | NLM_F_EXCL);
    put_.put_text(NFTA_SET_TABLE, options_.table);
    put_.put_text(NFTA_SET_NAME, spec.name);
    put_.put_be32(NFTA_SET_FLAGS, spec.flags);
    put_.put_be32(NFTA_SET_KEY_TYPE, spec.key_type);
    put_.put_be32(NFTA_SET_KEY_LEN, spec.key_size);
    if (spec.is_map()) {
      put_.put_be32(NFTA_SET_DATA_TYPE, spec.data_type);
      put_.put_be32(NFTA_SET_DATA_LEN, spec.data_size);
    }
    put_.put_be32(NFTA_SET_ID, index + 1);
    if (spec.capacity != 0) {
      const std::size_t nest = put_.begin_nest(NFTA_SET_DESC);
      put_.put_be32(NFTA_SET_DESC_SIZE, spec.capacity);
      put_.end_nest(nest);
    }
    if (spec.timeout_ms != 0) {
      const std::uint64_t timeout = htobe64(spec.timeout_ms);
      put_.put(NFTA_SET_TIMEOUT, &timeout, sizeof(timeout));
    }
    if (!spec.userdata.empty()) put_.put(NFTA_SET_USERDATA, spec.userdata.data(), spec.userdata.size());
    if (spec.counters) {
      const std::size_t nest = put_.begin_nest(NFTA_SET_EXPR);
      put_.put_text(NFTA_EXPR_NAME, "counter");
      put_.end_nest(put_.begin_nest(NFTA_EXPR_DATA));
      put_.end_nest(nest);
    }
    close();
  }

  void flowtable(Encoded::Kind kind, int message, const std::vector<std::string>& interfaces) {
    begin(kind, 0, static_cast<std::uint32_t>(interfaces.size()), message, message == NFT_MSG_NEWFLOWTABLE ? NLM_F_CREATE : 0);
    put_.put_text(NFTA_FLOWTABLE_TABLE, options_.table);
    put_.put_text(NFTA_FLOWTABLE_NAME, kFlowtableName);
    const std::size_t hook = put_.begin_nest(NFTA_FLOWTABLE_HOOK);
    put_.put_be32(NFTA_FLOWTABLE_HOOK_NUM, NF_NETDEV_INGRESS);
    put_.put_be32(NFTA_FLOWTABLE_HOOK_PRIORITY, 0);
    if (!interfaces.empty()) {
      const std::size_t list = put_.begin_nest(NFTA_FLOWTABLE_HOOK_DEVS);
      for (const std::string& name : interfaces) put_.put_text(NFTA_DEVICE_NAME, name);
      put_.end_nest(list);
    }
    put_.end_nest(hook);
    close();
  }

  void chain(std::uint32_t index) {
    const ChainWrite& write = batch_.chains[index];
    if (write.create) {
      begin(Encoded::Kind::kChain, index, 0, NFT_MSG_NEWCHAIN, NLM_F_CREATE | NLM_F_EXCL);
      put_.put_text(NFTA_CHAIN_TABLE, options_.table);
      put_.put_text(NFTA_CHAIN_NAME, write.spec.name);
      if (write.spec.is_base) {
        const std::size_t nest = put_.begin_nest(NFTA_CHAIN_HOOK);
        put_.put_be32(NFTA_HOOK_HOOKNUM, write.spec.hook.hook);
        put_.put_be32(NFTA_HOOK_PRIORITY, static_cast<std::uint32_t>(write.spec.hook.priority));
        put_.end_nest(nest);
        put_.put_be32(NFTA_CHAIN_POLICY, NF_ACCEPT);
        put_.put_text(NFTA_CHAIN_TYPE, write.spec.hook.type);
      }
      comment(NFTA_CHAIN_USERDATA, NFTNL_UDATA_CHAIN_COMMENT, write.spec.comment);
      close();
    } else {
      begin(Encoded::Kind::kClear, index, 0, NFT_MSG_DELRULE, 0);
      put_.put_text(NFTA_RULE_TABLE, options_.table);
      put_.put_text(NFTA_RULE_CHAIN, write.spec.name);
      close();
    }
    for (std::uint32_t i = 0; i < write.spec.rules.size(); ++i) {
      const Rule& rule = write.spec.rules[i];
      begin(Encoded::Kind::kRule, index, i, NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND);
      put_.put_text(NFTA_RULE_TABLE, options_.table);
      put_.put_text(NFTA_RULE_CHAIN, write.spec.name);
      put_.put(NFTA_RULE_EXPRESSIONS | NLA_F_NESTED, rule.expressions.data(), rule.expressions.size());
      comment(NFTA_RULE_USERDATA, NFTNL_UDATA_RULE_COMMENT, rule.comment);
      close();
    }
  }

  void list_head(std::string_view name) {
    put_.put_text(NFTA_SET_ELEM_LIST_TABLE, options_.table);
    put_.put_text(NFTA_SET_ELEM_LIST_SET, name);
  }
  void key(const void* bytes, std::size_t size) {
    const std::size_t nest = put_.begin_nest(NFTA_SET_ELEM_KEY);
    put_.put(NFTA_DATA_VALUE, bytes, size);
    put_.end_nest(nest);
  }

  void dispatch(std::uint32_t index) {
    const DispatchWrite& write = batch_.dispatch[index];
    begin(Encoded::Kind::kDispatch, index, 0, write.remove ? NFT_MSG_DELSETELEM : NFT_MSG_NEWSETELEM,
          write.remove ? 0 : NLM_F_CREATE);
    list_head(write.firewall ? firewall_chains_spec(ip_).name : service_chains_spec(ip_).name);
    const std::size_t list = put_.begin_nest(NFTA_SET_ELEM_LIST_ELEMENTS);
    const std::size_t element = put_.begin_nest(NFTA_LIST_ELEM);
    key(&write.number, sizeof(write.number));
    if (!write.remove) {
      const std::size_t data = put_.begin_nest(NFTA_SET_ELEM_DATA);
      const std::size_t verdict = put_.begin_nest(NFTA_DATA_VERDICT);
      put_.put_be32(NFTA_VERDICT_CODE, static_cast<std::uint32_t>(NFT_GOTO));
      put_.put_text(NFTA_VERDICT_CHAIN, write.chain);
      put_.end_nest(verdict);
      put_.end_nest(data);
    }
    put_.end_nest(element);
    put_.end_nest(list);
    close();
  }

  void elements() {
    // Removals first, then by set: a counting sort, which keeps the order within a set.
    constexpr std::size_t kGroups = 2 * kSetCount;
    const auto group = [](const ElementWrite& write) { return (write.remove ? 0 : kSetCount) + index(write.record.set); };
    std::array<std::uint32_t, kGroups + 1> from{};
    for (const ElementWrite& write : batch_.elements) ++from[group(write) + 1];
    for (std::size_t i = 0; i < kGroups; ++i) from[i + 1] += from[i];
    encoded_.order.resize(batch_.elements.size());
    std::array<std::uint32_t, kGroups + 1> next = from;
    for (std::uint32_t i = 0; i < batch_.elements.size(); ++i) encoded_.order[next[group(batch_.elements[i])]++] = i;

    for (std::size_t i = 0; i < kGroups; ++i) {
      if (from[i] != from[i + 1]) elements(from[i], from[i + 1]);
    }
  }

  // Positions in `order`, all of one set, and either all added or all removed.
  void elements(std::uint32_t from, std::uint32_t to) {
    const ElementWrite& any = batch_.elements[encoded_.order[from]];
    const std::string name = set_name(ip_, any.record.set);
    const auto alone = [&](std::uint32_t at) { return options_.alone != nullptr && (*options_.alone)[at]; };
    while (from < to) {
      begin(Encoded::Kind::kElements, from, 0, any.remove ? NFT_MSG_DELSETELEM : NFT_MSG_NEWSETELEM,
            any.remove ? 0 : NLM_F_CREATE);
      list_head(name);
      const std::size_t list = put_.begin_nest(NFTA_SET_ELEM_LIST_ELEMENTS);
      const std::uint32_t first = from;
      do {
        element(batch_.elements[encoded_.order[from]]);
        ++from;
      } while (from < to && !alone(first) && !alone(from) && encoded_.bytes.size() - list < kListRoom);
      put_.end_nest(list);
      close();
      encoded_.parts.back().count = from - first;
    }
  }

  void clients() {
    const std::string name = affinity_spec(ip_, 0).name;
    for (std::uint32_t next = 0; next < batch_.clients.size();) {
      const std::uint32_t first = next;
      begin(Encoded::Kind::kClients, first, 0, NFT_MSG_NEWSETELEM, NLM_F_CREATE);
      list_head(name);
      const std::size_t list = put_.begin_nest(NFTA_SET_ELEM_LIST_ELEMENTS);
      do {
        client(batch_.clients[next++]);
      } while (next < batch_.clients.size() && encoded_.bytes.size() - list < kListRoom);
      put_.end_nest(list);
      close();
      encoded_.parts.back().count = next - first;
    }
  }

  void client(const RememberedClient& write) {
    const std::size_t nest = put_.begin_nest(NFTA_LIST_ELEM);
    const Key bytes = affinity_key(ip_, write.id, write.client);
    key(bytes.data(), bytes.size());
    const std::size_t data = put_.begin_nest(NFTA_SET_ELEM_DATA);
    put_.put(NFTA_DATA_VALUE, &write.token, sizeof(write.token));
    put_.end_nest(data);
    const auto milliseconds = [&](std::uint16_t type, std::uint32_t seconds) {
      const std::uint64_t value = htobe64(std::uint64_t{1000} * seconds);
      put_.put(type, &value, sizeof(value));
    };
    milliseconds(NFTA_SET_ELEM_TIMEOUT, write.seconds);
    milliseconds(NFTA_SET_ELEM_EXPIRATION, write.remaining);
    put_.end_nest(nest);
  }

  void element(const ElementWrite& write) {
    const std::size_t nest = put_.begin_nest(NFTA_LIST_ELEM);
    key(write.record.key.data(), write.record.key.size());
    if (!write.remove) {
      if (!write.record.data.empty()) {
        const std::size_t data = put_.begin_nest(NFTA_SET_ELEM_DATA);
        put_.put(NFTA_DATA_VALUE, write.record.data.data(), write.record.data.size());
        put_.end_nest(data);
      }
      comment(NFTA_SET_ELEM_USERDATA, NFTNL_UDATA_SET_ELEM_COMMENT, write.comment);
    }
    put_.end_nest(nest);
  }

  const Batch& batch_;
  const EncodeOptions& options_;
  abi::Family ip_;
  std::uint8_t family_;
  Encoded encoded_;
  AttributeWriter put_;
  std::uint32_t sequence_ = 0;
  std::size_t at_ = 0;
};

}  // namespace

std::uint8_t protocol_family(abi::Family family) noexcept {
  return family == abi::Family::kIpv6 ? NFPROTO_IPV6 : NFPROTO_IPV4;
}

std::uint16_t message_type(int message) noexcept {
  return static_cast<std::uint16_t>((NFNL_SUBSYS_NFTABLES << 8) | message);
}

std::string make_request_body(abi::Family family, std::string_view attributes) {
  nfgenmsg header{};
  header.nfgen_family = protocol_family(family);
  header.version = NFNETLINK_V0;
  std::string body(reinterpret_cast<const char*>(&header), sizeof(header));
  body.append(attributes);
  return body;
}

Encoded encode(abi::Family family, const Batch& batch, const EncodeOptions& options) {
  return Encoder(family, batch, options).run();
}

std::size_t Encoded::element_at(const Part& part, std::size_t offset) const noexcept {
  std::uint32_t size = 0;
  std::memcpy(&size, bytes.data() + part.at, sizeof(size));
  const std::string_view message(bytes.data() + part.at, size);
  constexpr std::size_t kBefore = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(nfgenmsg));
  const std::string_view list = find_attribute(message.substr(kBefore), NFTA_SET_ELEM_LIST_ELEMENTS);
  std::size_t found = part.index + part.count;
  std::size_t position = part.index;
  each_attribute(list, [&](std::uint16_t, std::string_view value) {
    const auto begin = static_cast<std::size_t>(value.data() - message.data()) - NLA_HDRLEN;
    if (offset >= begin && offset < begin + NLA_HDRLEN + value.size()) found = position;
    ++position;
  });
  return found;
}

}  // namespace sluice::nftables
