// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What is known of the UDP service ports of one family, and the decision which tracked
// flows are stale. Pure; one thread.
//
// It holds UDP service ports only: 20 bytes an endpoint and frontend, and the index.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/base/status.hpp"
#include "core/conntrack/flow.hpp"
#include "core/conntrack/work.hpp"

namespace sluice::conntrack {

class ConntrackState {
 public:
  // Takes the change in, and notes where it may have left stale flows.
  void apply(const UdpChange& change, ConntrackWork& work);

  // Whether a rule of ours led the flow to an endpoint, or a port of the backend, that no longer
  // serves it, or would lead it to one if it began now. `work` tells the frontends that are no longer ours.
  bool stale(const Flow& flow, const ConntrackWork& work) const { return judge(flow, work) >= Verdict::kStale; }
  enum class Verdict {
    kRight,
    kThroughIpvs,  // right when it is the present backend that serves by IPVS
    kStale,
    kStaleHere,  // stale, and answered by a port of this node: of another backend perhaps
  };
  Verdict judge(const Flow& flow, const ConntrackWork& work) const;

  bool empty() const { return ports_.empty(); }
  std::size_t size() const { return ports_.size(); }

  // The frontends as text, for a later process that asks which are no longer there.
  std::string remember() const;
  // Whether that has become different since the last call; the first says yes.
  bool take_frontends_changed() { return std::exchange(frontends_changed_, false); }
  // Notes the frontends of an earlier process as retired: those that are here, or come
  // with the first change, count as what they are then. Returns how many it read.
  static base::Result<std::size_t> recall(std::string_view text, ConntrackWork& work);

 private:
  using Ports = std::unordered_map<UdpPortKey, UdpPortPtr>;

  void set(const UdpPortKey& key, const UdpPortPtr& port, ConntrackWork& work);
  void index(const UdpPort* port);
  void unindex(const UdpPort* port);
  bool at_node_port(const base::IpAddress& address) const;
  bool of_this_node(const base::IpAddress& address) const;
  bool is_answer(const Flow& flow) const;

  Ports ports_;
  // Two Services may claim one address; then whoever serves a flow keeps it.
  std::unordered_multimap<base::SocketAddress, const UdpPort*> by_frontend_;
  std::unordered_multimap<std::uint16_t, const UdpPort*> by_node_port_;
  NodePortScope scope_;
  bool frontends_changed_ = true;
};

}  // namespace sluice::conntrack
