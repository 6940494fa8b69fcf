// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Which service ports a backend could not program, and why, as of its last apply. Not a
// count of failures: what works again, or is gone, is no longer here. One thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/plugin/host_services.hpp"
#include "core/snapshot/transaction.hpp"

namespace sluice::sync {

class LeftOut {
 public:
  // After a successful apply: a full transaction has tried all, a delta those it names.
  void note(const snapshot::Transaction& transaction, const std::vector<plugin::FailedObject>& failed);

  const std::map<std::string, std::string>& reasons() const { return reasons_; }  // by service port

 private:
  std::map<std::string, std::string> reasons_;
};

}  // namespace sluice::sync
