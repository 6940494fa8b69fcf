// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// core/v1 Node (BEH 1.4).

#include "core/kube/decode/decode_object.hpp"

namespace sluice::kube {
namespace {

void read_address(const JsonField& entry, const DecodeContext& context, model::Node& out) {
  const JsonField type = entry.get("type");
  const JsonField address = entry.get("address");
  const std::string_view type_text = type.text();
  if (type_text != "InternalIP" && type_text != "ExternalIP") return;
  const auto ip = lib::IpAddress::parse(address.text());
  if (!ip) {
    context.note(address, in_quotes(address.text()) + " is not an IP address; ignored");
    return;
  }
  (type_text == "InternalIP" ? out.internal_ips : out.external_ips).push_back(*ip);
}

void read_pod_cidr(const JsonField& field, const DecodeContext& context, model::Node& out) {
  if (const auto prefix = lib::IpPrefix::parse(field.text())) {
    out.pod_cidrs.push_back(*prefix);
  } else {
    context.note(field, in_quotes(field.text()) + " is not an IP prefix; ignored");
  }
}

}  // namespace

KindResult decode_node(const JsonField& root, const JsonField& metadata, const DecodeContext& context) {
  model::Node out;
  out.name = context.name.name;
  const JsonField labels = metadata.get("labels");
  const JsonField zone = labels.get("topology.kubernetes.io/zone");
  out.zone = zone.text();
  const JsonField deleted = metadata.get("deletionTimestamp");
  out.leaving = deleted.present();

  const JsonField spec = root.get("spec");
  const JsonField taints = spec.get("taints");
  taints.each([&](const JsonField& taint) {
    const JsonField key = taint.get("key");
    if (key.text() == "ToBeDeletedByClusterAutoscaler") out.leaving = true;
  });
  const JsonField pod_cidrs = spec.get("podCIDRs");
  pod_cidrs.each([&](const JsonField& cidr) { read_pod_cidr(cidr, context, out); });
  // An API server copies podCIDR to podCIDRs; a manifest may have podCIDR only.
  const JsonField pod_cidr = spec.get("podCIDR");
  if (!pod_cidrs.present() && !pod_cidr.text().empty()) read_pod_cidr(pod_cidr, context, out);

  const JsonField status = root.get("status");
  const JsonField addresses = status.get("addresses");
  addresses.each([&](const JsonField& entry) { read_address(entry, context, out); });
  return out;
}

}  // namespace sluice::kube
