// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Applies kernel settings (conntrack sysctls, OOM score) at start and when the configuration changes. A setting that
// the kernel denies is logged; it is not an error.
#pragma once

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "core/config/settings.hpp"
#include "core/reload/part.hpp"

namespace sluice::daemon {

// Events of NodeState and its KernelPart.
class NodeObserver {
 public:
  virtual ~NodeObserver() = default;
  // [address monitor, reload thread] The node facts may have changed.
  virtual void node_facts_changed() = 0;
  // [main thread, reload thread] Conntrack sysctls that could not be written. OOM score and bridge netfilter are only
  // logged.
  virtual void conntrack_settings_failed(const std::vector<std::string>& sentences) = 0;
};

struct KernelPaths {
  std::string proc_sys = "/proc/sys";
  std::string sys = "/sys";
  std::string oom_file = "/proc/self/oom_score_adj";
};

class KernelPart final : public reload::ReloadPart {
 public:
  // The observer must outlive it.
  explicit KernelPart(NodeObserver& observer, KernelPaths paths = {}) : observer_(observer), paths_(std::move(paths)) {}

  // Called at start. Returns the failures, as sentences.
  std::vector<std::string> apply(const config::Settings& settings);

  // [thread of BackendStart, later reload thread] Reads nf_conntrack_tcp_be_liberal.
  void read_conntrack_tcp_liberal();
  bool conntrack_tcp_liberal() const { return conntrack_tcp_liberal_; }  // any thread

  bool concerned(const config::Settings& from, const config::Settings& to) const override;
  lib::Status prepare(const config::Settings& from, const config::Settings& to) override;
  reload::Committed commit() override;
  void abandon() override {}

 private:
  NodeObserver& observer_;
  const KernelPaths paths_;
  std::atomic<bool> conntrack_tcp_liberal_{false};
  config::Settings from_;
  config::Settings next_;
};

}  // namespace sluice::daemon
