// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/sockets/socket_table.hpp"

#include <netinet/tcp.h>

#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>

#include "lib/number.hpp"
#include "sluice/sdk/address.hpp"

namespace sluice::sockets {
namespace {

// The kernel prints addresses as 32-bit words in host byte order.
std::optional<abi::Address> parse_words(std::string_view hex) {
  abi::Address address{};
  if (hex.size() % 8 != 0 || hex.size() / 2 > sizeof(address.bytes)) return std::nullopt;
  for (std::size_t at = 0; at < hex.size(); at += 8) {
    const auto word = lib::parse_hex<std::uint32_t>(hex.substr(at, 8));
    if (!word) return std::nullopt;
    std::memcpy(address.bytes + at / 2, &*word, sizeof(*word));
  }
  return address;
}

// "  0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000  0 12345 …"
std::optional<Socket> parse_row(const std::string& line) {
  std::istringstream words(line);
  std::string number, local, remote, state, queues, timer, retransmits, user, timeout;
  Socket row;
  if (!(words >> number >> local >> remote >> state >> queues >> timer >> retransmits >> user >> timeout >>
        row.inode)) {
    return std::nullopt;
  }
  const std::size_t colon = local.find(':');
  if (colon == std::string::npos) return std::nullopt;
  const auto address = parse_words(local.substr(0, colon));
  if (!address) return std::nullopt;
  row.address = *address;
  const bool complete =
      lib::read_number(local.substr(colon + 1), row.port, 16) && lib::read_number(state, row.state, 16);
  return complete ? std::optional(row) : std::nullopt;
}

}  // namespace

void each_socket(const std::string& table, const std::function<bool(const Socket&)>& visit) {
  std::ifstream file("/proc/thread-self/net/" + table);
  std::string line;
  std::getline(file, line);  // titles
  while (std::getline(file, line)) {
    const auto row = parse_row(line);
    if (row && !visit(*row)) return;
  }
}

std::vector<Listener> listeners(abi::Family family, abi::Protocol protocol) {
  std::vector<Listener> found;
  const bool tcp = protocol == abi::Protocol::kTcp;
  if (!tcp && protocol != abi::Protocol::kUdp) return found;
  const std::string name = tcp ? "tcp" : "udp";
  const auto read = [&](const std::string& table, bool only_any) {
    each_socket(table, [&](const Socket& socket) {
      // TCP sockets after the listeners are connections. Connected UDP sockets are skipped likewise.
      if (socket.state != (tcp ? TCP_LISTEN : TCP_CLOSE)) return !tcp;
      if (!only_any || sdk::is_unspecified(socket.address)) found.push_back({socket.address, socket.port});
      return true;
    });
  };
  if (family == abi::Family::kIpv6) {
    read(name + "6", false);
  } else {
    read(name, false);
    read(name + "6", true);
  }
  return found;
}

}  // namespace sluice::sockets
