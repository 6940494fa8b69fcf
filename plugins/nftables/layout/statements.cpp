// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Statements: what a rule does with a packet that matches.

// clang-format off
#include <netinet/in.h>  // before <linux/netfilter.h>, which has the same definitions otherwise
// clang-format on

#include <linux/netfilter/nf_nat.h>

#include "plugins/nftables/layout/expression.hpp"
#include "plugins/nftables/layout/expressions.hpp"

namespace sluice::nftables {

void RuleBuilder::store_meta(std::uint32_t key) {
  Expression("meta").number(NFTNL_EXPR_META_KEY, key).number(NFTNL_EXPR_META_SREG, NFT_REG_1).add_to(rule_.get());
}

RuleBuilder& RuleBuilder::set_mark(std::uint32_t mark) {
  const std::uint32_t rest = ~mark;
  load_meta(NFT_META_MARK, 0);
  mask_and_xor(&rest, &mark, sizeof(mark));
  store_meta(NFT_META_MARK);
  return *this;
}

RuleBuilder& RuleBuilder::flip_mark(std::uint32_t mark) {
  const std::uint32_t all = ~0u;
  load_meta(NFT_META_MARK, 0);
  mask_and_xor(&all, &mark, sizeof(mark));
  store_meta(NFT_META_MARK);
  return *this;
}

RuleBuilder& RuleBuilder::set_priority_from(Fields fields, const char* map) {
  load(fields);
  lookup(map, 0);
  store_meta(NFT_META_PRIORITY);
  return *this;
}

RuleBuilder& RuleBuilder::priority_id() {
  load({{Field::Kind::kPriorityId}});
  store_meta(NFT_META_PRIORITY);
  return *this;
}

RuleBuilder& RuleBuilder::priority_slot(const Field& slot) {
  load({slot});
  store_meta(NFT_META_PRIORITY);
  return *this;
}

RuleBuilder& RuleBuilder::set_priority(std::uint32_t value) {
  Expression("immediate")
      .number(NFTNL_EXPR_IMM_DREG, NFT_REG_1)
      .bytes(NFTNL_EXPR_IMM_DATA, &value, sizeof(value))
      .add_to(rule_.get());
  store_meta(NFT_META_PRIORITY);
  return *this;
}

RuleBuilder& RuleBuilder::update_affinity(AffinityOp what, const char* map, std::uint32_t seconds) {
  // After the key. nft 1.0.6 uses the fifth word, which is part of an IPv6 key.
  const unsigned data_word = family_ == abi::Family::kIpv6 ? 8 : 4;
  load({{what == AffinityOp::kDelete ? Field::Kind::kPriority : Field::Kind::kPriorityId}, {Field::Kind::kSource}});
  load_meta(NFT_META_PRIORITY, data_word);
  const std::uint32_t operation = what == AffinityOp::kAdd       ? NFT_DYNSET_OP_ADD
                                  : what == AffinityOp::kRefresh ? NFT_DYNSET_OP_UPDATE
                                                                 : NFT_DYNSET_OP_DELETE;
  Expression expression("dynset");
  expression.number(NFTNL_EXPR_DYNSET_SREG_KEY, NFT_REG_1)
      .number(NFTNL_EXPR_DYNSET_SREG_DATA, register_at(data_word))
      .number(NFTNL_EXPR_DYNSET_OP, operation)
      .text(NFTNL_EXPR_DYNSET_SET_NAME, map);
  // Also for deletions, where it has no meaning: the kernel always lists one.
  expression.wide(NFTNL_EXPR_DYNSET_TIMEOUT, what == AffinityOp::kDelete ? 0 : std::uint64_t{seconds} * 1000);
  expression.add_to(rule_.get());
  return *this;
}

RuleBuilder& RuleBuilder::offload(const char* flowtable) {
  Expression("flow_offload").text(NFTNL_EXPR_FLOW_TABLE_NAME, flowtable).add_to(rule_.get());
  return *this;
}

RuleBuilder& RuleBuilder::translate(Fields fields, const char* map) {
  const std::uint32_t address = register_at(0);
  const std::uint32_t port = register_at(static_cast<unsigned>(address_size() / 4));
  load(fields);
  lookup(map, 0);
  // The maximum registers and the flags are as the kernel lists such a rule.
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

RuleBuilder& RuleBuilder::goto_by_priority(const char* map) {
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

}  // namespace sluice::nftables
