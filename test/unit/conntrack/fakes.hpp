// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A fake conntrack table, and helpers to make flows and ports.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/conntrack/table.hpp"

namespace sluice::test {

inline lib::SocketAddress at(std::string_view text, std::uint16_t port) {
  return {*lib::IpAddress::parse(text), port};
}

inline conntrack::UdpPortKey udp_key(const std::string& name) {
  return {{base::Symbol("ns1"), name}, base::Symbol("dns")};
}

inline conntrack::UdpPortPtr udp_port(std::vector<lib::SocketAddress> frontends, std::uint16_t node_port,
                                      std::vector<lib::SocketAddress> serving,
                                      std::vector<std::uint16_t> relays = {}) {
  std::sort(frontends.begin(), frontends.end());
  std::sort(serving.begin(), serving.end());
  std::sort(relays.begin(), relays.end());
  return std::make_shared<const conntrack::UdpPort>(
      conntrack::UdpPort{std::move(frontends), node_port, std::move(serving), std::move(relays)});
}

// Returns only flows that match, like a kernel with filters.
class FakeConntrackTable : public conntrack::ConntrackTable {
 public:
  std::vector<conntrack::Flow> flows;
  std::size_t dumps = 0;
  std::size_t full_dumps = 0;
  int interruptions = 0;                          // the next dumps that end half way
  lib::Status failure;                           // of each dump, if not ok
  std::size_t full_dump_cheaper_from = SIZE_MAX;  // that many dumps cost more than one full dump

  // Adds the flow of a client; `server`: the endpoint that the rules chose, or `to`.
  conntrack::Flow& add(const lib::SocketAddress& client, const lib::SocketAddress& to,
                       const lib::SocketAddress& server) {
    flows.push_back({client, to, server, client, ++last_id_});
    return flows.back();
  }
  bool has(std::uint32_t id) const {
    return std::any_of(flows.begin(), flows.end(), [&](const conntrack::Flow& flow) { return flow.id == id; });
  }

  lib::Status dump(lib::Family, const conntrack::FlowQuery& query, const Visitor& visitor) override {
    ++dumps;
    if (query.all_flows()) ++full_dumps;
    if (!failure.ok()) return failure;
    const bool cut = interruptions > 0 && interruptions-- > 0;
    const std::vector<conntrack::Flow> now = flows;
    for (std::size_t i = 0; i < (cut ? now.size() / 2 : now.size()); ++i) {
      if (query.fits(now[i]) && !visitor(now[i])) return {};
    }
    return cut ? lib::errno_status("reading", EINTR) : lib::Status();
  }

  conntrack::FlowQuery supported_query(lib::Family, const conntrack::FlowQuery& query) const override { return query; }
  bool is_full_dump_cheaper(lib::Family, std::size_t number) const override { return number >= full_dump_cheaper_from; }

  lib::Result<std::size_t> remove(lib::Family, std::span<const conntrack::Flow> gone) override {
    return std::erase_if(flows, [&](const conntrack::Flow& flow) {
      return std::any_of(gone.begin(), gone.end(), [&](const conntrack::Flow& one) { return one.id == flow.id; });
    });
  }

 private:
  std::uint32_t last_id_ = 0;
};

}  // namespace sluice::test
