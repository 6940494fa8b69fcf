// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Builds the transactions of one feed. It remembers what it handed out last, by
// pointer, so that a delta costs as much as the Services that changed and a full
// transaction copies pointers only. Store thread.
#pragma once

#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/snapshot/transaction.hpp"
#include "core/store/store.hpp"

namespace sluice::snapshot {

// The facts about the node, as all feeds of a family are told them.
struct VersionedFacts {
  std::shared_ptr<const NodeFacts> facts;  // null: not known yet
  std::uint64_t version = 0;               // counts their changes
};

class Builder {
 public:
  // `everything`: the Services there are.
  Builder(base::Family family, std::unordered_set<model::ObjectName> everything)
      : family_(family), dirty_(std::move(everything)) {}
  // For another feed of the family, which has been told nothing. What both are told from now on shares memory.
  Builder for_another() const;

  // Another version makes the next delta non-empty.
  void set_node_facts(const VersionedFacts& facts);
  // What happened: part of the next transaction. The names are kept once each until then; of trigger times no more than
  // kMostTriggerTimes, the first ones.
  void note(store::Changes changes);

  // REQUIRES: set_node_facts() was called. The first one has to be full. Services in `deferred` namespaces wait for the
  // next one, unless another one gets an address and port that one of them had.
  Transaction delta(const store::Store& store, const model::Namespaces& deferred = {});
  Transaction full(const store::Store& store);

  bool has_pending(const store::Store& store) const {
    return facts_changed_ || !dirty_.empty() || store.has_dirty(family_);
  }
  // Since the last transaction, what waits in the store included: Services that were changed, and changes of slices.
  std::size_t pending_services(const store::Store& store) const;
  std::uint64_t pending_slice_changes(const store::Store& store) const {
    return pending_slice_changes_ + store.pending_slice_changes(family_);
  }
  // There has been a transaction. Before, it is told nothing at generation 0.
  bool began() const { return began_; }
  // What all transactions so far come to, of one Service. Empty where that is nothing.
  std::vector<ServicePortPtr> given(const model::ObjectName& service) const;
  // The Services of which it is something, in no particular order.
  std::vector<model::ObjectName> given_names() const;
  // Null: not known yet.
  const std::shared_ptr<const NodeFacts>& node_facts() const { return facts_.facts; }
  std::uint64_t generation() const { return began_ ? generation_ : 0; }
  std::size_t service_port_count() const { return began_ ? service_port_count_ : 0; }
  base::Family family() const { return family_; }

 private:
  // Takes what is not deferred out of what waits.
  std::unordered_set<model::ObjectName> take_dirty(const store::Store& store, const model::Namespaces& deferred,
                                                   Transaction& into);
  // Whether one of these Services gets an address and port with which one that waits is still published.
  bool inherits(const std::unordered_set<model::ObjectName>& services, const store::Store& store) const;
  void absorb_changes(const store::Store& store, const model::Namespaces& deferred, Transaction& into);

  base::Family family_;
  bool began_ = false;
  std::uint64_t generation_ = 0;
  VersionedFacts facts_;
  bool facts_changed_ = false;
  std::size_t service_port_count_ = 0;
  // Sorted by key within a Service.
  std::unordered_map<model::ObjectName, std::vector<ServicePortPtr>> published_;
  // Since the last transaction.
  std::unordered_set<model::ObjectName> dirty_;
  std::unordered_set<model::ObjectName> pending_services_;
  std::uint64_t pending_slice_changes_ = 0;
  std::vector<store::Trigger> triggers_;
};

}  // namespace sluice::snapshot
