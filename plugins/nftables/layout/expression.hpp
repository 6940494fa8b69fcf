// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One expression of a rule, and its registers. Only the files of RuleBuilder, which makes nft statements of
// expressions, use it. One thread per object.
#pragma once

// clang-format off
#include <netinet/in.h>  // before <linux/netfilter.h>, which has the same definitions otherwise

#include <cstdio>  // <libnftnl/expr.h> needs it
// clang-format on

#include <libnftnl/expr.h>
#include <libnftnl/rule.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>

#include <cstddef>
#include <cstdint>
#include <new>

#include "plugins/nftables/layout/expressions.hpp"

namespace sluice::nftables {

// Offsets of the addresses in the IP headers.
constexpr std::uint32_t source_offset(abi::Family family) { return family == abi::Family::kIpv6 ? 8 : 12; }
constexpr std::uint32_t destination_offset(abi::Family family) { return family == abi::Family::kIpv6 ? 24 : 16; }

// Registers are words. Those at multiples of 16 bytes have names of their own, which the kernel uses in listings.
constexpr std::uint32_t register_at(unsigned word) {
  return word % 4 == 0 ? NFT_REG_1 + word / 4 : NFT_REG32_00 + word;
}

// The destination of a lookup: a verdict, nothing, or the register at this word.
inline constexpr int kNoTarget = -1;
inline constexpr int kVerdictTarget = -2;

// Owns the expression until add_to().
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

}  // namespace sluice::nftables
