// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/sets/set_listing.hpp"

#include <cstring>

#include "lib/ip.hpp"
#include "lib/number.hpp"
#include "lib/text.hpp"
#include "plugins/common/netfilter/rule_reader.hpp"

namespace sluice::ipvs {
namespace {

// The next word of a line.
std::string_view take_word(std::string_view& line) noexcept {
  while (!line.empty() && line[0] == ' ') line.remove_prefix(1);
  return lib::take_part(line, ' ');
}

// The rest after `label`, without leading blanks.
bool labelled(std::string_view line, std::string_view label, std::string_view& value) noexcept {
  if (line.substr(0, label.size()) != label) return false;
  line.remove_prefix(label.size());
  while (!line.empty() && line[0] == ' ') line.remove_prefix(1);
  value = line;
  return true;
}

bool parse_set_address(std::string_view text, abi::Family family, abi::Address& address) noexcept {
  char buffer[INET6_ADDRSTRLEN];
  if (text.size() >= sizeof(buffer) || text.find('\0') != std::string_view::npos) return false;
  if (!text.empty()) std::memcpy(buffer, text.data(), text.size());
  buffer[text.size()] = '\0';
  return inet_pton(sdk::socket_family(family), buffer, address.bytes) == 1;
}

}  // namespace

std::optional<SetType> parse_type(std::string_view name) noexcept {
  for (const SetType type :
       {SetType::kIpPortIp, SetType::kIpPort, SetType::kIpPortNet, SetType::kPorts, SetType::kIp}) {
    if (name == type_name(type)) return type;
  }
  return std::nullopt;
}

std::optional<SetEntry> parse_entry(std::string_view text, SetType type, abi::Family family) noexcept {
  SetEntry entry;
  if (type == SetType::kPorts) return lib::read_number(text, entry.port) ? std::optional(entry) : std::nullopt;
  if (type == SetType::kIp) return parse_set_address(text, family, entry.address) ? std::optional(entry) : std::nullopt;
  if (!parse_set_address(lib::take_part(text, ','), family, entry.address)) return std::nullopt;
  const auto protocol = netfilter::parse_protocol(lib::take_part(text, ':'));
  if (!protocol) return std::nullopt;
  entry.protocol = *protocol;
  const bool has_other = text.find(',') != std::string_view::npos;
  if (!lib::read_number(lib::take_part(text, ','), entry.port)) return std::nullopt;
  if (has_other == (type == SetType::kIpPort)) return std::nullopt;
  if (type == SetType::kIpPort) return entry;

  const std::size_t bytes = sdk::address_bytes(family);
  entry.other_length = static_cast<std::uint8_t>(bytes * 8);
  const bool has_length = text.find('/') != std::string_view::npos;
  if (!parse_set_address(lib::take_part(text, '/'), family, entry.other)) return std::nullopt;
  if (!has_length) return entry;
  if (type == SetType::kIpPortIp || !lib::read_number(text, entry.other_length)) return std::nullopt;
  abi::Address network = entry.other;
  lib::clear_host_bits(network.bytes, sizeof(network.bytes), entry.other_length);
  // The kernel lists addresses without host bits.
  return entry.other_length <= bytes * 8 && network == entry.other ? std::optional(entry) : std::nullopt;
}

void ListingParser::append(std::string_view piece) {
  while (!piece.empty()) {
    const std::size_t end = piece.find('\n');
    if (end == std::string_view::npos) {
      rest_.append(piece);
      return;
    }
    if (rest_.empty()) {
      line(piece.substr(0, end));
    } else {
      rest_.append(piece.substr(0, end));
      line(rest_);
      rest_.clear();
    }
    piece.remove_prefix(end + 1);
  }
}

void ListingParser::finish() {
  if (!rest_.empty()) line(rest_);
  rest_.clear();
}

void ListingParser::line(std::string_view text) {
  if (members_) {
    const std::string_view element = take_word(text);
    if (element.empty()) return;
    std::optional<SetEntry> entry;
    if (type_) entry = parse_entry(element, *type_, listing_.family);
    // Exceptions (nomatch) are not entries.
    while (entry && !text.empty()) {
      if (take_word(text) == "nomatch") entry.reset();
    }
    if (entry)
      listing_.entries.push_back(*entry);
    else
      ++listing_.unread;
    return;
  }
  std::string_view value;
  if (labelled(text, "Name:", value)) {
    listing_.name = value;
  } else if (labelled(text, "Type:", value)) {
    listing_.type = value;
    type_ = parse_type(value);
  } else if (labelled(text, "Header:", value)) {
    header(value);
  } else if (labelled(text, "Number of entries:", value)) {
    std::uint64_t count = 0;
    if (lib::read_number(value, count)) {
      listing_.count = count;
      // Bounded, because the number comes from the kernel; the vector can grow beyond.
      listing_.entries.reserve(static_cast<std::size_t>(count < 1 << 20 ? count : 0));
    }
  } else if (text == "Members:") {
    members_ = true;
    // The entries of a hash of an unknown family cannot be parsed.
    if (type_ != SetType::kPorts && listing_.family == abi::Family{}) type_.reset();
  }
}

void ListingParser::header(std::string_view options) {
  while (!options.empty()) {
    const std::string_view option = take_word(options);
    if (option == "family") {
      const std::string_view family = take_word(options);
      listing_.family = family == "inet" ? abi::Family::kIpv4 : family == "inet6" ? abi::Family::kIpv6 : abi::Family{};
    } else if (option == "maxelem") {
      std::uint32_t maxelem = 0;
      if (lib::read_number(take_word(options), maxelem)) listing_.maxelem = maxelem;
    } else if (option == "timeout" || option == "netmask" || option == "bitmask") {
      listing_.options.append(" ").append(option).append(" ").append(take_word(options));
    } else if (option == "range") {
      const std::string_view range = take_word(options);
      if (range != "0-65535") listing_.options.append(" range ").append(range);
    }
  }
}

}  // namespace sluice::ipvs
