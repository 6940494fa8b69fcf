// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Builds the transactions of one family. It remembers what it handed out last, by
// pointer, so that a delta costs as much as the Services that changed and a full
// transaction copies pointers only. Store thread.
#pragma once

#include <memory>
#include <unordered_map>

#include "core/snapshot/transaction.hpp"
#include "core/store/store.hpp"

namespace sluice::snapshot {

class Builder {
 public:
  explicit Builder(base::Family family) : family_(family) {}

  // Replaces the facts about the node; a difference makes the next delta non-empty.
  void set_node_facts(NodeFacts facts);

  // REQUIRES: set_node_facts() was called.
  Transaction delta(store::Store& store);
  Transaction full(store::Store& store);

  bool has_pending(const store::Store& store) const { return facts_changed_ || store.has_dirty(family_); }
  // What all transactions so far come to, in no particular order.
  std::vector<ServicePortPtr> told() const;
  std::uint64_t generation() const { return generation_; }
  std::size_t service_port_count() const { return service_port_count_; }

 private:
  void absorb_changes(store::Store& store, Transaction& into);

  const base::Family family_;
  std::uint64_t generation_ = 0;
  std::shared_ptr<const NodeFacts> facts_;
  std::uint64_t facts_version_ = 0;
  bool facts_changed_ = false;
  std::size_t service_port_count_ = 0;
  // Sorted by key within a Service.
  std::unordered_map<model::ObjectName, std::vector<ServicePortPtr>> published_;
};

}  // namespace sluice::snapshot
