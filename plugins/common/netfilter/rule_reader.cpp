// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/netfilter/rule_reader.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "lib/ip.hpp"
#include "lib/number.hpp"
#include "sluice/sdk/address.hpp"
#include "sluice/sdk/service.hpp"

namespace sluice::netfilter {
namespace {

// "0x1000", as iptables-save prints marks.
std::optional<std::uint32_t> hexadecimal(std::string_view text) noexcept {
  return text.starts_with("0x") ? lib::parse_hex<std::uint32_t>(text.substr(2)) : std::nullopt;
}

// Matches without a condition of their own; their options are decoded.
constexpr std::array<std::string_view, 14> kMatches{"comment", "tcp",       "udp",       "sctp",    "addrtype",
                                                    "recent",  "statistic", "nfacct",    "physdev", "state",
                                                    "set",     "ipvs",      "conntrack", "mark"};

}  // namespace

std::optional<std::uint16_t> parse_port(std::string_view text) noexcept {
  return lib::parse_number<std::uint16_t>(text);
}

std::optional<abi::Protocol> parse_protocol(std::string_view text) noexcept {
  for (const abi::Protocol protocol : {abi::Protocol::kTcp, abi::Protocol::kUdp, abi::Protocol::kSctp}) {
    if (sdk::protocol_name(protocol) == canonical_protocol(text)) return protocol;
  }
  return std::nullopt;
}

std::optional<abi::Prefix> parse_prefix(std::string_view text, abi::Family family) {
  const unsigned bits = family == abi::Family::kIpv6 ? 128 : 32;
  const std::size_t slash = std::min(text.find('/'), text.size());
  const auto address = sdk::parse_address(std::string(text.substr(0, slash)), family);
  if (!address) return std::nullopt;
  unsigned length = bits;
  if (slash < text.size()) {
    const auto given = lib::parse_number(text.substr(slash + 1), 0u, bits);
    if (!given) return std::nullopt;
    length = *given;
  }
  abi::Prefix prefix{};
  prefix.address = *address;
  prefix.length = static_cast<std::uint8_t>(length);
  lib::clear_host_bits(prefix.address.bytes, sizeof(prefix.address.bytes), length);
  return prefix;
}

std::optional<HostPort> parse_host_port(std::string_view text, abi::Family family) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  if (family == abi::Family::kIpv6) {
    if (!host.starts_with('[') || !host.ends_with(']')) return std::nullopt;
    host = host.substr(1, host.size() - 2);
  }
  const auto address = sdk::parse_address(std::string(host), family);
  const auto port = parse_port(text.substr(colon + 1));
  if (!address || !port) return std::nullopt;
  return HostPort{*address, *port};
}

std::uint32_t RuleFields::conditions() const noexcept {
  const std::pair<bool, Condition> all[] = {
      {source.has_value(), kSource},
      {destination.has_value(), kDestination},
      {!interface.empty(), kInterface},
      {port.has_value(), kPort},
      {source_local != Local::kAny, kSourceLocal},
      {destination_local != Local::kAny, kDestinationLocal},
      {is_new, kNew},
      {not_translated, kNotTranslated},
      {not_from_bridge_port, kNotFromBridgePort},
      {recent == Recent::kChecks, kRemembered},
      {probability.has_value(), kProbability},
      {!set.empty(), kSet},
      {virtual_address || virtual_port || virtual_protocol, kVirtual},
      {other, kOther},
      {unmarked != 0, kUnmarked},
      {marked != 0, kMarked},
      {!states.empty(), kStates},
  };
  std::uint32_t bits = 0;
  for (const auto& [is_set, bit] : all) bits |= is_set ? std::uint32_t{bit} : 0u;
  return bits;
}

bool RuleFields::is_one_address(const std::optional<Match>& match) noexcept {
  return match && !match->negated && (match->prefix.length == 128 || (match->prefix.length == 32 && match->is_ipv4));
}

struct RuleReader::Value {
  std::string_view text;    // the first value
  std::string_view second;  // of --match-set
  std::size_t count;
  bool negated;
  abi::Family family;
};

