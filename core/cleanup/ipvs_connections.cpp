// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cleanup/ipvs_connections.hpp"

#include <netinet/in.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "lib/files.hpp"
#include "lib/number.hpp"
#include "lib/protocol.hpp"
#include "lib/text.hpp"

namespace sluice::cleanup {
namespace {

// One line for each virtual server and each real server.
constexpr char kServerTable[] = "/proc/net/ip_vs";
constexpr std::size_t kLimit = 512u << 20;

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> out;
  while (!line.empty()) {
    if (const auto word = lib::take_part(line, ' '); !word.empty()) out.push_back(word);
  }
  return out;
}

// "AC1E0029:0050", "[fd00:0000:…:0029]:0050".
std::optional<VirtualServer> server(std::string_view protocol_name, std::string_view place) {
  VirtualServer out;
  const std::size_t colon = place.rfind(':');
  if (!lib::parse_upper_protocol(protocol_name, out.protocol) || colon == std::string_view::npos) return std::nullopt;
  const auto port = lib::parse_hex<std::uint16_t>(place.substr(colon + 1));
  if (!port) return std::nullopt;
  out.port = *port;
  std::string_view address = place.substr(0, colon);
  if (address.starts_with('[') && address.ends_with(']')) {
    const auto parsed = lib::IpAddress::parse(std::string(address.substr(1, address.size() - 2)));
    if (!parsed) return std::nullopt;
    out.address = *parsed;
    return out;
  }
  const auto bits = lib::parse_hex<std::uint32_t>(address);
  if (!bits || address.size() != 8) return std::nullopt;
  const std::uint8_t bytes[] = {static_cast<std::uint8_t>(*bits >> 24), static_cast<std::uint8_t>(*bits >> 16),
                                static_cast<std::uint8_t>(*bits >> 8), static_cast<std::uint8_t>(*bits)};
  out.address = lib::IpAddress::from_bytes(lib::Family::ipv4, bytes);
  return out;
}

}  // namespace

std::size_t count_ipvs_connections(std::string_view table, const IpvsOwnership& ownership) {
  std::size_t out = 0;
  bool ours = false;
  while (!table.empty()) {
    const auto line = words(lib::take_part(table, '\n'));
    if (line.empty()) continue;
    if (line[0] != "->") {
      const auto found = line.size() < 2 ? std::nullopt : server(line[0], line[1]);
      ours = found && ownership.is_ours(*found);
      continue;
    }
    // "-> address Masq weight active inactive"
    if (!ours || line.size() < 6) continue;
    out += lib::parse_number<std::size_t>(line[4]).value_or(0) + lib::parse_number<std::size_t>(line[5]).value_or(0);
  }
  return out;
}

bool has_ipvs_servers(std::string_view table, const IpvsOwnership& ownership) {
  while (!table.empty()) {
    const auto line = words(lib::take_part(table, '\n'));
    if (line.size() < 2 || line[0] == "->") continue;
    if (const auto found = server(line[0], line[1]); found && ownership.is_ours(*found)) return true;
  }
  return false;
}

bool ipvs_in_use() {
  const auto ownership = read_ipvs_ownership();
  if (!ownership || ownership->empty()) return false;
  const auto table = lib::read_file(kServerTable, kLimit);
  return table && has_ipvs_servers(*table, *ownership);
}

std::size_t ipvs_connections() {
  const auto ownership = read_ipvs_ownership();
  if (!ownership || ownership->empty()) return 0;
  const auto table = lib::read_file(kServerTable, kLimit);
  return table ? count_ipvs_connections(*table, *ownership) : 0;
}

}  // namespace sluice::cleanup
