// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// core/v1 Endpoints, for servers without discovery.k8s.io/v1: each subset becomes one slice per address family. There
// are no zones, no topology hints and no terminating endpoints.

#include "core/kube/decode/decode_object.hpp"
#include "lib/rfc3339.hpp"

namespace sluice::kube {
namespace {

struct Addresses {
  std::vector<model::SliceEndpoint> endpoints;
  std::vector<model::EndpointDetails> details;  // empty, or in the order of `endpoints`
};

struct Subset {
  std::vector<model::SlicePort> ports;
  Addresses ipv4;
  Addresses ipv6;
};

void read_address(const JsonField& entry, bool ready, const DecodeContext& context, Subset& out) {
  const JsonField ip = entry.get("ip");
  const JsonField node = entry.get("nodeName");
  const auto address = read_endpoint_address(ip, std::nullopt, context);
  if (!address) return;
  model::SliceEndpoint endpoint;
  endpoint.address = address->bytes();
  endpoint.node = base::Symbol(node.text());
  endpoint.ready = ready;
  endpoint.serving = ready;
  Addresses& addresses = address->family() == lib::Family::ipv4 ? out.ipv4 : out.ipv6;
  addresses.endpoints.push_back(endpoint);
  if (wants_endpoint_details(context)) addresses.details.push_back(decode_endpoint_details(entry, context));
}

Subset read_subset(const JsonField& entry, const DecodeContext& context) {
  Subset out;
  const JsonField ports = entry.get("ports");
  const JsonField addresses = entry.get("addresses");
  const JsonField not_ready = entry.get("notReadyAddresses");
  ports.each([&](const JsonField& port) {
    // Unlike in a slice, a port without a name is valid: Services with a single port have one.
    if (auto spec = decode_slice_port(port, context, true)) out.ports.push_back(*spec);
  });
  addresses.each([&](const JsonField& address) { read_address(address, true, context, out); });
  not_ready.each([&](const JsonField& address) { read_address(address, false, context, out); });
  return out;
}

}  // namespace

KindResult decode_endpoints(const JsonField& root, const JsonField& metadata, const DecodeContext& context) {
  const JsonField annotations = metadata.get("annotations");
  const JsonField trigger = annotations.get("endpoints.kubernetes.io/last-change-trigger-time");
  const auto trigger_time = lib::parse_rfc3339(trigger.text());

  Slices out;
  std::size_t ipv4_slices = 0;
  std::size_t ipv6_slices = 0;
  const auto add = [&](lib::Family family, const Subset& subset, const Addresses& addresses) {
    if (addresses.endpoints.empty() || subset.ports.empty()) return;
    const bool is_ipv4 = family == lib::Family::ipv4;
    std::size_t& count = is_ipv4 ? ipv4_slices : ipv6_slices;
    model::EndpointSlice slice;
    slice.service = context.name;
    slice.name = {context.name.name_space,
                  context.name.name + (is_ipv4 ? "-ipv4-" : "-ipv6-") + std::to_string(count++)};
    slice.family = family;
    slice.ports = subset.ports;
    slice.endpoints = addresses.endpoints;
    if (!addresses.details.empty()) slice.details = model::Shared(addresses.details);
    slice.trigger_time = trigger_time;
    out.slices.push_back(std::move(slice));
  };
  const JsonField subsets = root.get("subsets");
  subsets.each([&](const JsonField& entry) {
    const Subset subset = read_subset(entry, context);
    add(lib::Family::ipv4, subset, subset.ipv4);
    add(lib::Family::ipv6, subset, subset.ipv6);
  });
  return out;
}

}  // namespace sluice::kube
