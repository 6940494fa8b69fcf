// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conntrack/state.hpp"

#include <algorithm>
#include <unordered_set>

#include "lib/number.hpp"
#include "lib/text.hpp"

namespace sluice::conntrack {
namespace {

// One line per frontend: "10.96.0.10 53", for a node port "node-port 30053".
constexpr std::string_view kHeader = "sluice-udp-frontends 1";
constexpr std::string_view kNodePort = "node-port";

template <class Map>
void erase_pair(Map& map, const typename Map::key_type& key, const UdpPort* port) {
  const auto [first, last] = map.equal_range(key);
  const auto at = std::find_if(first, last, [&](const auto& entry) { return entry.second == port; });
  if (at != last) map.erase(at);
}

template <class Map, class Visit>
bool each(const Map& map, const typename Map::key_type& key, Visit&& visit) {
  const auto [first, last] = map.equal_range(key);
  std::for_each(first, last, [&](const auto& entry) { visit(*entry.second); });
  return first != last;
}

}  // namespace

void ConntrackState::index(const UdpPort* port) {
  for (const auto& frontend : port->frontends) by_frontend_.emplace(frontend, port);
  if (port->node_port != 0) by_node_port_.emplace(port->node_port, port);
}

void ConntrackState::unindex(const UdpPort* port) {
  for (const auto& frontend : port->frontends) erase_pair(by_frontend_, frontend, port);
  if (port->node_port != 0) erase_pair(by_node_port_, port->node_port, port);
}

void ConntrackState::set(const UdpPortKey& key, const UdpPortPtr& port, ConntrackWork& work) {
  const auto at = ports_.find(key);
  const UdpPort* before = at == ports_.end() ? nullptr : at->second.get();
  work.note(before, port.get());
  frontends_changed_ = frontends_changed_ || !before || !port || before->frontends != port->frontends ||
                       before->node_port != port->node_port;
  if (before != nullptr) unindex(before);
  if (port) {
    index(port.get());
    if (at == ports_.end()) {
      ports_.emplace(key, port);
    } else {
      at->second = port;
    }
  } else if (at != ports_.end()) {
    ports_.erase(at);
  }
}

void ConntrackState::apply(const UdpChange& change, ConntrackWork& work) {
  if (change.node_ports) scope_ = *change.node_ports;
  if (change.full) {
    std::unordered_set<UdpPortKey> here;
    for (const auto& [key, port] : change.ports) here.insert(key);
    std::vector<UdpPortKey> gone;
    for (const auto& [key, port] : ports_) {
      if (!here.contains(key)) gone.push_back(key);
    }
    for (const auto& key : gone) set(key, nullptr, work);
  }
  for (const auto& [key, port] : change.ports) set(key, port, work);
}

bool ConntrackState::at_node_port(const lib::IpAddress& address) const {
  return (scope_.loopback && address.family() == lib::Family::ipv4 && address.bytes()[0] == 127) ||
         std::binary_search(scope_.addresses.begin(), scope_.addresses.end(), address);
}

bool ConntrackState::of_this_node(const lib::IpAddress& address) const {
  return address.is_loopback() || std::binary_search(scope_.local.begin(), scope_.local.end(), address);
}

// Whether an endpoint sent this flow through a frontend that leads to the endpoint.
bool ConntrackState::is_reply(const Flow& flow) const {
  bool by_endpoint = false;
  const auto check = [&](const UdpPort& port) {
    by_endpoint = by_endpoint || std::binary_search(port.serving.begin(), port.serving.end(), flow.source);
  };
  const lib::SocketAddress& by = flow.reply_destination;
  if (!each(by_frontend_, by, check) && at_node_port(by.address)) each(by_node_port_, by.port, check);
  return by_endpoint;
}

ConntrackState::Verdict ConntrackState::judge(const Flow& flow, const ConntrackWork& work) const {
  bool served = false;
  bool by_endpoint = false;
  bool by_relay = false;
  const bool replied_here = of_this_node(flow.reply_source.address);
  const auto check = [&](const UdpPort& port) {
    served = served || port.served();
    by_endpoint = by_endpoint || std::binary_search(port.serving.begin(), port.serving.end(), flow.reply_source);
    by_relay = by_relay ||
               (replied_here && std::binary_search(port.relays.begin(), port.relays.end(), flow.reply_source.port));
  };
  const lib::SocketAddress& to = flow.destination;
  bool ours = each(by_frontend_, to, check);
  if (!ours && at_node_port(to.address)) ours = each(by_node_port_, to.port, check);
  if (ours) {
    if (by_relay) return Verdict::kValid;
    if (by_endpoint) return flow.redirected ? Verdict::kValid : Verdict::kThroughIpvs;
    // An untranslated flow becomes stale once the port has an endpoint.
    if (!flow.translated() && !served) return Verdict::kValid;
    return flow.translated() && replied_here ? Verdict::kStaleLocal : Verdict::kStale;
  }
  if (flow.is_reversed() && is_reply(flow)) return Verdict::kThroughIpvs;
  const bool retired = flow.translated() && (work.retired().contains(to) ||
                                             (work.retired_node_ports().contains(to.port) && at_node_port(to.address)));
  return retired ? Verdict::kStale : Verdict::kValid;
}

std::string ConntrackState::serialize_frontends() const {
  std::vector<std::string> lines;
  for (const auto& [frontend, port] : by_frontend_) {
    lines.push_back(frontend.address.to_string() + " " + std::to_string(frontend.port));
  }
  for (const auto& [node_port, port] : by_node_port_) {
    lines.push_back(std::string(kNodePort) + " " + std::to_string(node_port));
  }
  std::sort(lines.begin(), lines.end());
  std::string out(kHeader);
  out += '\n';
  for (const auto& line : lines) out += line + '\n';
  return out;
}

lib::Result<std::size_t> ConntrackState::parse_frontends(std::string_view text, ConntrackWork& work) {
  std::size_t number = 0;
  while (!text.empty()) {
    std::string_view line = lib::take_part(text, '\n');
    if (number++ == 0) {
      if (line != kHeader) return lib::invalid("line 1 is not \"" + std::string(kHeader) + "\"");
      continue;
    }
    const std::string_view where = lib::take_part(line, ' ');
    const auto port = lib::parse_number<std::uint16_t>(line, 1);
    const auto address = lib::IpAddress::parse(where);
    if (!port || (!address && where != kNodePort)) {
      return lib::invalid("line " + std::to_string(number) + " is neither \"ADDRESS PORT\" nor \"node-port PORT\"");
    }
    if (address) {
      work.note_retired({*address, *port});
    } else {
      work.note_retired_node_port(*port);
    }
  }
  return number == 0 ? 0 : number - 1;
}

}  // namespace sluice::conntrack
