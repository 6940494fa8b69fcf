// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Logs errors of objects when they appear or change, not with each update of the object. Not thread-safe.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/log_budget.hpp"
#include "core/model/event.hpp"

namespace sluice::kube {

class ObjectProblems {
 public:
  // `kind`: the kind of the objects, such as "Service".
  explicit ObjectProblems(std::string kind, base::LogBudget budget = {}) : kind_(std::move(kind)), budget_(budget) {}

  // `problem`: why the object is invalid; empty if it is valid. `notes`: its ignored parts.
  void report(const model::ObjectName& name, const std::string& problem, const std::vector<std::string>& notes);
  void forget(const model::ObjectName& name) { known_.erase(name); }

 private:
  std::string kind_;
  base::LogBudget budget_;
  std::unordered_map<model::ObjectName, std::string> known_;
};

}  // namespace sluice::kube
