// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Transaction → the arrays of the plugin ABI. The only producer of service values that
// cross the boundary. The result borrows from the transaction: keep both for the call.
#pragma once

#include <deque>
#include <vector>

#include "core/snapshot/transaction.hpp"
#include "sluice/abi/transaction.hpp"

namespace sluice::snapshot {

class FlatTransaction {
 public:
  explicit FlatTransaction(const Transaction& transaction);
  FlatTransaction(const FlatTransaction&) = delete;
  FlatTransaction& operator=(const FlatTransaction&) = delete;

  const abi::Transaction* get() const { return &transaction_; }

 private:
  void flatten_node(const Transaction& from);
  abi::ServicePort flatten(const store::ServicePort& from);

  abi::Transaction transaction_{};
  abi::NodeFacts node_{};
  std::vector<abi::ServicePort> service_ports_;
  std::vector<abi::ServicePortKey> removed_;
  // Flat pools sized beforehand, so that views into them stay valid.
  std::vector<abi::Frontend> frontends_;
  std::vector<abi::Endpoint> endpoints_;
  std::vector<abi::Prefix> ranges_;
  std::vector<abi::Address> node_port_addresses_;
  std::vector<abi::Address> local_addresses_;
  std::vector<abi::Prefix> service_cidrs_;
};

}  // namespace sluice::snapshot
