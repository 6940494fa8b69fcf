// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/services/document.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/observe/services/given_line.hpp"
#include "core/observe/services/inspection_document.hpp"
#include "core/observe/services/kernel_lines.hpp"
#include "lib/protocol.hpp"
#include "lib/text.hpp"

namespace sluice::observe {
namespace {

using nlohmann::json;
using snapshot::DescribedPort;
using snapshot::Progress;
using store::ExplainedEndpoint;
using store::FrontendKind;
using store::Use;

// Texts for an enumeration with the values 0, 1, 2, …: in documents, and on pages.
struct Words {
  const char* value;
  const char* phrase;
};

constexpr std::array<Words, 9> kUses{{{"NotAsked", ""},
                                      {"Used", "used"},
                                      {"UsedWhileTerminating", "used while terminating, as no endpoint is ready"},
                                      {"NotReady", "not ready"},
                                      {"Terminating", "terminating, and serves no more"},
                                      {"OthersAreReady", "terminating, and others are ready"},
                                      {"HintedToOtherZones", "its hints name other zones"},
                                      {"HintedToOtherNodes", "its hints name other nodes"},
                                      {"NotOnThisNode", "not on this node"}}};
constexpr std::array<Words, 4> kProgress{{{"Given", ""},
                                          {"ChangePending", "changes at the next sync"},
                                          {"AdditionPending", "is added at the next sync"},
                                          {"RemovalPending", "is removed at the next sync"}}};
constexpr std::array<Words, 4> kAgreements{{{"NotRead", ""}, {"AsGiven", ""}, {"Differs", ""}, {"Missing", ""}}};
constexpr std::array<const char*, 5> kKinds{"", "ClusterIP", "ExternalIP", "LoadBalancer", "NodePort"};

template <class E, std::size_t N>
const Words& words(E value, const std::array<Words, N>& table) {
  return table[static_cast<std::size_t>(value)];
}

bool is_used(Use use) { return use == Use::used || use == Use::used_while_terminating; }

json packed(base::Symbol names) {
  json out = json::array();
  std::string_view rest = names.text();
  while (!rest.empty()) out.push_back(lib::take_part(rest, '\n'));
  return out;
}

std::string address_of(const ExplainedEndpoint& one, lib::Family family) {
  return lib::IpAddress::from_bytes(family, one.endpoint.address.data()).to_string();
}

json endpoint_json(const ExplainedEndpoint& one, lib::Family family) {
  return {{"address", address_of(one, family)},
          {"port", one.endpoint.port},
          {"node", std::string(one.node.text())},
          {"on_this_node", bool(one.endpoint.local)},
          {"ready", bool(one.endpoint.ready)},
          {"serving", bool(one.endpoint.serving)},
          {"terminating", bool(one.endpoint.terminating)},
          {"zone_hints", packed(one.zone_hints)},
          {"node_hints", packed(one.node_hints)},
          {"cluster_list", words(one.cluster, kUses).value},
          {"local_list", words(one.local, kUses).value}};
}

json targets_json(const plugin::InspectedTargets& from) {
  json targets = json::array();
  for (const auto& one : from.targets) targets.push_back(target_json(one));
  return {{"endpoints", std::move(targets)}, {"instead", from.instead}, {"remarks", from.remarks}};
}

json row_json(const plugin::InspectedFrontend& row) {
  if (!row.object.empty()) return {{"object", row.object}};
  json addresses = row.addresses;
  if (!row.address.empty()) addresses.push_back(row.address);
  const char* const otherwise = row.has(abi::kInspectedDropped)    ? "Drop"
                                : row.has(abi::kInspectedRejected) ? "Reject"
                                                                   : "";
  return {{"node_port", row.has(abi::kInspectedNodePort)},
          {"addresses", std::move(addresses)},
          {"every_address", row.has(abi::kInspectedEveryAddress)},
          {"port", row.port},
          {"protocol", row.protocol},
          {"session_affinity_seconds", row.affinity_seconds},
          {"masqueraded", row.has(abi::kInspectedMasqueraded)},
          {"targets", targets_json(row.targets)},
          {"targets_from_this_node", targets_json(row.node_targets)},
          {"without_target", otherwise},
          {"without_target_text", row.otherwise},
          {"restricted", row.has(abi::kInspectedRestricted)},
          {"source_ranges", row.source_ranges},
          {"source_ranges_text", row.ranges_instead},
          {"source_ranges_remarks", row.ranges_remarks},
          {"remarks", row.remarks}};
}

// The rows of an answer, by the index of their line.
class KernelRows {
 public:
  explicit KernelRows(const FamilyAnswer& answer) : rows_(answer.rows) {}
  json at(std::size_t place) const {
    return rows_ == nullptr || place >= rows_->size() ? json() : row_json((*rows_)[place]);
  }

