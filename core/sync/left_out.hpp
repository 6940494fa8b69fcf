// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Which service ports a backend could not program, and why, as of its last apply. Not a
// count of failures: what works again, or is gone, is no longer here. One thread.
#pragma once

#include <map>
#include <string>

#include "core/plugin/host_services.hpp"
#include "core/snapshot/transaction.hpp"

namespace sluice::sync {

class LeftOut {
 public:
  // After a successful apply: a full transaction has tried all, a delta those it names.
  // Others are as they were, but for those of which the backend says that they are served.
  void note(const snapshot::Transaction& transaction, const plugin::ServicePortReports& reports);

  const std::map<plugin::ServicePortName, std::string>& reasons() const { return reasons_; }

 private:
  std::map<plugin::ServicePortName, std::string> reasons_;
};

}  // namespace sluice::sync
