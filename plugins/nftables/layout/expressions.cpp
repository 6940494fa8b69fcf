// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/layout/expressions.hpp"

// clang-format off
#include <netinet/in.h>  // before <linux/netfilter.h>, which defines the same otherwise
// clang-format on

#include <libmnl/libmnl.h>
#include <libnftnl/expr.h>
#include <libnftnl/rule.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_nat.h>
#include <linux/netfilter/nf_tables.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "plugins/nftables/layout/typeof.hpp"
#include "sluice/sdk/address.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::nftables {
namespace {

constexpr int kNoTarget = -1;
constexpr int kVerdictTarget = -2;
constexpr std::uint32_t kIdMask = 0xffff0000;

// Where the addresses are in the headers.
constexpr std::uint32_t source_offset(abi::Family family) { return family == abi::Family::kIpv6 ? 8 : 12; }
constexpr std::uint32_t destination_offset(abi::Family family) { return family == abi::Family::kIpv6 ? 24 : 16; }

// Registers are words; those at multiples of 16 bytes have a name of their own, which the kernel prefers when it tells.
constexpr std::uint32_t register_at(unsigned word) {
  return word % 4 == 0 ? NFT_REG_1 + word / 4 : NFT_REG32_00 + word;
}

}  // namespace

// Owned until it is given to the rule.
class RuleBuilder::Expression {
 public:
  explicit Expression(const char* name) : expression_(nftnl_expr_alloc(name)) {
    if (expression_ == nullptr) throw std::bad_alloc();
  }
  ~Expression() {
    if (expression_ != nullptr) nftnl_expr_free(expression_);
  }
  Expression(const Expression&) = delete;
  Expression& operator=(const Expression&) = delete;

  Expression& number(std::uint16_t attribute, std::uint32_t value) {
    nftnl_expr_set_u32(expression_, attribute, value);
    return *this;
  }
  Expression& wide(std::uint16_t attribute, std::uint64_t value) {
    nftnl_expr_set_u64(expression_, attribute, value);
    return *this;
  }
  Expression& byte(std::uint16_t attribute, std::uint8_t value) {
    nftnl_expr_set_u8(expression_, attribute, value);
    return *this;
  }
  Expression& text(std::uint16_t attribute, const char* value) {
    if (nftnl_expr_set_str(expression_, attribute, value) < 0) throw std::bad_alloc();
    return *this;
  }
  Expression& bytes(std::uint16_t attribute, const void* value, std::size_t size) {
    if (nftnl_expr_set(expression_, attribute, value, static_cast<std::uint32_t>(size)) < 0) throw std::bad_alloc();
    return *this;
  }
  void add_to(nftnl_rule* rule) {
    nftnl_rule_add_expr(rule, expression_);
    expression_ = nullptr;
  }

 private:
  nftnl_expr* expression_;
};

void RuleBuilder::Free::operator()(nftnl_rule* rule) const { nftnl_rule_free(rule); }

RuleBuilder::RuleBuilder(abi::Family family) : family_(family), rule_(nftnl_rule_alloc()) {
  if (!rule_) throw std::bad_alloc();
}
RuleBuilder::~RuleBuilder() = default;

std::size_t RuleBuilder::address_size() const noexcept { return sdk::address_bytes(family_); }

void RuleBuilder::load_payload(std::uint32_t base, std::uint32_t offset, std::uint32_t bytes, unsigned word) {
  Expression("payload")
      .number(NFTNL_EXPR_PAYLOAD_DREG, register_at(word))
      .number(NFTNL_EXPR_PAYLOAD_BASE, base)
      .number(NFTNL_EXPR_PAYLOAD_OFFSET, offset)
      .number(NFTNL_EXPR_PAYLOAD_LEN, bytes)
      .add_to(rule_.get());
}

void RuleBuilder::load_meta(std::uint32_t key, unsigned word) {
  Expression("meta")
      .number(NFTNL_EXPR_META_KEY, key)
      .number(NFTNL_EXPR_META_DREG, register_at(word))
      .add_to(rule_.get());
}

