// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// networking.k8s.io ServiceCIDR, v1 and v1beta1 alike (BEH 1.7). As for kube-proxy it counts
// as long as it exists, whatever its conditions say and though it is being deleted: cluster
// IPs are taken from it until it is gone.

#include "core/kube/decode/decode_object.hpp"

namespace sluice::kube {

KindResult decode_service_cidr(const JsonField& root, const DecodeContext& context) {
  model::ServiceCidr out;
  out.name = context.name.name;
  const JsonField spec = root.get("spec");
  const JsonField cidrs = spec.get("cidrs");
  cidrs.each([&](const JsonField& cidr) {
    const auto prefix = base::IpPrefix::parse(cidr.text());
    if (!prefix) {
      context.note(cidr, in_quotes(cidr.text()) + " is not an IP prefix; it is left out");
    } else if (prefix->length() == 0) {
      // Packets to all of it that no Service takes are dropped.
      context.note(cidr, in_quotes(cidr.text()) + " is every address there is; it is left out");
    } else {
      out.cidrs.push_back(*prefix);
    }
  });
  return out;
}

}  // namespace sluice::kube
