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

inline model::Node node(const std::string& name = "N", const std::string& zone = "a") {
  model::Node out;
  out.name = name;
  out.zone = zone;
  return out;
}

}  // namespace sluice::test
