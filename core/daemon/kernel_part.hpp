// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Applies kernel settings (conntrack sysctls, OOM score) at start and when the configuration changes. A setting that
// the kernel denies is logged; it is not an error.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/config/settings.hpp"
#include "core/reload/part.hpp"

namespace sluice::daemon {

class KernelPart final : public reload::ReloadPart {
 public:
  struct Hooks {
    // [thread of apply() or commit()] Conntrack sysctls that could not be written. OOM score and bridge netfilter are
    // only logged.
    std::function<void(const std::vector<std::string>& sentences)> conntrack_settings_failed;
    // [reload thread] The node facts about connection tracking may have changed.
    std::function<void()> changed;
    std::string proc_sys = "/proc/sys";
    std::string sys = "/sys";
    std::string oom_file = "/proc/self/oom_score_adj";
  };
  explicit KernelPart(Hooks hooks) : hooks_(std::move(hooks)) {}

  // Called at start. Returns the failures, as sentences.
  std::vector<std::string> apply(const config::Settings& settings);

  bool concerned(const config::Settings& from, const config::Settings& to) const override;
  lib::Status prepare(const config::Settings& from, const config::Settings& to) override;
  reload::Committed commit() override;
  void abandon() override {}

 private:
  const Hooks hooks_;
  config::Settings from_;
  config::Settings next_;
};

}  // namespace sluice::daemon
