// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Converts a Transaction to the arrays of the plugin ABI. Only this file produces the service data that backends
// receive. The result refers to the transaction: keep both until the call returns.
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
  void flatten_details(const store::ServicePort& from, const store::PortDetails& details, abi::ServicePort& out);

  abi::Transaction transaction_{};
  abi::NodeFacts node_{};
  std::vector<abi::ServicePort> service_ports_;
  std::vector<abi::ServicePortKey> removed_;
  // Of the last service port: ports of one Service share them.
  model::Shared<model::Annotations> last_annotations_;
  abi::ArrayView last_annotations_view_{};
  // Flat pools with their final capacity reserved, so that views into them stay valid.
  std::vector<abi::Frontend> frontends_;
  std::vector<abi::Endpoint> endpoints_;
  std::vector<abi::EndpointDetails> endpoint_details_;
  std::vector<abi::Annotation> annotations_;  // of each Service once
  std::vector<abi::Prefix> ranges_;
  std::vector<abi::Address> node_port_addresses_;
  std::vector<abi::Address> local_addresses_;
  std::vector<abi::Prefix> service_cidrs_;
};

}  // namespace sluice::snapshot
