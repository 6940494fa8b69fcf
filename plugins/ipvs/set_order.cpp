// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/set_order.hpp"

namespace sluice::ipvs {
namespace {

bool is_exception(SetId set) {
  switch (set) {
    case SetId::kLoadBalancerLocal:     // not masqueraded
    case SetId::kLoadBalancerSourceIp:  // not refused
    case SetId::kLoadBalancerSourceCidr:
    case SetId::kNodePortLocalTcp:  // not masqueraded
    case SetId::kNodePortLocalUdp:
    case SetId::kNodePortLocalSctp:
      return true;
    default:
      return false;
  }
}

}  // namespace

OrderedItems in_order(const std::vector<SetItem>& items) {
  OrderedItems out;
  for (const SetItem& item : items) (is_exception(item.set) ? out.exceptions : out.regular).push_back(item);
  return out;
}

}  // namespace sluice::ipvs
