// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Makes Services, slices and Nodes for tests.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "core/model/event.hpp"

namespace sluice::test {

inline model::ObjectName object(const std::string& name_space, const std::string& name) {
  return {base::Symbol(name_space), name};
}

// ns1/svc1:p80 TCP 172.30.0.41:80, as the conformance cases have it.
inline model::Service service(const std::string& name = "svc1") {
  model::Service out;
  out.name = object("ns1", name);
  out.cluster_ips = {*lib::IpAddress::parse("172.30.0.41")};
  out.ports = {{base::Symbol("p80"), model::Protocol::tcp, 80, 0}};
  return out;
}

struct EndpointSpec {
  std::string address;
  std::string node = "other";
  std::string state = "ready";  // ready | terminating (serving) | gone (terminating, not serving) | unready
  std::vector<std::string_view> zones = {};
  std::vector<std::string_view> nodes = {};
};

inline model::SliceEndpoint endpoint(const EndpointSpec& spec) {
  model::SliceEndpoint out;
  const auto ip = *lib::IpAddress::parse(spec.address);
  out.address = ip.bytes();
  out.node = base::Symbol(spec.node);
  out.ready = spec.state == "ready";
  out.serving = spec.state == "ready" || spec.state == "terminating";
  out.terminating = spec.state == "terminating" || spec.state == "gone";
  out.zone_hints = model::pack_names(spec.zones);
  out.node_hints = model::pack_names(spec.nodes);
  return out;
}

inline model::EndpointSlice slice(const std::string& name, const std::vector<EndpointSpec>& endpoints,
                                  const std::string& service_name = "svc1") {
  model::EndpointSlice out;
  out.name = object("ns1", name);
  out.service = object("ns1", service_name);
  out.ports = {{base::Symbol("p80"), model::Protocol::tcp, 80}};
  for (const auto& spec : endpoints) {
    out.family = lib::IpAddress::parse(spec.address)->family();
    out.endpoints.push_back(endpoint(spec));
  }
  return out;
}

// Zone and pod of each endpoint: "zone/pod" → UID "uid-pod".
inline model::EndpointSlice with_pods(model::EndpointSlice slice, const std::vector<std::string>& pods) {
  std::vector<model::EndpointDetails> details;
  for (const auto& pod : pods) details.push_back({base::Symbol("zone"), model::Shared(model::Pod{pod, "uid-" + pod})});
  slice.details = model::Shared(std::move(details));
  return slice;
}

// UID "uid-<name>", application protocol and annotations of the prefix a.example/.
inline model::Service with_details(model::Service service, const std::string& value = "1",
                                   const std::string& app_protocol = "http") {
  model::ServiceDetails details;
  details.uid = model::Shared("uid-" + service.name.name);
  for (std::size_t i = 0; i < service.ports.size(); ++i) details.app_protocols.emplace_back(app_protocol);
  details.annotations.push_back(
      {base::Symbol("a.example/"), model::Shared(model::Annotations{{"a.example/x", value}})});
  service.details = model::Shared(std::move(details));
  return service;
}

// Everything that with_details() and with_pods() have.
inline model::DetailsRequest all_details() { return {true, true, base::Symbol("a.example/")}; }

inline model::WantedDetailsPtr wanted(const model::DetailsRequest& request) {
  model::WantedDetails out;
  out.add(request);
  return std::make_shared<const model::WantedDetails>(std::move(out));
}

inline model::Node node(const std::string& name = "N", const std::string& zone = "a") {
  model::Node out;
  out.name = name;
  out.zone = zone;
  return out;
}

}  // namespace sluice::test
