// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/servers/connection_table.hpp"

#include <algorithm>
#include <array>
#include <fstream>

#include "lib/number.hpp"
#include "lib/protocol.hpp"
#include "sluice/sdk/address.hpp"

namespace sluice::ipvs {
namespace {

// Retransmissions and the last acknowledgement still need IPVS for a short time.
constexpr std::uint32_t kTimeWait = 120;  // seconds; not configurable
constexpr std::uint32_t kSettled = 5;
// By then the core has deleted the conntrack entry, so that the next packet does not reach IPVS: it scans idle flows
// often enough (ConntrackReconciler::Options::max_scan_interval).
constexpr std::uint32_t kQuiet = 30;

// IPv4: eight digits in written order; IPv6: the full form.
bool parse_address(std::string_view text, abi::Family family, abi::Address& out) {
  if (family == abi::Family::kIpv6) {
    const auto address = sdk::parse_address(std::string(text), family);
    if (address) out = *address;
    return address.has_value();
  }
  const auto number = lib::parse_hex<std::uint32_t>(text);
  if (text.size() != 8 || !number) return false;
  for (int i = 0; i < 4; ++i) out.bytes[i] = static_cast<std::uint8_t>(*number >> (24 - 8 * i));
  return true;
}

}  // namespace

std::optional<ServerConnection> parse_connection(std::string_view line, abi::Family family) {
  // Pro FromIP FPrt ToIP TPrt DestIP DPrt State Expires [PEName PEData]
  std::array<std::string_view, 9> words;
  std::size_t at = 0;
  for (std::string_view& word : words) {
    const std::size_t begin = line.find_first_not_of(" \t", at);
    if (begin == std::string_view::npos) return std::nullopt;
    at = std::min(line.find_first_of(" \t", begin), line.size());
    word = line.substr(begin, at - begin);
  }
  ServerConnection found;
  if (!lib::parse_upper_protocol(words[0], found.server.protocol) || !parse_address(words[1], family, found.client) ||
      !lib::read_number(words[2], found.client_port, 16) || !parse_address(words[3], family, found.server.address) ||
      !lib::read_number(words[4], found.server.port, 16) || !parse_address(words[5], family, found.real.address) ||
      !lib::read_number(words[6], found.real.port, 16) || !lib::read_number(words[8], found.expires)) {
    return std::nullopt;
  }
  found.state = words[7];
  return found;
}

bool is_alive(const ServerConnection& connection, const IpvsTimeouts& timeouts) {
  if (connection.is_template()) return false;
  switch (connection.server.protocol) {
    case abi::Protocol::kTcp:
      if (connection.state == "TIME_WAIT") return connection.expires + kSettled > kTimeWait;
      // A SYN of the endpoint on an ended connection: the client reused its port through another backend.
      return connection.state != "CLOSE" && connection.state != "SYN_SENT";
    case abi::Protocol::kUdp:
      return timeouts.udp == 0 || connection.expires + kQuiet > timeouts.udp;
    case abi::Protocol::kSctp:
      return connection.state != "CLOSED" && connection.state != "REJECTED";
  }
  return true;
}

bool visit_connections(const std::string& path, abi::Family family, const ConnectionVisitor& visitor,
                       const MoreTime& more) {
  std::ifstream in(path);
  if (!in) return false;
  for (std::string line; std::getline(in, line);) {
    if (!more()) return false;
    const auto connection = parse_connection(line, family);
    if (connection && !visitor(*connection)) return false;
  }
  return in.eof() && !in.bad();
}

}  // namespace sluice::ipvs
