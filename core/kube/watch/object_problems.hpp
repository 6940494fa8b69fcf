// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What is wrong with single objects, logged when it appears or changes, not with each
// of the object's many updates. One thread.
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
  // `kind`: what the objects call themselves, "Service".
  explicit ObjectProblems(std::string kind, base::LogBudget budget = {}) : kind_(std::move(kind)), budget_(budget) {}

  // `problem`: why the object cannot be used; empty if it can. `notes`: what of it is left out.
  void report(const model::ObjectName& name, const std::string& problem, const std::vector<std::string>& notes);
  void forget(const model::ObjectName& name) { known_.erase(name); }

 private:
  std::string kind_;
  base::LogBudget budget_;
  std::unordered_map<model::ObjectName, std::string> known_;
};

}  // namespace sluice::kube
