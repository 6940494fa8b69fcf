// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One DescribeRequest in progress. It handles a few Services at a time, so that the store thread can process changes
// and other requests in between. Store thread.
#pragma once

#include <cstddef>
#include <vector>

#include "core/snapshot/builder.hpp"
#include "core/snapshot/description.hpp"

namespace sluice::snapshot {

class Describer {
 public:
  // `names`: of all Services, including deleted ones that the backend still has.
  Describer(DescribeRequest request, std::vector<model::ObjectName> names)
      : request_(std::move(request)), names_(std::move(names)) {}

  // Describes a few more Services. Returns false at the end.
  bool step(const store::Store& store, const Builder& builder);

 private:
  void describe(const model::ObjectName& name, const store::Store& store, const Builder& builder);
  void add(store::ExplainedPort port, Progress progress, const Builder& builder);

  DescribeRequest request_;
  std::vector<model::ObjectName> names_;
  std::size_t next_ = 0;
  Description out_;
};

}  // namespace sluice::snapshot
