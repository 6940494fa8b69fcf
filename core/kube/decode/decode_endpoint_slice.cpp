// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// discovery.k8s.io/v1 EndpointSlice (BEH 1.3). An invalid port or endpoint is ignored: the others still carry traffic.

#include "core/kube/decode/decode_object.hpp"
#include "lib/protocol.hpp"
#include "lib/rfc3339.hpp"

namespace sluice::kube {
namespace {

base::Symbol read_hints(const JsonField& list) {
  std::vector<std::string_view> names;
  list.each([&](const JsonField& hint) {
    const JsonField name = hint.get("name");
    if (const auto text = name.text(); !text.empty()) names.push_back(text);
  });
  return names.empty() ? base::Symbol() : model::pack_names(std::move(names));
}

void read_endpoint(const JsonField& entry, const DecodeContext& context, model::EndpointSlice& out,
                   std::vector<model::EndpointDetails>& details) {
  const JsonField addresses = entry.get("addresses");
  std::optional<lib::IpAddress> address;
  std::size_t index = 0;
  addresses.each([&](const JsonField& field) {
    // Only the first address has a defined meaning.
    if (index++ != 0) return;
    address = read_endpoint_address(field, out.family, context);
  });
  if (!address) return;

  model::SliceEndpoint endpoint;
  endpoint.address = address->bytes();
  const JsonField node = entry.get("nodeName");
  endpoint.node = base::Symbol(node.text());
  const JsonField conditions = entry.get("conditions");
  const JsonField ready = conditions.get("ready");
  const JsonField serving = conditions.get("serving");
  const JsonField terminating = conditions.get("terminating");
  endpoint.ready = ready.boolean(true);
  endpoint.serving = serving.boolean(true);
  endpoint.terminating = terminating.boolean(false);
  const JsonField hints = entry.get("hints");
  if (hints.present()) {
    const JsonField zones = hints.get("forZones");
    const JsonField nodes = hints.get("forNodes");
    endpoint.zone_hints = read_hints(zones);
    endpoint.node_hints = read_hints(nodes);
  }
  out.endpoints.push_back(endpoint);
  if (wants_endpoint_details(context)) details.push_back(decode_endpoint_details(entry, context));
}

}  // namespace

// The API server rejects the same special addresses: an endpoint at a loopback address would expose local services of
// every node.
std::optional<lib::IpAddress> read_endpoint_address(const JsonField& field, std::optional<lib::Family> family,
                                                    const DecodeContext& context) {
  const auto address = lib::IpAddress::parse(field.text());
  const std::string_view special = address ? address->special_kind() : std::string_view();
  std::string why;
  if (!address || (family && address->family() != *family)) {
    why = family ? " is not an " + std::string(lib::family_name(*family)) + " address" : " is not an address";
  } else if (!special.empty()) {
    why = " is a special address (" + std::string(special) + ")";
  } else {
    return address;
  }
  context.note(field, in_quotes(field.text()) + why + "; the endpoint is ignored");
  return std::nullopt;
}

std::optional<model::SlicePort> decode_slice_port(const JsonField& entry, const DecodeContext& context,
                                                  bool name_is_optional) {
  const JsonField name = entry.get("name");
  const JsonField protocol = entry.get("protocol");
  const JsonField port = entry.get("port");
  model::SlicePort out;
  out.port = port.port(true);
  if (out.port == 0 || (!name.present() && !name_is_optional)) return std::nullopt;

  const std::string_view name_text = name.text();
  if (!name_text.empty() && !is_dns_label(name_text)) {
    context.note(name, in_quotes(name_text) + " is not the name of a port; the port is ignored");
    return std::nullopt;
  }
  out.name = base::Symbol(name_text);
  if (!protocol.text().empty() && !lib::parse_upper_protocol(protocol.text(), out.protocol)) {
    context.note(protocol, in_quotes(protocol.text()) + " is not a protocol (TCP, UDP, SCTP); the port is ignored");
    return std::nullopt;
  }
  return out;
}

KindResult decode_endpoint_slice(const JsonField& root, const JsonField& metadata, const DecodeContext& context) {
  const JsonField labels = metadata.get("labels");
  const JsonField service = labels.get("kubernetes.io/service-name");
  if (service.text().empty()) return Ignored{"it has no label kubernetes.io/service-name"};
  if (!is_dns_subdomain(service.text())) service.fail(in_quotes(service.text()) + " is not the name of a Service");

  model::EndpointSlice out;
  out.name = context.name;
  out.service = {context.name.name_space, std::string(service.text())};
  const JsonField type = root.get("addressType");
  const std::string_view type_text = type.text();
  if (type_text == "IPv4") {
    out.family = lib::Family::ipv4;
  } else if (type_text == "IPv6") {
    out.family = lib::Family::ipv6;
  } else if (type_text.empty()) {
    type.fail("is missing (IPv4, IPv6)");
  } else {
    return Ignored{"its addressType is " + in_quotes(type_text)};
  }

  const JsonField ports = root.get("ports");
  ports.each([&](const JsonField& entry) {
    if (auto port = decode_slice_port(entry, context, context.apply_server_defaults)) out.ports.push_back(*port);
  });
  const JsonField endpoints = root.get("endpoints");
  std::vector<model::EndpointDetails> details;
  endpoints.each([&](const JsonField& endpoint) { read_endpoint(endpoint, context, out, details); });
  out.endpoints.shrink_to_fit();
  details.shrink_to_fit();
  if (!details.empty()) out.details = model::Shared(std::move(details));

  const JsonField annotations = metadata.get("annotations");
  const JsonField trigger = annotations.get("endpoints.kubernetes.io/last-change-trigger-time");
  out.trigger_time = lib::parse_rfc3339(trigger.text());
  return out;
}

}  // namespace sluice::kube
