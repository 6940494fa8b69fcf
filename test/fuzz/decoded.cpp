// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "test/fuzz/decoded.hpp"

#include <type_traits>
#include <variant>

#include "lib/protocol.hpp"
#include "test/fuzz/target.hpp"

namespace sluice::fuzz {
namespace {

template <class Items>
std::string joined(const Items& items) {
  std::string out;
  for (const auto& value : items) out += value.to_string() + ",";
  return out;
}

std::string port_text(base::Symbol name, model::Protocol protocol, std::uint16_t port) {
  return std::string(name.text()) + "/" + std::string(lib::protocol_name(protocol)) + "/" + std::to_string(port);
}

std::string text_of(const model::Service& service) {
  std::string out = "Service " + service.name.to_string() + " type " + std::to_string(static_cast<int>(service.type)) +
                    " ips " + joined(service.cluster_ips) + " external " + joined(service.external_ips) + " lb " +
                    joined(service.load_balancer_ips) + " ranges " + joined(service.source_ranges) + " affinity " +
                    std::to_string(service.affinity_seconds) + " health " +
                    std::to_string(service.health_check_node_port) + " flags " + std::to_string(service.headless) +
                    std::to_string(service.internal_local) + std::to_string(service.external_local);
  for (const auto& port : service.ports) {
    out += " port " + port_text(port.name, port.protocol, port.port) + "/" + std::to_string(port.node_port);
  }
  return out;
}

std::string text_of(const model::EndpointSlice& slice) {
  std::string out = "EndpointSlice " + slice.name.to_string() + " of " + slice.service.to_string();
  for (const auto& port : slice.ports) out += " port " + port_text(port.name, port.protocol, port.port);
  for (const auto& endpoint : slice.endpoints) {
    out += " endpoint " + lib::IpAddress::from_bytes(slice.family, endpoint.address.data()).to_string() + "/" +
           std::string(endpoint.node.text()) + "/" + std::string(endpoint.zone_hints.text()) + "/" +
           std::string(endpoint.node_hints.text()) + "/" + std::to_string(endpoint.ready) +
           std::to_string(endpoint.serving) + std::to_string(endpoint.terminating);
  }
  return out;
}

std::string text_of(const model::Node& node) {
  return "Node " + node.name + " zone " + node.zone + " ips " + joined(node.internal_ips) + " external " +
         joined(node.external_ips) + " cidrs " + joined(node.pod_cidrs) + " leaving " + std::to_string(node.leaving);
}

std::string text_of(const model::ServiceCidr& service_cidr) {
  return "ServiceCIDR " + service_cidr.name + " cidrs " + joined(service_cidr.cidrs);
}

std::string text_of(const kube::Object& object) {
  return std::visit([](const auto& value) { return text_of(value); }, object);
}
std::string text_of(const kube::Ignored& ignored) { return "ignored: " + ignored.reason; }
std::string text_of(const kube::WrongKind& wrong) { return "of kind " + wrong.kind; }
std::string text_of(const kube::Failed& failed) { return "failed: " + failed.to_string(); }
std::string text_of(const kube::Slices& slices) {
  std::string out;
  for (const auto& slice : slices.slices) out += text_of(slice) + ", ";
  return out;
}

}  // namespace

std::string describe_decoded(const kube::Decoded& decoded) {
  std::string out = decoded.name.to_string() + "@" + decoded.resource_version + " ";
  out += std::visit([](const auto& value) { return text_of(value); }, decoded.result);
  for (const auto& note : decoded.notes) out += "; note: " + note;
  return out;
}

void require_sound(const kube::Object& object) {
  if (const auto* service = std::get_if<model::Service>(&object)) {
    FUZZ_REQUIRE(!service->name.name.empty() && !service->name.name_space.empty(), "a Service has a name");
    FUZZ_REQUIRE(service->cluster_ips.size() <= 2, "a Service has one cluster IP a family");
    for (const auto& port : service->ports) FUZZ_REQUIRE(port.port != 0, "a Service's port has a number");
  } else if (const auto* slice = std::get_if<model::EndpointSlice>(&object)) {
    FUZZ_REQUIRE(!slice->name.name.empty() && !slice->name.name_space.empty(), "an EndpointSlice has a name");
    for (const auto& port : slice->ports) FUZZ_REQUIRE(port.port != 0, "an EndpointSlice's port has a number");
  } else if (const auto* service_cidr = std::get_if<model::ServiceCidr>(&object)) {
    FUZZ_REQUIRE(!service_cidr->name.empty(), "a ServiceCIDR has a name");
    for (const auto& cidr : service_cidr->cidrs) FUZZ_REQUIRE(cidr.length() != 0, "a ServiceCIDR is not everything");
  } else {
    FUZZ_REQUIRE(!std::get<model::Node>(object).name.empty(), "a Node has a name");
  }
}

void require_sound(const kube::Decoded& decoded) {
  if (const auto* object = std::get_if<kube::Object>(&decoded.result)) {
    require_sound(*object);
  } else if (const auto* slices = std::get_if<kube::Slices>(&decoded.result)) {
    for (const auto& slice : slices->slices) require_sound(kube::Object(slice));
  } else if (const auto* failed = std::get_if<kube::Failed>(&decoded.result)) {
    FUZZ_REQUIRE(!failed->problem.empty(), "a refusal says why");
  }
  for (const auto& note : decoded.notes) FUZZ_REQUIRE(!note.empty(), "a note says something");
}

}  // namespace sluice::fuzz
