// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What changes of our Node object mean (BEH 1.4, 11.7): the node's addresses count as they
// were first known, pod ranges may not change under rules made from them, and everything
// else that a person might wonder about is said once. Store thread only, but for fatal().
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/base/ip.hpp"
#include "core/base/status.hpp"
#include "core/model/node.hpp"
#include "core/node/local_detector.hpp"

namespace sluice::daemon {

class NodeWatch {
 public:
  // `bind_address` says which family is the primary one, unless it is unspecified.
  explicit NodeWatch(const base::IpAddress& bind_address = {}) : bind_address_(bind_address) {}
  void set_bind_address(const base::IpAddress& bind_address) { bind_address_ = bind_address; }

  // Takes note of the Node as it is now; nothing for one that was not there yet. Sentences
  // to be logged, the same ones never twice in a row. `families` are those in use; of two
  // the first one is the primary one only until addresses say otherwise.
  std::vector<std::string> look(const std::optional<model::Node>& node, const std::string& name,
                                const node::LocalDetectorSettings& detector, const std::vector<base::Family>& families);

  // Internal ones, then external ones, as they were when there first were any.
  const std::vector<base::IpAddress>& addresses() const { return addresses_; }
  // [any thread] Why the daemon cannot go on with this Node; ok otherwise. Stays.
  base::Status fatal() const;

 private:
  void give_up(const std::string& why);
  void look_at_ranges(const model::Node& node, const node::LocalDetectorSettings& detector,
                      const std::vector<base::Family>& families, std::vector<std::string>& said);
  void check_families(const node::LocalDetectorSettings& detector, std::vector<base::Family> families,
                      std::vector<std::string>& said);

  base::IpAddress bind_address_;
  bool said_no_addresses_ = false;
  std::optional<model::Node> last_;
  std::vector<base::IpAddress> addresses_;
  std::vector<base::IpPrefix> pod_cidrs_;  // the first ones
  bool cluster_cidrs_checked_ = false;
  bool pod_cidrs_checked_ = false;
  mutable std::mutex mutex_;
  base::Status fatal_;  // under mutex_
};

}  // namespace sluice::daemon