 private:
  const std::vector<plugin::InspectedFrontend>* rows_;
};

json frontend_json(const store::ServicePort& port, const store::Frontend& frontend, const NodePortAddresses& node_ports,
                   KernelLines* kernel, const KernelRows& rows) {
  json addresses = json::array();
  if (frontend.kind != FrontendKind::node_port)
    addresses.push_back(frontend.address.to_string());
  else
    for (const auto& address : node_ports.addresses) addresses.push_back(address.to_string());
  const bool local = uses_local_list(port, frontend);
  json out = {{"kind", kKinds[static_cast<std::size_t>(frontend.kind)]},
              {"addresses", std::move(addresses)},
              {"every_address", frontend.kind == FrontendKind::node_port && node_ports.every},
              {"port", frontend.port},
              {"policy", local ? "Local" : "Cluster"},
              {"without_endpoints", local && port.has_any_endpoint ? "Drop" : "Reject"},
              {"kernel", words(Agreement::not_read, kAgreements).value},
              {"kernel_line", nullptr},
              {"kernel_frontend", nullptr}};
  if (kernel == nullptr) return out;
  const auto place = kernel->take(frontend_text(port, frontend));
  const std::string_view line = place ? (*kernel)[*place] : std::string_view();
  out["kernel"] = words(compare(line, endpoints_for(port, frontend)), kAgreements).value;
  if (!line.empty()) out["kernel_line"] = line;
  if (place) out["kernel_frontend"] = rows.at(*place);
  return out;
}

json port_json(const DescribedPort& described, const NodePortAddresses& node_ports, KernelLines* kernel,
               const KernelRows& rows) {
  const store::ServicePort& port = described.explained.port;
  json frontends = json::array(), endpoints = json::array(), ranges = json::array();
  for (const auto& frontend : port.frontends) frontends.push_back(frontend_json(port, frontend, node_ports, kernel, rows));
  for (const auto& one : described.explained.endpoints) endpoints.push_back(endpoint_json(one, port.family));
  for (const auto& range : port.source_ranges) ranges.push_back(range.to_string());
  return {{"namespace", std::string(port.key.service.name_space.text())},
          {"service", port.key.service.name},
          {"port_name", std::string(port.key.port_name.text())},
          {"protocol", std::string(lib::protocol_name(port.key.protocol))},
          {"progress", words(described.progress, kProgress).value},
          {"not_served", port.withheld},
          {"internal_traffic_policy", port.internal_local ? "Local" : "Cluster"},
          {"external_traffic_policy", port.external_local ? "Local" : "Cluster"},
          {"session_affinity_seconds", port.affinity_seconds},
          {"health_check_node_port", port.health_check_node_port},
          {"source_ranges", std::move(ranges)},
          {"frontends", std::move(frontends)},
          {"endpoints", std::move(endpoints)}};
}

json head(const FamilyAnswer& answer) {
  return {{"family", lib::family_name(answer.family)},
          {"backend", answer.backend},
          {"view", answer.kernel != nullptr ? "kernel" : "given"},
          {"generation", answer.description.generation}};
}

std::vector<std::size_t> unwanted(const KernelLines& kernel, const ServiceQuery& query) {
  std::vector<std::size_t> out = kernel.untaken();
  std::erase_if(out, [&](std::size_t place) { return !query.wants_unwanted(kernel[place]); });
  return out;
}

// "used", "not used: not ready", "used for clients of this node; for others not used: not on this node".
std::string use_phrase(const ExplainedEndpoint& one) {
  const auto phrase = [](Use use) {
    const char* const text = words(use, kUses).phrase;
    return is_used(use) ? std::string(text) : std::string("not used: ") + text;
  };
  if (one.local == Use::not_asked) return one.cluster == Use::not_asked ? "not used" : phrase(one.cluster);
  if (one.cluster == Use::not_asked || phrase(one.cluster) == phrase(one.local)) return phrase(one.local);
  return "policy Cluster: " + phrase(one.cluster) + "; policy Local: " + phrase(one.local);
}

void add_endpoint_rows(const DescribedPort& described, std::vector<std::string>& lines) {
  std::vector<const ExplainedEndpoint*> rows;
  for (const auto& one : described.explained.endpoints) rows.push_back(&one);
  // Unused endpoints first, in case not all get a row.
  std::stable_partition(rows.begin(), rows.end(),
                        [](const auto* one) { return !is_used(one->cluster) && !is_used(one->local); });
  for (std::size_t i = 0; i < std::min(rows.size(), kMaxEndpointRows); ++i) {
    const ExplainedEndpoint& one = *rows[i];
    const auto address = lib::IpAddress::from_bytes(described.explained.port.family, one.endpoint.address.data());
    lines.push_back("  endpoint " + lib::host_port(address, one.endpoint.port) +
                    (one.node.empty() ? "" : " on node " + std::string(one.node.text())) + ": " + use_phrase(one));
  }
  if (rows.size() > kMaxEndpointRows) {
    lines.push_back("  and " + std::to_string(rows.size() - kMaxEndpointRows) + " endpoints more; all are in -o json");
  }
}

void add_frontend(const DescribedPort& described, const store::Frontend& frontend, const NodePortAddresses& node_ports,
                  KernelLines* kernel, std::vector<std::string>& lines) {
  const store::ServicePort& port = described.explained.port;
  const auto given = [&] { return shortened(given_line(port, frontend, node_ports), kMaxListedEndpoints); };
  if (kernel == nullptr) {
    lines.push_back(given());
    return;
  }
  const auto place = kernel->take(frontend_text(port, frontend));
  const std::string_view line = place ? (*kernel)[*place] : std::string_view();
  const Agreement agreement = compare(line, endpoints_for(port, frontend));
  lines.push_back(line.empty() ? frontend_text(port, frontend) + " is not in the kernel"
                               : shortened(line, kMaxListedEndpoints));
  if (agreement != Agreement::as_given && described.progress == Progress::delivered)
    lines.push_back("  the backend was given: " + given());
}

void add_port(const DescribedPort& described, const NodePortAddresses& node_ports, KernelLines* kernel, bool rows,
              std::vector<std::string>& lines) {
  for (const auto& frontend : described.explained.port.frontends) add_frontend(described, frontend, node_ports, kernel, lines);
  if (described.progress != Progress::delivered) {
    lines.push_back("  " + described.explained.port.key.to_string() + " " + words(described.progress, kProgress).phrase);
  }
  if (const auto& why = described.explained.port.withheld; !why.empty()) {
    lines.push_back("  " + described.explained.port.key.to_string() + " is served in part: " + why);
  }
  if (rows) add_endpoint_rows(described, lines);
}

}  // namespace

json services_page(const FamilyAnswer& answer, const ServiceQuery& query) {
  std::optional<KernelLines> kernel;
  if (answer.kernel != nullptr) kernel.emplace(*answer.kernel);
  const NodePortAddresses node_ports = node_port_addresses(answer.description.node.get());
  const bool rows = !query.everything() && answer.description.ports.size() <= kMaxPortsWithRows;
  std::vector<std::string> lines;
  for (const auto& described : answer.description.ports) {
    add_port(described, node_ports, kernel ? &*kernel : nullptr, rows, lines);
  }
  for (const auto& one : answer.description.not_proxied)
    lines.push_back(one.name.to_string() + " is not proxied: " + one.reason);
  if (kernel) {
    for (const std::size_t place : unwanted(*kernel, query)) {
      lines.push_back(shortened((*kernel)[place], kMaxListedEndpoints));
    }
  }
  json out = head(answer);
  out["lines"] = std::move(lines);
  return out;
}

json services_document(const FamilyAnswer& answer, const ServiceQuery& query) {
  std::size_t endpoints = 0;
  for (const auto& described : answer.description.ports) endpoints += described.explained.endpoints.size();
  if (endpoints > kMaxDocumentEndpoints) {
    return {{"family", lib::family_name(answer.family)},
            {"error", std::to_string(endpoints) + " endpoints are too many for one document, which has at most " +
                          std::to_string(kMaxDocumentEndpoints) + "; ask for a namespace or for one Service"}};
  }
  std::optional<KernelLines> kernel;
  if (answer.kernel != nullptr) kernel.emplace(*answer.kernel);
  const NodePortAddresses node_ports = node_port_addresses(answer.description.node.get());
  const KernelRows rows(answer);
  json out = head(answer);
  json& ports = out["service_ports"] = json::array();
  for (const auto& described : answer.description.ports) {
    ports.push_back(port_json(described, node_ports, kernel ? &*kernel : nullptr, rows));
  }
  json& not_proxied = out["not_proxied"] = json::array();
  for (const auto& one : answer.description.not_proxied) {
    not_proxied.push_back(
        {{"namespace", std::string(one.name.name_space.text())}, {"service", one.name.name}, {"reason", one.reason}});
  }
  json& lines = out["unwanted"] = json::array();
  json& objects = out["unwanted_frontends"] = json::array();
  if (!kernel) return out;
  for (const std::size_t place : unwanted(*kernel, query)) {
    lines.push_back((*kernel)[place]);
    if (json row = rows.at(place); !row.is_null()) objects.push_back(std::move(row));
  }
  return out;
}

}  // namespace sluice::observe