// Each handler returns whether it could decode the value.
RuleReader::Handler RuleReader::find_handler(std::string_view option) noexcept {
  using Named = std::pair<std::string_view, Handler>;
  const auto local = [](const Value& value, RuleFields::Local& to) {
    to = value.negated ? RuleFields::Local::kNo : RuleFields::Local::kYes;
    return value.text == "LOCAL";
  };
  static constexpr Handler kIgnored = [](const Value& value, RuleFields&) { return !value.negated; };
  static constexpr Handler kState = [](const Value& value, RuleFields& fields) {
    if (value.text == "NEW" && !value.negated) return fields.is_new = true;
    if (value.text == "DNAT" && value.negated) return fields.not_translated = true;
    if (!fields.states.empty()) return false;
    fields.states = value.text;
    fields.not_states = value.negated;
    return !value.text.empty();
  };
  static constexpr Handler kTranslation = [](const Value& value, RuleFields& fields) {
    fields.translate_to = value.text;
    return !value.negated;
  };
  static constexpr auto kLocal = local;
  static constexpr std::array<Named, 31> kHandlers{{
      {"-s",
       [](const Value& value, RuleFields& fields) {
         const auto prefix = parse_prefix(value.text, value.family);
         if (prefix) fields.source = RuleFields::Match{*prefix, value.negated, value.family == abi::Family::kIpv4};
         return prefix.has_value();
       }},
      {"-d",
       [](const Value& value, RuleFields& fields) {
         const auto prefix = parse_prefix(value.text, value.family);
         if (prefix) fields.destination = RuleFields::Match{*prefix, value.negated, value.family == abi::Family::kIpv4};
         return prefix.has_value();
       }},
      {"-i",
       [](const Value& value, RuleFields& fields) {
         fields.interface = value.text;
         fields.not_interface = value.negated;
         return true;
       }},
      {"-p",
       [](const Value& value, RuleFields& fields) {
         fields.protocol = parse_protocol(value.text);
         return fields.protocol.has_value() && !value.negated;
       }},
      {"-m",
       [](const Value& value, RuleFields&) {
         return std::find(kMatches.begin(), kMatches.end(), value.text) != kMatches.end() && !value.negated;
       }},
      {"-j",
       [](const Value& value, RuleFields& fields) {
         fields.target = value.text;
         return true;
       }},
      {"--dport",
       [](const Value& value, RuleFields& fields) {
         fields.port = parse_port(value.text);
         return fields.port.has_value() && !value.negated;
       }},
      {"--comment",
       [](const Value& value, RuleFields& fields) {
         fields.comment = value.text;
         return true;
       }},
      {"--src-type", [](const Value& value, RuleFields& fields) { return kLocal(value, fields.source_local); }},
      {"--dst-type", [](const Value& value, RuleFields& fields) { return kLocal(value, fields.destination_local); }},
      {"--ctstate", kState},
      {"--state", kState},
      {"--physdev-is-in",
       [](const Value& value, RuleFields& fields) { return fields.not_from_bridge_port = value.negated; }},
      {"--mark",
       [](const Value& value, RuleFields& fields) {
         const std::size_t slash = std::min(value.text.find('/'), value.text.size());
         const auto mark = hexadecimal(value.text.substr(0, slash));
         const auto mask = hexadecimal(value.text.substr(std::min(slash + 1, value.text.size())));
         std::uint32_t& bits = value.negated ? fields.unmarked : fields.marked;
         if (!mark || mark != mask || bits != 0) return false;
         bits = *mark;
         return *mark != 0;
       }},
      {"--rcheck",
       [](const Value& value, RuleFields& fields) {
         fields.recent = RuleFields::Recent::kChecks;
         return !value.negated;
       }},
      {"--set",
       [](const Value& value, RuleFields& fields) {
         fields.recent = RuleFields::Recent::kRemembers;
         return !value.negated;
       }},
      {"--name",
       [](const Value& value, RuleFields& fields) {
         fields.list = value.text;
         return true;
       }},
      {"--seconds",
       [](const Value& value, RuleFields& fields) {
         const auto seconds = lib::parse_number<std::uint32_t>(value.text);
         fields.seconds = seconds.value_or(0);
         return seconds.has_value();
       }},
      {"--reap", kIgnored},
      {"--rsource", kIgnored},
      {"--mask", kIgnored},
      {"--mode", [](const Value& value, RuleFields&) { return value.text == "random"; }},
      {"--probability",
       [](const Value& value, RuleFields& fields) {
         fields.probability = lib::parse_number<double>(value.text);
         return fields.probability && *fields.probability >= 0 && *fields.probability <= 1 && !value.negated;
       }},
      {"--nfacct-name", kIgnored},  // counts, and matches every packet
      {"--match-set",
       [](const Value& value, RuleFields& fields) {
         const bool first = fields.set.empty();
         fields.set = value.text;
         fields.set_directions = value.second;
         return first && value.count == 2 && !value.negated;
       }},
      {"--vaddr",
       [](const Value& value, RuleFields& fields) {
         const auto prefix = parse_prefix(value.text, value.family);
         if (prefix) fields.virtual_address = prefix->address;
         return prefix && prefix->length == sdk::address_bytes(value.family) * 8 && !value.negated;
       }},
      {"--vport",
       [](const Value& value, RuleFields& fields) {
         fields.virtual_port = parse_port(value.text);
         return fields.virtual_port.has_value() && !value.negated;
       }},
      {"--vproto",
       [](const Value& value, RuleFields& fields) {
         fields.virtual_protocol = parse_protocol(value.text);
         return fields.virtual_protocol.has_value() && !value.negated;
       }},
      {"--to-destination", kTranslation},
      {"--to-ports", kTranslation},
      {"-c", kIgnored},
  }};
  const auto found =
      std::find_if(kHandlers.begin(), kHandlers.end(), [&](const Named& one) { return one.first == option; });
  return found == kHandlers.end() ? nullptr : found->second;
}

void RuleReader::read_option(std::string_view name, const Value& value) {
  const Handler handler = find_handler(name);
  if (handler != nullptr) {
    if (!handler(value, fields_)) fields_.other = true;
  } else if (fields_.target.empty()) {
    fields_.other = true;  // an option of a target, such as --reject-with, is not a condition
  }
}

const RuleFields& RuleReader::read(std::string_view rule) {
  fields_ = {};
  split_rule(rule, words_, unquoted_);
  bool negated = false;
  for (std::size_t i = 0; i < words_.size();) {
    const auto is_option = [](const RuleWord& word) {
      return !word.quoted && (word.text == "!" || (word.text.size() > 1 && word.text[0] == '-'));
    };
    if (!words_[i].quoted && words_[i].text == "!") {
      negated = true;
      ++i;
      continue;
    }
    if (!is_option(words_[i])) {
      fields_.other = true;
      ++i;
      continue;
    }
    const std::string_view name = canonical_option(words_[i].text);
    const std::size_t first = ++i;
    // A comment is one value even if it begins with a dash.
    if (name == "--comment" && i < words_.size()) ++i;
    while (i < words_.size() && !is_option(words_[i])) ++i;
    Value value{{}, {}, i - first, std::exchange(negated, false), family_};
    if (value.count > 0) value.text = words_[first].text;
    if (value.count > 1) value.second = words_[first + 1].text;
    read_option(name, value);
  }
  return fields_;
}

}  // namespace sluice::netfilter