void RuleBuilder::load_ct(std::uint32_t key, unsigned word, bool original) {
  Expression expression("ct");
  expression.number(NFTNL_EXPR_CT_KEY, key).number(NFTNL_EXPR_CT_DREG, register_at(word));
  if (original) expression.byte(NFTNL_EXPR_CT_DIR, IP_CT_DIR_ORIGINAL);
  expression.add_to(rule_.get());
}

void RuleBuilder::mask_and_xor(const void* mask, const void* flip, std::size_t size) {
  Expression("bitwise")
      .number(NFTNL_EXPR_BITWISE_SREG, NFT_REG_1)
      .number(NFTNL_EXPR_BITWISE_DREG, NFT_REG_1)
      .number(NFTNL_EXPR_BITWISE_OP, NFT_BITWISE_BOOL)
      .number(NFTNL_EXPR_BITWISE_LEN, static_cast<std::uint32_t>(size))
      .bytes(NFTNL_EXPR_BITWISE_MASK, mask, size)
      .bytes(NFTNL_EXPR_BITWISE_XOR, flip, size)
      .add_to(rule_.get());
}

void RuleBuilder::compare(bool equal, const void* value, std::size_t size) {
  Expression("cmp")
      .number(NFTNL_EXPR_CMP_SREG, NFT_REG_1)
      .number(NFTNL_EXPR_CMP_OP, equal ? NFT_CMP_EQ : NFT_CMP_NEQ)
      .bytes(NFTNL_EXPR_CMP_DATA, value, size)
      .add_to(rule_.get());
}

void RuleBuilder::has_bit(std::uint32_t bit) {
  const std::uint32_t zero = 0;
  mask_and_xor(&bit, &zero, sizeof(bit));
  compare(false, &zero, sizeof(zero));
}

void RuleBuilder::match_prefix(std::uint32_t offset, const abi::Prefix& prefix, bool inverted) {
  const std::size_t size = address_size();
  const std::size_t whole = prefix.length / 8u;
  if (prefix.length % 8u == 0) {  // nft loads only the bytes that count
    const std::size_t bytes = whole == 0 ? size : whole;
    load_payload(NFT_PAYLOAD_NETWORK_HEADER, offset, static_cast<std::uint32_t>(bytes), 0);
    compare(!inverted, prefix.address.bytes, bytes);
    return;
  }
  std::array<std::uint8_t, 16> mask{};
  const std::array<std::uint8_t, 16> zero{};
  std::memset(mask.data(), 0xff, whole);
  mask[whole] = static_cast<std::uint8_t>(0xff00u >> prefix.length % 8u);
  load_payload(NFT_PAYLOAD_NETWORK_HEADER, offset, static_cast<std::uint32_t>(size), 0);
  mask_and_xor(mask.data(), zero.data(), size);
  compare(!inverted, prefix.address.bytes, size);
}

RuleBuilder& RuleBuilder::from(const abi::Prefix& prefix, bool inverted) {
  if (prefix.length != 0) match_prefix(source_offset(family_), prefix, inverted);
  return *this;
}

RuleBuilder& RuleBuilder::to(const abi::Prefix& prefix, bool inverted) {
  if (prefix.length != 0) match_prefix(destination_offset(family_), prefix, inverted);
  return *this;
}

RuleBuilder& RuleBuilder::to_no_loopback() {
  abi::Prefix loopback{};
  if (family_ == abi::Family::kIpv6) {
    loopback.address.bytes[15] = 1;
    loopback.length = 128;
  } else {
    loopback.address.bytes[0] = 127;
    loopback.length = 8;
  }
  return to(loopback, true);
}

RuleBuilder& RuleBuilder::through(const std::string& interface, bool is_prefix, bool inverted) {
  std::array<char, 16> name{};
  std::memcpy(name.data(), interface.data(), std::min(interface.size(), name.size() - 1));
  load_meta(NFT_META_IIFNAME, 0);
  compare(!inverted, name.data(), is_prefix ? std::min(interface.size(), name.size() - 1) : name.size());
  return *this;
}

RuleBuilder& RuleBuilder::is_protocol(abi::Protocol protocol) {
  const auto number = static_cast<std::uint8_t>(protocol);
  load_meta(NFT_META_L4PROTO, 0);
  compare(true, &number, sizeof(number));
  return *this;
}

