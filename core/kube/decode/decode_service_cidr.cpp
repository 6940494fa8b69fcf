// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// networking.k8s.io ServiceCIDR, v1 and v1beta1 (BEH 1.7). Like in kube-proxy, it applies as long as it exists,
// whatever its conditions and even while it is being deleted: until then, cluster IPs are allocated from it.

#include "core/kube/decode/decode_object.hpp"

namespace sluice::kube {

KindResult decode_service_cidr(const JsonField& root, const DecodeContext& context) {
  model::ServiceCidr out;
  out.name = context.name.name;
  const JsonField spec = root.get("spec");
  const JsonField cidrs = spec.get("cidrs");
  cidrs.each([&](const JsonField& cidr) {
    const auto prefix = lib::IpPrefix::parse(cidr.text());
    if (!prefix) {
      context.note(cidr, in_quotes(cidr.text()) + " is not an IP prefix; ignored");
    } else if (prefix->length() == 0) {
      // Packets to unused addresses of a ServiceCIDR are dropped, so this one would drop all traffic.
      context.note(cidr, in_quotes(cidr.text()) + " contains every address; ignored");
    } else {
      out.cidrs.push_back(*prefix);
    }
  });
  return out;
}

}  // namespace sluice::kube
