// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "corescale_rig.hpp"

#include <stdexcept>
#include <utility>

#include "core/snapshot/flatten.hpp"

namespace corescale {
namespace {

namespace lib = sluice::lib;
namespace model = sluice::model;
namespace snapshot = sluice::snapshot;
using model::ResourceKind;

constexpr std::size_t kMostWaiting = 32;  // events in the queue of the store

snapshot::StoreThread::Callbacks callbacks() {
  return {[](lib::Family, const std::optional<model::Node>&, snapshot::SettingsStage) {
    snapshot::NodeFacts facts;
    facts.name = kNodeName;
    return std::optional(facts);
  }};
}

}  // namespace

Rig::Rig(const Shape& shape) : store_(kNodeName, callbacks()) {
  model::WantedDetails wanted;
  wanted.add(details_request(shape));
  details_ = std::make_shared<const model::WantedDetails>(std::move(wanted));

  snapshot::StoreThread::Start start;
  start.families = {lib::Family::ipv4, lib::Family::ipv6};
  store_.start(std::move(start));
  for (const auto family : lib::kFamilies) {
    subscriptions_[lib::family_index(family)] = store_.subscribe(
        family, [](const model::Namespaces&) {}, snapshot::SettingsStage::running, details_request(shape));
  }
}

Rig::~Rig() { store_.stop(); }

void Rig::deliver(model::Event event) {
  store_.deliver(std::move(event));
  if (++delivered_ % kMostWaiting == 0) store_.status();
}

void Rig::list(const Objects& objects) {
  deliver(model::ListBegin{ResourceKind::node});
  model::Node node;
  node.name = kNodeName;
  deliver(model::Upsert{node});
  deliver(model::ListEnd{ResourceKind::node});
  deliver(model::ListBegin{ResourceKind::service});
  for (std::size_t i = 0; i < objects.shape().services; ++i) deliver(model::Upsert{objects.service(i)});
  deliver(model::ListEnd{ResourceKind::service, details_});
  deliver(model::ListBegin{ResourceKind::endpoint_slice});
  objects.each_slice(
      [&](std::size_t service, std::size_t slice) { deliver(model::Upsert{objects.slice(service, slice)}); });
  deliver(model::ListEnd{ResourceKind::endpoint_slice, details_});
}

void Rig::list_nothing() {
  for (const auto kind : {ResourceKind::service, ResourceKind::endpoint_slice}) {
    deliver(model::ListBegin{kind});
    deliver(model::ListEnd{kind, details_});
  }
}

void Rig::remove(const Objects& objects) {
  objects.each_slice([&](std::size_t service, std::size_t slice) {
    deliver(model::Remove{ResourceKind::endpoint_slice, objects.slice_name(service, slice)});
  });
  for (std::size_t i = 0; i < objects.shape().services; ++i) {
    deliver(model::Remove{ResourceKind::service, objects.name(i)});
  }
}

void Rig::take(bool full) {
  for (const auto subscription : subscriptions_) {
    const auto transaction = store_.take(subscription, full);
    if (transaction == nullptr) throw std::runtime_error("the store gives no transaction");
    use(*transaction);
  }
}

void Rig::use(const snapshot::Transaction& transaction) {
  const snapshot::FlatTransaction flat(transaction);
  if (flat.get()->service_ports.count != transaction.service_ports.size()) {
    throw std::runtime_error("a backend would receive another number of service ports");
  }
  if (transaction.family != lib::Family::ipv4) return;
  conntrack_.apply(udp_changes_.update(transaction), conntrack_work_);
  health_.update(transaction);
}

}  // namespace corescale