void RuleBuilder::fib(std::uint32_t flag) {
  const std::uint32_t local = 2;  // RTN_LOCAL
  Expression("fib")
      .number(NFTNL_EXPR_FIB_DREG, NFT_REG_1)
      .number(NFTNL_EXPR_FIB_RESULT, NFT_FIB_RESULT_ADDRTYPE)
      .number(NFTNL_EXPR_FIB_FLAGS, flag)
      .add_to(rule_.get());
  compare(true, &local, sizeof(local));
}

RuleBuilder& RuleBuilder::from_this_node() {
  fib(NFTA_FIB_F_SADDR);
  return *this;
}

RuleBuilder& RuleBuilder::to_this_node() {
  fib(NFTA_FIB_F_DADDR);
  return *this;
}

RuleBuilder& RuleBuilder::is_new() {
  load_ct(NFT_CT_STATE, 0, false);
  has_bit(1u << (IP_CT_NEW + 1));
  return *this;
}

RuleBuilder& RuleBuilder::is_translated() {
  load_ct(NFT_CT_STATUS, 0, false);
  has_bit(IPS_DST_NAT);
  return *this;
}

RuleBuilder& RuleBuilder::is_marked(std::uint32_t mark) {
  load_meta(NFT_META_MARK, 0);
  has_bit(mark);
  return *this;
}

void RuleBuilder::load(Fields fields) {
  const auto address_words = static_cast<unsigned>(address_size() / 4);
  unsigned word = 0;
  for (const Field& field : fields) {
    unsigned words = 1;
    switch (field.kind) {
      case Field::Kind::kSource:
      case Field::Kind::kDestination:
        load_payload(NFT_PAYLOAD_NETWORK_HEADER,
                     field.kind == Field::Kind::kSource ? source_offset(family_) : destination_offset(family_),
                     static_cast<std::uint32_t>(address_size()), word);
        words = address_words;
        break;
      case Field::Kind::kProtocol:
        load_meta(NFT_META_L4PROTO, word);
        break;
      case Field::Kind::kPort:
        load_payload(NFT_PAYLOAD_TRANSPORT_HEADER, 2, 2, word);
        break;
      case Field::Kind::kPriority:
        load_meta(NFT_META_PRIORITY, word);
        break;
      case Field::Kind::kPriorityId: {  // only as the first
        const std::uint32_t mask = kIdMask;
        const std::uint32_t zero = 0;
        load_meta(NFT_META_PRIORITY, word);
        mask_and_xor(&mask, &zero, sizeof(mask));
        break;
      }
      case Field::Kind::kRandom:
        Expression("numgen")
            .number(NFTNL_EXPR_NG_DREG, register_at(word))
            .number(NFTNL_EXPR_NG_TYPE, NFT_NG_RANDOM)
            .number(NFTNL_EXPR_NG_MODULUS, field.modulus)
            .number(NFTNL_EXPR_NG_OFFSET, field.offset)
            .add_to(rule_.get());
        break;
      case Field::Kind::kOriginalDestination:
        load_ct(family_ == abi::Family::kIpv6 ? NFT_CT_DST_IP6 : NFT_CT_DST_IP, word, true);
        words = address_words;
        break;
      case Field::Kind::kOriginalPort:
        load_ct(NFT_CT_PROTO_DST, word, true);
        break;
    }
    word += words;
  }
}

void RuleBuilder::lookup(const char* set, int target) {
  Expression expression("lookup");
  expression.number(NFTNL_EXPR_LOOKUP_SREG, NFT_REG_1).text(NFTNL_EXPR_LOOKUP_SET, set);
  expression.number(NFTNL_EXPR_LOOKUP_FLAGS, 0);  // as the kernel tells
  if (target == kVerdictTarget) expression.number(NFTNL_EXPR_LOOKUP_DREG, NFT_REG_VERDICT);
  if (target >= 0) expression.number(NFTNL_EXPR_LOOKUP_DREG, register_at(static_cast<unsigned>(target)));
  expression.add_to(rule_.get());
}

RuleBuilder& RuleBuilder::in(Fields fields, const char* set) {
  load(fields);
  lookup(set, kNoTarget);
  return *this;
}

