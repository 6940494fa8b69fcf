// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/store/frontend_claims.hpp"

#include <algorithm>
#include <iterator>

#include "core/store/frontends.hpp"
#include "lib/text.hpp"

namespace sluice::store {
namespace {

using Key = FrontendClaims::Key;

bool is_cluster_ip(const Key& key, const model::Service& service) {
  return std::find(service.cluster_ips.begin(), service.cluster_ips.end(), key.address) != service.cluster_ips.end();
}

}  // namespace

FrontendClaims::Claim::Claim(const Key& key, const model::Service& of, const model::Service& at)
    : foreign(!is_cluster_ip(key, of)), created(of.created), service(&at) {}

bool FrontendClaims::Claim::operator<(const Claim& other) const {
  if (foreign != other.foreign) return other.foreign;
  return created != other.created ? created < other.created : service->name < other.service->name;
}

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

void FrontendClaims::change(const model::Service& service, const model::Service* old, const Keys& before,
                            const Keys& now, Names& affected) {
  Keys gone;
  std::set_difference(before.begin(), before.end(), now.begin(), now.end(), std::back_inserter(gone));
  for (const Key& key : gone) release(key, service, old, affected);
  for (const Key& key : now) want(key, service, old, affected);
}

const model::Service* FrontendClaims::holder(const Key& key) const {
  const auto found = holders_.find(key);
  return found == holders_.end() ? nullptr : found->second;
}

// Also called for keys that the Service keeps: whether the address is its cluster IP may have changed.
void FrontendClaims::want(const Key& key, const model::Service& service, const model::Service* old, Names& affected) {
  const auto [held, is_new] = holders_.try_emplace(key, &service);
  if (is_new) return;
  if (held->second != &service) {
    auto& waiting = waiting_[key];
    if (old != nullptr) waiting.erase(Claim(key, *old, service));
    waiting.insert(Claim(key, service, service));
  }
  const auto waiting = waiting_.find(key);
  if (waiting == waiting_.end()) return;
  const Claim first = *waiting->second.begin();
  const Claim current(key, *held->second, *held->second);
  const bool keeps = keeps_ && current.foreign == first.foreign;
  if (keeps || !(first < current)) return;
  affected.push_back(held->second->name);
  affected.push_back(first.service->name);
  waiting->second.erase(waiting->second.begin());
  waiting->second.insert(current);
  held->second = first.service;
}

void FrontendClaims::release(const Key& key, const model::Service& service, const model::Service* old,
                             Names& affected) {
  const auto held = holders_.find(key);
  if (held == holders_.end()) return;
  const auto waiting = waiting_.find(key);
  if (held->second != &service) {
    if (waiting == waiting_.end() || old == nullptr) return;
    waiting->second.erase(Claim(key, *old, service));
  } else if (waiting == waiting_.end()) {
    holders_.erase(held);
    return;
  } else {
    const auto first = waiting->second.begin();
    held->second = first->service;
    affected.push_back(held->second->name);
    waiting->second.erase(first);
  }
  if (waiting->second.empty()) waiting_.erase(waiting);
}

}  // namespace sluice::store
