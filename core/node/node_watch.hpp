// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Handles changes of the own Node object (BEH 1.4, 11.7): the first known node addresses are
// kept until a restart, changed pod CIDRs are fatal in mode NodeCIDR, and other surprising
// changes are reported once. Store thread only, except fatal().
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/log.hpp"
#include "core/model/node.hpp"
#include "core/node/local_detector.hpp"
#include "lib/ip.hpp"
#include "lib/mutex.hpp"
#include "lib/status.hpp"

namespace sluice::node {

struct NodeWarning {
  base::LogMessage message;
  std::string text;
};

class NodeWatch {
 public:
  // `bind_address` determines the primary family, unless it is unspecified.
  explicit NodeWatch(const lib::IpAddress& bind_address = {}) : bind_address_(bind_address) {}
  void set_bind_address(const lib::IpAddress& bind_address) { bind_address_ = bind_address; }

  // Takes the current Node, or nothing if it does not exist yet. Returns warnings to log,
  // never the same twice in a row. `families` are those in use; of two, the first is the
  // primary one until the node addresses are known.
  std::vector<NodeWarning> update(const std::optional<model::Node>& node, const std::string& name,
                                  const LocalDetectorSettings& detector, const std::vector<lib::Family>& families);

  // Internal addresses, then external ones; the first known ones.
  const std::vector<lib::IpAddress>& addresses() const { return addresses_; }
  // [any thread] Why the daemon must stop because of this Node; ok otherwise. The first error is kept.
  lib::Status fatal() const;

 private:
  void set_fatal(const std::string& why);
  void check_pod_cidrs(const model::Node& node, const LocalDetectorSettings& detector,
                       const std::vector<lib::Family>& families, std::vector<NodeWarning>& warnings);
  void check_families(const LocalDetectorSettings& detector, std::vector<lib::Family> families,
                      std::vector<NodeWarning>& warnings);

  lib::IpAddress bind_address_;
  bool reported_no_addresses_ = false;
  std::optional<model::Node> last_;
  std::vector<lib::IpAddress> addresses_;
  std::vector<lib::IpPrefix> pod_cidrs_;  // the first known ones
  bool cluster_cidrs_checked_ = false;
  bool pod_cidrs_checked_ = false;
  mutable lib::Mutex mutex_;
  lib::Status fatal_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::node