RuleBuilder& RuleBuilder::set_mark(std::uint32_t mark) {
  const std::uint32_t rest = ~mark;
  load_meta(NFT_META_MARK, 0);
  mask_and_xor(&rest, &mark, sizeof(mark));
  Expression("meta")
      .number(NFTNL_EXPR_META_KEY, NFT_META_MARK)
      .number(NFTNL_EXPR_META_SREG, NFT_REG_1)
      .add_to(rule_.get());
  return *this;
}

RuleBuilder& RuleBuilder::flip_mark(std::uint32_t mark) {
  const std::uint32_t all = ~0u;
  load_meta(NFT_META_MARK, 0);
  mask_and_xor(&all, &mark, sizeof(mark));
  Expression("meta")
      .number(NFTNL_EXPR_META_KEY, NFT_META_MARK)
      .number(NFTNL_EXPR_META_SREG, NFT_REG_1)
      .add_to(rule_.get());
  return *this;
}

RuleBuilder& RuleBuilder::priority_from(Fields fields, const char* map) {
  load(fields);
  lookup(map, 0);
  Expression("meta")
      .number(NFTNL_EXPR_META_KEY, NFT_META_PRIORITY)
      .number(NFTNL_EXPR_META_SREG, NFT_REG_1)
      .add_to(rule_.get());
  return *this;
}

RuleBuilder& RuleBuilder::priority_id() {
  load({{Field::Kind::kPriorityId}});
  Expression("meta")
      .number(NFTNL_EXPR_META_KEY, NFT_META_PRIORITY)
      .number(NFTNL_EXPR_META_SREG, NFT_REG_1)
      .add_to(rule_.get());
  return *this;
}

RuleBuilder& RuleBuilder::reset_priority() {
  const std::uint32_t zero = 0;
  Expression("immediate")
      .number(NFTNL_EXPR_IMM_DREG, NFT_REG_1)
      .bytes(NFTNL_EXPR_IMM_DATA, &zero, sizeof(zero))
      .add_to(rule_.get());
  Expression("meta")
      .number(NFTNL_EXPR_META_KEY, NFT_META_PRIORITY)
      .number(NFTNL_EXPR_META_SREG, NFT_REG_1)
      .add_to(rule_.get());
  return *this;
}

RuleBuilder& RuleBuilder::memory(Memory what, const char* map, std::uint32_t seconds) {
  // Behind the key. nft 1.0.6 itself takes the fifth word, which is still a part of the key for IPv6.
  const unsigned data_word = family_ == abi::Family::kIpv6 ? 8 : 4;
  load({{what == Memory::kForget ? Field::Kind::kPriority : Field::Kind::kPriorityId}, {Field::Kind::kSource}});
  load_meta(NFT_META_PRIORITY, data_word);
  const std::uint32_t operation = what == Memory::kAdd       ? NFT_DYNSET_OP_ADD
                                  : what == Memory::kRefresh ? NFT_DYNSET_OP_UPDATE
                                                             : NFT_DYNSET_OP_DELETE;
  Expression expression("dynset");
  expression.number(NFTNL_EXPR_DYNSET_SREG_KEY, NFT_REG_1)
      .number(NFTNL_EXPR_DYNSET_SREG_DATA, register_at(data_word))
      .number(NFTNL_EXPR_DYNSET_OP, operation)
      .text(NFTNL_EXPR_DYNSET_SET_NAME, map);
  // Also where it means nothing: the kernel tells one always.
  expression.wide(NFTNL_EXPR_DYNSET_TIMEOUT, what == Memory::kForget ? 0 : std::uint64_t{seconds} * 1000);
  expression.add_to(rule_.get());
  return *this;
}

RuleBuilder& RuleBuilder::translate(Fields fields, const char* map) {
  const std::uint32_t address = register_at(0);
  const std::uint32_t port = register_at(static_cast<unsigned>(address_size() / 4));
  load(fields);
  lookup(map, 0);
  // The upper ends and the flags are what the kernel tells of such a rule.
  Expression("nat")
      .number(NFTNL_EXPR_NAT_TYPE, NFT_NAT_DNAT)
      .number(NFTNL_EXPR_NAT_FAMILY, family_ == abi::Family::kIpv6 ? NFPROTO_IPV6 : NFPROTO_IPV4)
      .number(NFTNL_EXPR_NAT_REG_ADDR_MIN, address)
      .number(NFTNL_EXPR_NAT_REG_ADDR_MAX, address)
      .number(NFTNL_EXPR_NAT_REG_PROTO_MIN, port)
      .number(NFTNL_EXPR_NAT_REG_PROTO_MAX, port)
      .number(NFTNL_EXPR_NAT_FLAGS, NF_NAT_RANGE_MAP_IPS | NF_NAT_RANGE_PROTO_SPECIFIED)
      .add_to(rule_.get());
  return *this;
}

