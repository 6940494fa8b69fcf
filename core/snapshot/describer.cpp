// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/snapshot/describer.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/store/frontends.hpp"

namespace sluice::snapshot {
namespace {

constexpr std::size_t kServicesPerStep = 64;  // about a millisecond

// A service port as the backend received it. The reasons are gone with its Service.
store::ExplainedPort as_delivered(const store::ServicePort& port) {
  store::ExplainedPort out{port, {}};
  for (const store::Endpoint& endpoint : port.endpoints) {
    const auto use = [](bool in) { return in ? store::Use::used : store::Use::not_asked; };
    out.endpoints.push_back({endpoint, {}, {}, {}, use(endpoint.in_cluster), use(endpoint.in_local)});
  }
  return out;
}

}  // namespace

bool Describer::step(const store::Store& store, const Builder& builder) {
  if (!request_.wanted()) return false;
  for (std::size_t done = 0; done < kServicesPerStep && next_ < names_.size(); ++next_) {
    if (!request_.may_want(names_[next_])) continue;
    describe(names_[next_], store, builder);
    ++done;
  }
  if (next_ < names_.size()) return true;
  out_.generation = builder.generation();
  out_.node = builder.node_facts();
  std::sort(out_.ports.begin(), out_.ports.end(),
            [](const auto& a, const auto& b) { return a.explained.port.key < b.explained.port.key; });
  std::sort(out_.not_proxied.begin(), out_.not_proxied.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  request_.done(std::move(out_));
  return false;
}

void Describer::describe(const model::ObjectName& name, const store::Store& store, const Builder& builder) {
  std::vector<ServicePortPtr> delivered = builder.delivered(name);
  for (store::ExplainedPort& now : store.explain_service(name, builder.family(), builder.details())) {
    const auto had = std::find_if(delivered.begin(), delivered.end(),
                                  [&](const auto& one) { return one && one->key == now.port.key; });
    Progress progress = Progress::addition_pending;
    if (had != delivered.end()) {
      progress = **had == now.port ? Progress::delivered : Progress::change_pending;
      had->reset();
    }
    add(std::move(now), progress, builder);
  }
  for (const ServicePortPtr& gone : delivered) {
    if (gone) add(as_delivered(*gone), Progress::removal_pending, builder);
  }
  const model::Service* const service = store.find_service(name);
  if (!request_.not_proxied || service == nullptr) return;
  if (const auto why = store::why_not_proxied(*service, builder.family()); !why.empty()) {
    out_.not_proxied.push_back({name, std::string(why)});
  }
}

void Describer::add(store::ExplainedPort port, Progress progress, const Builder& builder) {
  if (request_.wants(port, builder.node_facts().get())) out_.ports.push_back({std::move(port), progress});
}

}  // namespace sluice::snapshot
