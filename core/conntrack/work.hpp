// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Where stale flows may be since the last scan: collected from the differences between states, bounded in size. A plain
// value.
#pragma once

#include <set>
#include <vector>

#include "core/conntrack/flow.hpp"

namespace sluice::conntrack {

class ConntrackWork {
 public:
  // Each filtered dump walks the whole table of the kernel. For more queries one dump of all UDP flows is cheaper
  // (docs/decisions/0018).
  static constexpr std::size_t kMostQueries = 8;
  // As long as scans fail, tenants can add retired addresses. Flows to further ones stay until they time out; about 1.5
  // MiB.
  static constexpr std::size_t kMostRetired = 16'384;

  // Adds the queries for flows that the change of a service port may have left stale. Null: the port does not exist.
  void note(const UdpPort* before, const UdpPort* after);
  void note_full_scan() { full_scan_ = true; }
  void note_retired(const lib::SocketAddress& frontend);
  void note_retired_node_port(std::uint16_t port);
  void merge(const ConntrackWork& other);

  bool empty() const { return !full_scan_ && queries_.empty(); }
  bool full_scan() const { return full_scan_; }
  // The queries that cover all stale flows; one query for all flows if there are too many.
  std::vector<FlowQuery> queries() const;

  // Frontends that were removed since the last scan. A Service may use them again by now.
  const std::set<lib::SocketAddress>& retired() const { return retired_; }
  const std::set<std::uint16_t>& retired_node_ports() const { return retired_node_ports_; }
  bool has_retired() const { return !retired_.empty() || !retired_node_ports_.empty(); }

 private:
  void query(const FlowQuery& query);

  bool full_scan_ = false;
  std::vector<FlowQuery> queries_;
  std::set<lib::SocketAddress> retired_;
  std::set<std::uint16_t> retired_node_ports_;
};

}  // namespace sluice::conntrack
