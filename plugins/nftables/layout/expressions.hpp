// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Builds nft statements from kernel expressions: each member function adds one. Registers and lengths are those that
// nft chooses, so that a rule listed and loaded by nft is the same rule. One thread per object.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>

#include "plugins/nftables/layout/rule.hpp"
#include "sluice/abi/types.hpp"

struct nftnl_expr;

namespace sluice::nftables {

// A component of a lookup key.
struct Field {
  enum class Kind : std::uint8_t {
    kSource,               // ip saddr
    kDestination,          // ip daddr
    kProtocol,             // meta l4proto
    kPort,                 // th dport
    kPriority,             // meta priority
    kPriorityId,           // meta priority & 0xffff0000
    kRandom,               // numgen random mod `modulus` offset `offset`
    kOriginalDestination,  // ct original ip daddr
    kOriginalPort,         // ct original proto-dst; nft requires is_protocol() before
  };
  Kind kind{};
  std::uint32_t modulus = 0;
  std::uint32_t offset = 0;
};
using Fields = std::initializer_list<Field>;

class RuleBuilder {
 public:
  explicit RuleBuilder(abi::Family family);
  ~RuleBuilder();
  RuleBuilder(RuleBuilder&&) = default;

  // Matches. Packets that do not match leave the rule.
  RuleBuilder& from(const abi::Prefix& prefix, bool inverted = false);
  RuleBuilder& to(const abi::Prefix& prefix, bool inverted = false);
  RuleBuilder& not_to_loopback();
  // At most 15 bytes, or fewer for a prefix.
  RuleBuilder& through(const std::string& interface, bool is_prefix, bool inverted = false);
  RuleBuilder& is_protocol(abi::Protocol protocol);
  RuleBuilder& from_this_node();  // fib saddr type local
  RuleBuilder& to_this_node();
  RuleBuilder& is_new();         // ct state new
  RuleBuilder& is_not_new();     // ct state != new
  RuleBuilder& is_established();
  RuleBuilder& is_translated();  // ct status dnat
  RuleBuilder& is_marked(std::uint32_t mark);
  RuleBuilder& in(Fields fields, const char* set);

  // Changes of the packet.
  RuleBuilder& set_mark(std::uint32_t mark);
  RuleBuilder& flip_mark(std::uint32_t mark);
  RuleBuilder& set_priority_from(Fields fields, const char* map);  // packets leave the rule if the map has no element
  RuleBuilder& priority_id();                                  // meta priority set meta priority & 0xffff0000
  RuleBuilder& priority_slot(const Field& slot);               // meta priority set numgen random …
  RuleBuilder& set_priority(std::uint32_t value);

  // Adds the flow of the packet; the kernel ignores flows that it cannot offload. Only in the forward hook.
  RuleBuilder& offload(const char* flowtable);  // flow add

  // Updates map affinity: affinity id of the priority . source : priority.
  enum class AffinityOp : std::uint8_t { kAdd, kRefresh, kDelete };
  // REQUIRES: for kDelete, the priority has nothing but the id.
  RuleBuilder& update_affinity(AffinityOp what, const char* map, std::uint32_t seconds);

  // Verdicts.
  RuleBuilder& translate(Fields fields, const char* map);  // dnat to address . port
  RuleBuilder& masquerade();                               // fully-random
  RuleBuilder& goto_by_priority(const char* map);                  // meta priority vmap
  RuleBuilder& go(const std::string& chain);
  RuleBuilder& jump(const std::string& chain);
  RuleBuilder& back();  // return
  RuleBuilder& drop();
  RuleBuilder& reject();

  // Must be called once, last.
  Rule make(std::string comment = {});

 private:
  class Expression;

  std::size_t address_size() const noexcept;
  void load_payload(std::uint32_t base, std::uint32_t offset, std::uint32_t bytes, unsigned word);
  void load_meta(std::uint32_t key, unsigned word);
  void store_meta(std::uint32_t key);
  void load_ct(std::uint32_t key, unsigned word, bool original);
  void mask_and_xor(const void* mask, const void* flip, std::size_t size);
  void compare(bool equal, const void* value, std::size_t size);
  void has_bit(std::uint32_t bit);
  void match_prefix(std::uint32_t offset, const abi::Prefix& prefix, bool inverted);
  void fib(std::uint32_t flag);
  void verdict(std::int32_t code, const std::string* chain);
  void load(Fields fields);
  void lookup(const char* set, int target);  // a word, kNoTarget or kVerdictTarget

  abi::Family family_;
  struct Free {
    void operator()(nftnl_rule* rule) const;
  };
  std::unique_ptr<nftnl_rule, Free> rule_;
};

}  // namespace sluice::nftables
