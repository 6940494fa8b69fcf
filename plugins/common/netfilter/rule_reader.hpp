// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Decodes rules that iptables-save prints, as far as the built-in backends write them. Tolerant: an unknown condition
// sets `other`, so that a rule with such a condition differs from one without. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/common/netfilter/rule_words.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::netfilter {

struct RuleFields {
  struct Match {
    abi::Prefix prefix{};
    bool negated = false;
    bool is_ipv4 = false;
  };
  enum class Local : std::uint8_t { kAny, kYes, kNo };              // --src-type LOCAL, ! --src-type LOCAL
  enum class Recent : std::uint8_t { kNone, kChecks, kRemembers };  // --rcheck, --set

  std::optional<Match> source;
  std::optional<Match> destination;
  std::string_view interface;  // "eth0", "cni+"; of arrival
  bool not_interface = false;
  std::optional<abi::Protocol> protocol;
  std::optional<std::uint16_t> port;  // of the destination
  std::string_view comment;
  Local source_local = Local::kAny;
  Local destination_local = Local::kAny;
  bool is_new = false;                // --ctstate NEW
  bool not_translated = false;        // ! --ctstate DNAT
  bool not_from_bridge_port = false;  // ! --physdev-is-in
  std::string_view states;            // other lists of states, "RELATED,ESTABLISHED"
  bool not_states = false;            // the packet must be in none of `states`
  std::uint32_t unmarked = 0;         // bits that the packet must not have all, ! --mark BITS/BITS
  std::uint32_t marked = 0;           // bits that the packet must have all, --mark BITS/BITS
  Recent recent = Recent::kNone;
  std::string_view list;                        // of `recent`
  std::uint32_t seconds = 0;                    // of `recent`
  std::optional<double> probability;            // 0 to 1; of `statistic`
  std::string_view set;                         // --match-set
  std::string_view set_directions;              // "dst,dst"
  std::optional<abi::Address> virtual_address;  // of IPVS
  std::optional<std::uint16_t> virtual_port;
  std::optional<abi::Protocol> virtual_protocol;
  std::string_view target;        // chain or target; empty: none
  std::string_view translate_to;  // --to-destination, --to-ports
  bool other = false;             // conditions that are not decoded

  // The conditions of the rule besides the protocol, as bits of Condition.
  enum Condition : std::uint32_t {
    kSource = 1u << 0,
    kDestination = 1u << 1,
    kInterface = 1u << 2,
    kPort = 1u << 3,
    kSourceLocal = 1u << 4,
    kDestinationLocal = 1u << 5,
    kNew = 1u << 6,
    kNotTranslated = 1u << 7,
    kNotFromBridgePort = 1u << 8,
    kRemembered = 1u << 9,  // Recent::kChecks
    kProbability = 1u << 10,
    kSet = 1u << 11,
    kVirtual = 1u << 12,
    kOther = 1u << 13,
    kUnmarked = 1u << 14,
    kMarked = 1u << 15,
    kStates = 1u << 16,
  };
  std::uint32_t conditions() const noexcept;
  // The rule is for exactly one address and port.
  bool is_for_address() const noexcept {
    return conditions() == (kDestination | kPort) && protocol && is_one_address(destination);
  }
  // Of `source` or `destination`: a single address, not negated.
  static bool is_one_address(const std::optional<Match>& match) noexcept;
};

// Keeps its buffers between rules; one object per thread.
class RuleReader {
 public:
  explicit RuleReader(abi::Family family) noexcept : family_(family) {}

  // `rule` is the text after the name of the chain. The result points into `rule` and lives until the next call.
  const RuleFields& read(std::string_view rule);

 private:
  struct Value;
  using Handler = bool (*)(const Value&, RuleFields&);
  static Handler find_handler(std::string_view option) noexcept;
  void read_option(std::string_view name, const Value& value);

  const abi::Family family_;
  std::vector<RuleWord> words_;
  std::string unquoted_;
  RuleFields fields_;
};

// "10.0.0.0/8", "10.0.0.1"; host bits are cleared. Empty for anything else.
std::optional<abi::Prefix> parse_prefix(std::string_view text, abi::Family family);
// "10.0.0.1:80", "[fd00::1]:80". Empty for anything else.
struct HostPort {
  abi::Address address{};
  std::uint16_t port = 0;
};
std::optional<HostPort> parse_host_port(std::string_view text, abi::Family family);
std::optional<std::uint16_t> parse_port(std::string_view text) noexcept;
std::optional<abi::Protocol> parse_protocol(std::string_view text) noexcept;

}  // namespace sluice::netfilter
