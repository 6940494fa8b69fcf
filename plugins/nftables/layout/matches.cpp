// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Matches: conditions of a rule.

#include <linux/netfilter/nf_conntrack_common.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "plugins/nftables/layout/expression.hpp"
#include "plugins/nftables/layout/expressions.hpp"

namespace sluice::nftables {
namespace {

constexpr std::uint32_t kNew = 1u << (IP_CT_NEW + 1);

}  // namespace

void RuleBuilder::has_bit(std::uint32_t bit) {
  const std::uint32_t zero = 0;
  mask_and_xor(&bit, &zero, sizeof(bit));
  compare(false, &zero, sizeof(zero));
}

void RuleBuilder::match_prefix(std::uint32_t offset, const abi::Prefix& prefix, bool inverted) {
  const std::size_t size = address_size();
  const std::size_t whole = prefix.length / 8u;
  if (prefix.length % 8u == 0) {  // nft loads only the bytes of the prefix
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

RuleBuilder& RuleBuilder::not_to_loopback() {
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
  has_bit(kNew);
  return *this;
}

// A packet has exactly one state.
RuleBuilder& RuleBuilder::is_not_new() {
  load_ct(NFT_CT_STATE, 0, false);
  compare(false, &kNew, sizeof(kNew));
  return *this;
}

RuleBuilder& RuleBuilder::is_established() {
  load_ct(NFT_CT_STATE, 0, false);
  has_bit(1u << (IP_CT_ESTABLISHED + 1));
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

}  // namespace sluice::nftables
