// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Builds the transactions of one subscription. It keeps pointers to the delivered service ports, so that the cost of a
// delta depends on the changed Services only, and a full transaction copies pointers only. Store thread.
#pragma once

#include <map>
#include <memory>
#include <unordered_set>
#include <utility>

#include "core/snapshot/transaction.hpp"
#include "core/store/store.hpp"

namespace sluice::snapshot {

// The facts about the node that all subscriptions of an address family receive.
struct VersionedFacts {
  std::shared_ptr<const NodeFacts> facts;  // null: not known yet
  std::uint64_t version = 0;               // incremented with each change
};

class Builder {
 public:
  // `details`: what the service ports of the transactions have.
  Builder(lib::Family family, std::unordered_set<model::ObjectName> all_services, model::DetailsRequest details = {})
      : family_(family), details_(std::move(details)), dirty_(std::move(all_services)) {}
  // For another subscription of the family, which has received nothing yet. Both share the memory of service ports, if
  // these have the same details.
  Builder for_new_subscription(const model::DetailsRequest& details) const;

  // A new version makes the next delta non-empty.
  void set_node_facts(const VersionedFacts& facts);
  // Adds changes to the next transaction. Names are kept without duplicates, and the first kMostTriggerTimes trigger
  // times.
  void note(store::Changes changes);

  // REQUIRES: set_node_facts() was called. The first transaction has to be full. Services in `deferred` namespaces wait
  // for the next transaction, unless an address and port passes between one of them and another Service.
  Transaction delta(const store::Store& store, const model::Namespaces& deferred = {});
  Transaction full(const store::Store& store);

  bool has_pending(const store::Store& store) const {
    return facts_changed_ || !dirty_.empty() || store.has_dirty(family_);
  }
  // Services and slice changes since the last transaction, including those that wait in the store.
  std::size_t pending_services(const store::Store& store) const;
  std::uint64_t pending_slice_changes(const store::Store& store) const {
    return pending_slice_changes_ + store.pending_slice_changes(family_);
  }
  // Whether there has been a transaction. Before the first one, the generation is 0 and nothing is delivered.
  bool began() const { return began_; }
  // The delivered service ports of one Service, as of the last transaction.
  std::vector<ServicePortPtr> delivered(const model::ObjectName& service) const;
  // The Services with delivered service ports, sorted.
  std::vector<model::ObjectName> delivered_names() const;
  // Null: not known yet.
  const std::shared_ptr<const NodeFacts>& node_facts() const { return facts_.facts; }
  std::uint64_t generation() const { return began_ ? generation_ : 0; }
  std::size_t service_port_count() const { return began_ ? service_port_count_ : 0; }
  lib::Family family() const { return family_; }
  const model::DetailsRequest& details() const { return details_; }

 private:
  Transaction unsorted_delta(const store::Store& store, const model::Namespaces& deferred);
  // Removes the Services that are not deferred from dirty_ and returns them.
  std::unordered_set<model::ObjectName> take_dirty(const store::Store& store, const model::Namespaces& deferred,
                                                   Transaction& into);
  // Whether an address and port that is published for a Service in `from` belongs to a Service in `to` now.
  bool frontend_passes(const std::unordered_set<model::ObjectName>& from,
                       const std::unordered_set<model::ObjectName>& to, const store::Store& store) const;
  void absorb_changes(const store::Store& store, const model::Namespaces& deferred, Transaction& into);

  lib::Family family_;
  model::DetailsRequest details_;
  bool began_ = false;
  std::uint64_t generation_ = 0;
  VersionedFacts facts_;
  bool facts_changed_ = false;
  std::size_t service_port_count_ = 0;
  // Sorted by key within a Service, and so in total: a full transaction needs no sorting.
  std::map<model::ObjectName, std::vector<ServicePortPtr>> published_;
  // Since the last transaction.
  std::unordered_set<model::ObjectName> dirty_;
  std::unordered_set<model::ObjectName> pending_services_;
  std::uint64_t pending_slice_changes_ = 0;
  std::vector<store::Trigger> triggers_;
};

}  // namespace sluice::snapshot
