// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/services/inspect_command.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "core/observe/services/inspection_document.hpp"
#include "core/observe/services/query.hpp"
#include "core/observe/services/request_value.hpp"
#include "lib/protocol.hpp"

namespace sluice::observe {
namespace {

using nlohmann::json;

struct KindName {
  const char* name;
  abi::InspectionKind kind;
};
constexpr KindName kInspectedKinds[] = {{"counters", abi::InspectionKind::kInspectCounters},
                                        {"drift", abi::InspectionKind::kInspectDrift},
                                        {"explanation", abi::InspectionKind::kInspectExplanation}};

struct Origin {
  const char* name;
  std::uint32_t flags;
};
constexpr Origin kOrigins[] = {{"node", abi::kPacketOfNode}, {"pod", abi::kPacketOfPod}, {"outside", 0}};

// The packet of a request. Addresses that are missing are those of the node.
struct AskedPacket {
  std::optional<lib::IpAddress> address;
  std::optional<lib::IpAddress> client;
  std::uint16_t port = 0;
  abi::Protocol protocol{};
  const Origin* origin = nullptr;
};

struct Inquiry {
  KindName kind;
  ServiceQuery query;
  AskedPacket packet;
};

// The entry with this name. Throws with `complaint`.
template <class Entry, std::size_t N>
const Entry& named(const Entry (&table)[N], const std::string& name, const char* complaint) {
  const auto* const found =
      std::find_if(std::begin(table), std::end(table), [&](const Entry& one) { return one.name == name; });
  if (found == std::end(table)) throw std::runtime_error(complaint);
  return *found;
}

std::optional<lib::IpAddress> address_value(const json& request, const char* key, const std::string& complaint) {
  const auto text = request_value<std::string>(request, key, {}, complaint.c_str());
  if (text.empty()) return std::nullopt;
  const auto address = lib::IpAddress::parse(text);
  if (!address) throw std::runtime_error(complaint);
  return address;
}

AskedPacket read_packet(const json& request) {
  const auto found = request.find("packet");
  if (found == request.end() || !found->is_object()) throw std::runtime_error("an explanation needs a packet");
  AskedPacket out;
  out.address = address_value(*found, "address", "packet.address must be an IP address");
  out.client = address_value(*found, "client", "packet.client must be an IP address");
  const auto port = request_value<std::uint64_t>(*found, "port", 0, "packet.port must be a number");
  if (port == 0 || port > UINT16_MAX) throw std::runtime_error("packet.port must be 1 to 65535");
  out.port = static_cast<std::uint16_t>(port);
  const auto protocol = request_value<std::string>(*found, "protocol", "tcp", "packet.protocol must be a string");
  const auto known = std::find_if(lib::kProtocols.begin(), lib::kProtocols.end(),
                                  [&](const lib::ProtocolNames& one) { return one.lower == protocol; });
  if (known == lib::kProtocols.end()) throw std::runtime_error("packet.protocol must be tcp, udp or sctp");
  out.protocol = static_cast<abi::Protocol>(known->number);
  out.origin = &named(kOrigins, request_value<std::string>(*found, "from", "node", "packet.from must be a string"),
                      "packet.from must be node, pod or outside");
  if (!out.client && out.origin->flags != abi::kPacketOfNode)
    throw std::runtime_error("packet.client is missing: the address of the client");
  if (out.client && out.address && out.client->family() != out.address->family())
    throw std::runtime_error("packet.client and packet.address must be of one family");
  return out;
}

Inquiry read_inquiry(const json& request) {
  const auto kind = named(kInspectedKinds, request_value<std::string>(request, "kind", {}, "kind must be a string"),
                          "kind must be counters, drift or explanation");
  const auto text = request_value<std::string>(request, "query", {}, "query must be a string");
  const auto query = ServiceQuery::parse(text);
  if (!query) throw std::runtime_error(query.status().message());
  const bool explains = kind.kind == abi::InspectionKind::kInspectExplanation;
  if (explains ? !query->everything() : !query->everything() && !query->by_name()) {
    throw std::runtime_error(
        std::string(kind.name) + ": '" + text +
        "' does not select by name; allowed: NAMESPACE/NAME, NAMESPACE/NAME:PORT, NAMESPACE or NAME");
  }
  return {kind, *query, explains ? read_packet(request) : AskedPacket()};
}

abi::Address flat(const lib::IpAddress& from) {
  abi::Address out{};
  std::copy(from.bytes().begin(), from.bytes().end(), out.bytes);
  return out;
}

std::optional<lib::Family> family_of(const AskedPacket& packet) {
  if (packet.address) return packet.address->family();
  return packet.client ? std::optional(packet.client->family()) : std::nullopt;
}

json packet_json(const abi::InspectedPacket& packet, const Inquiry& asked, lib::Family family) {
  return {{"address", lib::IpAddress::from_bytes(family, packet.address.bytes).to_string()},
          {"port", packet.port},
          {"protocol", lib::protocol_name(packet.protocol)},
          {"from", asked.packet.origin->name},
          {"client", lib::IpAddress::from_bytes(family, packet.client.bytes).to_string()}};
}

json inspected(const Gathering::Part& part, const Inquiry& asked, const abi::InspectedPacket* packet) {
  if (!part.inspects) return part.failure("backend " + part.view.backend + " cannot read the kernel");
  if (!part.inspection->ok()) {
    return part.failure(part.inspection->status(part.view.backend, "inspect").message());
  }
  json out = {{"family", lib::family_name(part.view.family)},
              {"backend", part.view.backend},
              {"rows", inspected_rows(*part.inspection, asked.kind.kind)}};
  if (packet != nullptr) out["packet"] = packet_json(*packet, asked, part.view.family);
  return out;
}

plugin::InspectionRequest rows_request(const std::shared_ptr<const Inquiry>& asked) {
  plugin::InspectionRequest out;
  out.kind = asked->kind.kind;
  out.name = asked->query.service_name();
  if (asked->query.everything()) return out;
  out.wants = [asked](const plugin::InspectedKey& key) {
    return !key.service.empty() && asked->query.may_match({base::Symbol(key.name_space), key.service});
  };
  return out;
}

// The packet, with the addresses that are missing.
abi::InspectedPacket packet_of(const AskedPacket& asked, const snapshot::NodeFacts* node) {
  const auto or_node = [node](const std::optional<lib::IpAddress>& given) {
    return given ? flat(*given) : node != nullptr ? flat(node->node_ip) : abi::Address();
  };
  abi::InspectedPacket out{};
  out.flags = asked.origin->flags;
  out.client = or_node(asked.client);
  out.address = or_node(asked.address);
  out.port = asked.port;
  out.protocol = asked.protocol;
  return out;
}

// Asks for the packet once the addresses of the node are known; `packet` is written before the backend is asked.
void explain(const std::shared_ptr<Gathering>& gathering, std::size_t part, const std::shared_ptr<const Inquiry>& asked,
             const std::shared_ptr<abi::InspectedPacket>& packet) {
  snapshot::DescribeRequest request;
  request.may_want = [](const model::ObjectName&) { return false; };
  request.wants = [](const store::ExplainedPort&, const snapshot::NodeFacts*) { return false; };
  request.wanted = [gathering] { return gathering->wanted(); };
  request.done = [gathering, part, asked, packet](const snapshot::Description& description) {
    *packet = packet_of(asked->packet, description.node.get());
    plugin::InspectionRequest question;
    question.kind = abi::InspectionKind::kInspectExplanation;
    question.packet = *packet;
    gathering->question(part).view.inspect(
        {std::move(question), [gathering] { return gathering->wanted(); },
         [gathering, part](plugin::InspectionOutcome out) { gathering->put(part, std::move(out)); }});
  };
  gathering->question(part).view.describe(std::move(request));
}

}  // namespace

ControlServer::Pending InspectCommand::operator()(const json& request, ControlReply reply) const {
  const auto asked = std::make_shared<const Inquiry>(read_inquiry(request));
  const bool explains = asked->kind.kind == abi::InspectionKind::kInspectExplanation;
  const auto family = family_of(asked->packet);
  if (explains && !family && request.find("family") == request.end())
    throw std::runtime_error("packet.address is missing; for an address of this node, family is needed");
  std::vector<Gathering::Part> parts;
  for (ServiceView& view : views_in(request, views_())) {
    if (family && view.family != *family) continue;
    const bool inspects = view.inspect != nullptr;
    parts.push_back({std::move(view), inspects, false});
  }
  if (parts.empty() && request.find("family") != request.end())
    throw std::runtime_error("packet and family must be of one family");
  if (parts.empty()) throw std::runtime_error(std::string(lib::family_name(*family)) + " is not served on this node");

  const auto packet = explains ? std::make_shared<abi::InspectedPacket>() : nullptr;
  const auto render = [asked, packet](const Gathering::Part& part) { return inspected(part, *asked, packet.get()); };
  const auto gathering = std::make_shared<Gathering>(std::move(parts), render, std::string(), std::move(reply));
  for (std::size_t part = 0; part < gathering->size(); ++part) {
    if (!gathering->question(part).inspects) continue;
    if (explains) {
      explain(gathering, part, asked, packet);
    } else {
      gathering->question(part).view.inspect(
          {rows_request(asked), [gathering] { return gathering->wanted(); },
           [gathering, part](plugin::InspectionOutcome out) { gathering->put(part, std::move(out)); }});
    }
  }
  gathering->begin();
  return {timeout_, [gathering, timeout = timeout_] { return gathering->late(timeout); }};
}

}  // namespace sluice::observe
