// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/store/frontend_claims.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "core/store/frontends.hpp"
#include "lib/text.hpp"

namespace sluice::store {
namespace {

using Key = FrontendClaims::Key;

bool is_cluster_ip(const Key& key, const model::Service& service) {
  return std::find(service.cluster_ips.begin(), service.cluster_ips.end(), key.address) != service.cluster_ips.end();
}

struct Before {
  const Key& key;
  bool operator()(const model::Service* a, const model::Service* b) const {
    const bool own_a = is_cluster_ip(key, *a);
    const bool own_b = is_cluster_ip(key, *b);
    if (own_a != own_b) return own_a;
    return a->created != b->created ? a->created < b->created : a->name < b->name;
  }
};

}  // namespace

FrontendClaims::Keys FrontendClaims::wanted(const model::Service& service, bool external_ips) {
  Keys out;
  for (const auto family : lib::kFamilies) {
    if (!has_service_ports(service, family)) continue;
    const ServiceAddresses addresses(service, family, external_ips);
    std::size_t room = kMostFrontends;
    for (const auto& port : service.ports) {
      const bool fits = addresses.size() <= room;
      if (fits) room -= addresses.size();
      for (const auto& frontend : fits ? addresses.frontends(port) : addresses.cluster_ips(port)) {
        out.push_back({frontend.address, frontend.port, port.protocol});
      }
    }
  }
  lib::sort_unique(out);
  out.shrink_to_fit();
  return out;
}

void FrontendClaims::change(const model::Service& service, const Keys& before, const Keys& now, Names& affected) {
  Keys gone;
  std::set_difference(before.begin(), before.end(), now.begin(), now.end(), std::back_inserter(gone));
  for (const Key& key : gone) release(key, service, affected);
  for (const Key& key : now) want(key, service, affected);
}

const model::Service* FrontendClaims::holder(const Key& key) const {
  const auto found = holders_.find(key);
  return found == holders_.end() ? nullptr : found->second;
}

// Also called for keys that the Service keeps: whether the address is its cluster IP may have changed.
void FrontendClaims::want(const Key& key, const model::Service& service, Names& affected) {
  const auto [held, is_new] = holders_.try_emplace(key, &service);
  if (is_new) return;
  if (held->second != &service) {
    auto& waiting = waiting_[key];
    if (std::find(waiting.begin(), waiting.end(), &service) == waiting.end()) waiting.push_back(&service);
  }
  const auto waiting = waiting_.find(key);
  if (waiting == waiting_.end()) return;
  const auto first = std::min_element(waiting->second.begin(), waiting->second.end(), Before{key});
  const bool keeps = keeps_ && is_cluster_ip(key, *held->second) == is_cluster_ip(key, **first);
  if (keeps || !Before{key}(*first, held->second)) return;
  affected.push_back(held->second->name);
  affected.push_back((*first)->name);
  std::swap(*first, held->second);
}

void FrontendClaims::release(const Key& key, const model::Service& service, Names& affected) {
  const auto held = holders_.find(key);
  if (held == holders_.end()) return;
  const auto waiting = waiting_.find(key);
  if (held->second != &service) {
    if (waiting == waiting_.end()) return;
    std::erase(waiting->second, &service);
  } else if (waiting == waiting_.end()) {
    holders_.erase(held);
    return;
  } else {
    const auto first = std::min_element(waiting->second.begin(), waiting->second.end(), Before{key});
    held->second = *first;
    affected.push_back((*first)->name);
    waiting->second.erase(first);
  }
  if (waiting->second.empty()) waiting_.erase(waiting);
}

}  // namespace sluice::store
