// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The UDP service ports of one family, and the decision which tracked flows are stale. No I/O; one thread.
//
// Needs 20 bytes for each endpoint and frontend of a UDP service port, and the index.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/conntrack/flow.hpp"
#include "core/conntrack/work.hpp"
#include "lib/status.hpp"

namespace sluice::conntrack {

class ConntrackState {
 public:
  // Applies the change and records where it may have left stale flows.
  void apply(const UdpChange& change, ConntrackWork& work);

  // Whether a rule translated the flow to an endpoint or relay port that no longer serves it, or would translate it
  // now. `work` contains the frontends that were removed.
  bool stale(const Flow& flow, const ConntrackWork& work) const { return judge(flow, work) >= Verdict::kStale; }
  enum class Verdict {
    kValid,
    kThroughIpvs,  // valid if the active backend uses IPVS
    kStale,
    kStaleLocal,  // stale with replies from a port of this node, perhaps of the old backend
  };
  Verdict judge(const Flow& flow, const ConntrackWork& work) const;

  bool empty() const { return ports_.empty(); }
  std::size_t size() const { return ports_.size(); }

  // The frontends as text, so that a later process can find those that were removed meanwhile.
  std::string serialize_frontends() const;
  // Whether that text changed since the last call; true for the first call.
  bool take_frontends_changed() { return std::exchange(frontends_changed_, false); }
  // Records the frontends of an earlier process as retired; existing ports and those of the first change take
  // precedence. Returns the number of frontends.
  static lib::Result<std::size_t> parse_frontends(std::string_view text, ConntrackWork& work);

 private:
  using Ports = std::unordered_map<UdpPortKey, UdpPortPtr>;

  void set(const UdpPortKey& key, const UdpPortPtr& port, ConntrackWork& work);
  void index(const UdpPort* port);
  void unindex(const UdpPort* port);
  bool at_node_port(const lib::IpAddress& address) const;
  bool of_this_node(const lib::IpAddress& address) const;
  bool is_reply(const Flow& flow) const;

  Ports ports_;
  // Two Services may have the same address; then the one that serves a flow keeps it.
  std::unordered_multimap<lib::SocketAddress, const UdpPort*> by_frontend_;
  std::unordered_multimap<std::uint16_t, const UdpPort*> by_node_port_;
  NodePortScope scope_;
  bool frontends_changed_ = true;
};

}  // namespace sluice::conntrack
