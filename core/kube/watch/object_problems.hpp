// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What is wrong with single objects, logged when it appears or changes, not with each
// of the object's many updates. One thread.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/model/event.hpp"

namespace sluice::kube {

class ObjectProblems {
 public:
  // `kind`: what the objects call themselves, "Service".
  explicit ObjectProblems(std::string kind) : kind_(std::move(kind)) {}

  // `problem`: why the object cannot be used; empty if it can. `notes`: what of it is left out.
  void report(const model::ObjectName& name, const std::string& problem, const std::vector<std::string>& notes);
  void forget(const model::ObjectName& name) { known_.erase(name); }

 private:
  std::string kind_;
  std::unordered_map<model::ObjectName, std::string> known_;
};

}  // namespace sluice::kube
