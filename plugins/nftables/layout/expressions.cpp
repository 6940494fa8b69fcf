// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Expressions that read packets and sets: loads, comparisons and lookups.

#include "plugins/nftables/layout/expressions.hpp"

// clang-format off
#include <netinet/in.h>  // before <linux/netfilter.h>, which has the same definitions otherwise
// clang-format on

#include <linux/netfilter/nf_conntrack_tuple_common.h>

#include <new>

#include "plugins/nftables/layout/expression.hpp"
#include "sluice/sdk/address.hpp"

namespace sluice::nftables {
namespace {

constexpr std::uint32_t kIdMask = 0xffff0000;

}  // namespace

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
      case Field::Kind::kPriorityId: {  // only as the first field
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
  expression.number(NFTNL_EXPR_LOOKUP_FLAGS, 0);  // as the kernel lists it
  if (target == kVerdictTarget) expression.number(NFTNL_EXPR_LOOKUP_DREG, NFT_REG_VERDICT);
  if (target >= 0) expression.number(NFTNL_EXPR_LOOKUP_DREG, register_at(static_cast<unsigned>(target)));
  expression.add_to(rule_.get());
}

RuleBuilder& RuleBuilder::in(Fields fields, const char* set) {
  load(fields);
  lookup(set, kNoTarget);
  return *this;
}

}  // namespace sluice::nftables