RuleBuilder& RuleBuilder::masquerade() {
  Expression("masq").number(NFTNL_EXPR_MASQ_FLAGS, NF_NAT_RANGE_PROTO_RANDOM_FULLY).add_to(rule_.get());
  return *this;
}

RuleBuilder& RuleBuilder::dispatch(const char* map) {
  load_meta(NFT_META_PRIORITY, 0);
  lookup(map, kVerdictTarget);
  return *this;
}

void RuleBuilder::verdict(std::int32_t code, const std::string* chain) {
  Expression expression("immediate");
  expression.number(NFTNL_EXPR_IMM_DREG, NFT_REG_VERDICT)
      .number(NFTNL_EXPR_IMM_VERDICT, static_cast<std::uint32_t>(code));
  if (chain != nullptr) expression.text(NFTNL_EXPR_IMM_CHAIN, chain->c_str());
  expression.add_to(rule_.get());
}

RuleBuilder& RuleBuilder::go(const std::string& chain) {
  verdict(NFT_GOTO, &chain);
  return *this;
}
RuleBuilder& RuleBuilder::jump(const std::string& chain) {
  verdict(NFT_JUMP, &chain);
  return *this;
}
RuleBuilder& RuleBuilder::back() {
  verdict(NFT_RETURN, nullptr);
  return *this;
}
RuleBuilder& RuleBuilder::drop() {
  verdict(NF_DROP, nullptr);
  return *this;
}

RuleBuilder& RuleBuilder::reject() {
  const std::uint8_t port_unreachable = family_ == abi::Family::kIpv6 ? 4 : 3;
  Expression("reject")
      .number(NFTNL_EXPR_REJECT_TYPE, NFT_REJECT_ICMP_UNREACH)
      .byte(NFTNL_EXPR_REJECT_CODE, port_unreachable)
      .add_to(rule_.get());
  return *this;
}

Rule RuleBuilder::make(std::string comment) {
  // Far more than the longest of our rules: libnftnl does not look.
  std::array<char, 8192> buffer{};
  nlmsghdr* header = mnl_nlmsg_put_header(buffer.data());
  nftnl_rule_nlmsg_build_payload(header, rule_.get());
  Rule rule = read_rule(rule_.get());
  const auto* attribute = static_cast<const nlattr*>(mnl_nlmsg_get_payload(header));
  if (mnl_nlmsg_get_payload_len(header) != 0) {
    rule.expressions.assign(static_cast<const char*>(mnl_attr_get_payload(attribute)),
                            mnl_attr_get_payload_len(attribute));
  }
  rule.comment = std::move(comment);
  return rule;
}

Rule read_rule(const nftnl_rule* rule) {
  Rule read;
  struct Visit {
    static int expression(nftnl_expr* expression, void* to) {
      auto& text = *static_cast<std::string*>(to);
      std::array<char, 1024> line{};
      nftnl_expr_snprintf(line.data(), line.size(), expression, NFTNL_OUTPUT_DEFAULT, 0);
      text += nftnl_expr_get_str(expression, NFTNL_EXPR_NAME);
      text += ' ';
      text += line.data();
      while (text.back() == ' ') text.pop_back();
      text += '\n';
      return 0;
    }
  };
  // It reads only, but does not say so.
  nftnl_expr_foreach(const_cast<nftnl_rule*>(rule), &Visit::expression, &read.text);
  std::uint32_t size = 0;
  const void* userdata = nftnl_rule_get_data(rule, NFTNL_RULE_USERDATA, &size);
  if (userdata != nullptr) read.comment = read_comment(userdata, size);
  return read;
}

}  // namespace sluice::nftables
