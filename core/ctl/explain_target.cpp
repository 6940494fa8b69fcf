// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/ctl/explain_target.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "core/ctl/fields.hpp"
#include "lib/number.hpp"

namespace sluice::ctl {
namespace {

using nlohmann::json;

// Addresses for documentation, which no pod and no node has.
constexpr const char* kOutside4 = "192.0.2.1";
constexpr const char* kOutside6 = "2001:db8::1";

// A target that names a port.
struct NamedPort {
  std::optional<lib::IpAddress> address;  // empty: a node port
  std::uint16_t port = 0;
  std::string protocol;  // empty: not given
};

std::optional<NamedPort> parse_named_port(std::string text) {
  NamedPort out;
  if (const auto slash = text.rfind('/'); slash != std::string::npos) {
    out.protocol = text.substr(slash + 1);
    if (out.protocol != "tcp" && out.protocol != "udp" && out.protocol != "sctp") return std::nullopt;
    text.resize(slash);
  }
  if (const auto socket = lib::SocketAddress::parse(text)) {
    out.address = socket->address;
    out.port = socket->port;
    return out;
  }
  const std::string_view digits = std::string_view(text).substr(text.starts_with(':') ? 1 : 0);
  const auto number = lib::parse_number<std::uint16_t>(digits);
  if (!number || *number == 0) return std::nullopt;
  out.port = *number;
  return out;
}

// A frontend in the reply to "services".
struct Found {
  lib::Family family{};
  std::optional<lib::IpAddress> address;  // empty: a node port
  std::uint16_t port = 0;
  std::string protocol;
  friend bool operator==(const Found&, const Found&) = default;
};

bool matches(const NamedPort& wanted, const Found& found) {
  return wanted.port == found.port && (wanted.protocol.empty() || wanted.protocol == found.protocol) &&
         (!wanted.address || !found.address || *wanted.address == *found.address);
}

std::optional<Found> read_frontend(const json& port, const json& frontend, lib::Family family) {
  Found out{family, {}, 0, text(port, "protocol")};
  const json& number = member(frontend, "port");
  if (!number.is_number_integer()) return std::nullopt;
  out.port = static_cast<std::uint16_t>(number.get<std::int64_t>());
  if (text(frontend, "kind") == "NodePort") return out;
  const json& addresses = member(frontend, "addresses");
  if (!addresses.is_array() || addresses.empty()) return std::nullopt;
  out.address = lib::IpAddress::parse(text(addresses.front()));
  return out.address ? std::optional(out) : std::nullopt;
}

std::vector<Found> frontends_in(const json& services) {
  std::vector<Found> out;
  for (const json& part : member(services, "families")) {
    const lib::Family family = text(part, "family") == "IPv6" ? lib::Family::ipv6 : lib::Family::ipv4;
    for (const json& port : member(part, "service_ports")) {
      for (const json& frontend : member(port, "frontends")) {
        const auto found = read_frontend(port, frontend, family);
        if (found && std::find(out.begin(), out.end(), *found) == out.end()) out.push_back(*found);
      }
    }
  }
  return out;
}

json request(const Found& to, const Client& client) {
  json packet = {{"port", to.port}, {"protocol", to.protocol}, {"from", client.from}};
  if (to.address) packet["address"] = to.address->to_string();
  if (client.address) packet["client"] = client.address->to_string();
  if (!client.address && client.from == "outside")
    packet["client"] = to.family == lib::Family::ipv4 ? kOutside4 : kOutside6;
  return {{"command", "inspect"},
          {"kind", "explanation"},
          {"family", to.family == lib::Family::ipv4 ? 4 : 6},
          {"packet", std::move(packet)}};
}

}  // namespace

lib::Result<Client> parse_client(const std::string& text) {
  constexpr std::string_view kOutside = "outside";
  if (text == "node") return Client{};
  if (text == kOutside) return Client{std::string(kOutside), {}};
  const bool outside = text.starts_with("outside:");
  const auto address = lib::IpAddress::parse(outside ? std::string_view(text).substr(kOutside.size() + 1) : text);
  if (address) return Client{outside ? std::string(kOutside) : "pod", address};
  return lib::invalid("--from: '" + text +
                      "' is not known; allowed: node, the address of a pod, outside, outside:ADDRESS");
}

lib::Result<std::vector<json>> explanation_requests(const std::string& target, const Client& client,
                                                    const json& services) {
  std::vector<Found> packets = frontends_in(services);
  if (const auto named = parse_named_port(target)) {
    std::erase_if(packets, [&](const Found& one) { return !matches(*named, one); });
    // No Service has it: the packet is explained all the same.
    if (packets.empty() && named->address) {
      packets.push_back(
          {named->address->family(), named->address, named->port, named->protocol.empty() ? "tcp" : named->protocol});
    }
    // A packet to a node port goes to the address that was named.
    for (Found& one : packets) {
      if (named->address) one.address = named->address;
    }
  }
  if (client.address) {
    std::erase_if(packets, [&](const Found& one) { return one.family != client.address->family(); });
  }
  if (packets.empty()) return lib::invalid("no Service with an address or node port matches " + sanitized(target));
  if (packets.size() > kMostPackets) {
    return lib::invalid(sanitized(target) + " has " + std::to_string(packets.size()) +
                        " addresses and ports, and at most " + std::to_string(kMostPackets) +
                        " are explained; use ADDRESS:PORT");
  }
  std::vector<json> out;
  for (const Found& one : packets) out.push_back(request(one, client));
  return out;
}

json families_of(const json& services, const std::vector<json>& requests) {
  json out = {{"families", json::array()}};
  for (const json& part : member(services, "families")) {
    const json number = text(part, "family") == "IPv6" ? 6 : 4;
    const bool asked = std::any_of(requests.begin(), requests.end(),
                                   [&](const json& request) { return member(request, "family") == number; });
    if (asked) out["families"].push_back(part);
  }
  return out;
}

}  // namespace sluice::ctl
