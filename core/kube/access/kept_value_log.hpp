// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Logs once that a credential cannot be renewed and its last value is kept, and once that it was renewed again.
// Not thread-safe.
#pragma once

#include <string>

#include "core/base/log_messages.hpp"

namespace sluice::kube {

class KeptValueLog {
 public:
  void kept(const std::string& reason) {
    if (reason == reason_) return;
    reason_ = reason;
    base::log(base::message::kCredentialKept, reason + "; keeping the one read before", {{"error", reason}});
  }
  // `what` names the value: "the token /run/token".
  void renewed(const std::string& what) {
    if (reason_.empty()) return;
    reason_.clear();
    base::log(base::message::kCredentialReadable, what + " could be read again", {{"name", what}});
  }

 private:
  std::string reason_;
};

}  // namespace sluice::kube
