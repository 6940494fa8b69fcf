// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Ends a backend while the new backend serves: removes rules, sockets and connections in order. One
// object per retirement; the daemon calls it about once a second. Apply thread only.
//
// Rules that redirect new connections are removed first. Sockets stay open a little longer, for
// packets that were redirected before. Established connections continue until they end, or until
// the drain timeout.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "plugins/userspace/metrics_reporter.hpp"
#include "plugins/userspace/portal/portal_writer.hpp"
#include "plugins/userspace/relay/relayed_count.hpp"
#include "plugins/userspace/service_table.hpp"
#include "sluice/abi/host.hpp"
#include "sluice/abi/relay.hpp"
#include "sluice/sdk/logger.hpp"
#include "sluice/sdk/metrics.hpp"

namespace sluice::userspace {

class Retirement {
 public:
  // How long sockets stay open after the rules that redirect to them were removed.
  static constexpr std::chrono::seconds kGrace{3};
  // After this time without a datagram the daemon removes the conntrack entries that point to UDP sockets; the sockets
  // close kGrace later. A client with a remaining entry would get ICMP port unreachable.
  static constexpr std::chrono::seconds kQuiet{7};

  // Parts of the backend; all outlive the retirement.
  struct Context {
    abi::Host& host;
    abi::HostRelay* host_relay;  // null: the daemon has no such extension
    const sdk::Logger& log;
    abi::Family family;
    PortalWriter& writer;
    ServiceTable& table;
    RelayedCount& relayed;
    MetricsReporter& reporter;
    sdk::Metrics metrics;
  };
  explicit Retirement(const Context& parts);

  // Whether anything was removed.
  bool begun() const noexcept { return stage_ != Stage::kBegin; }

  // `claims` are those of the new backend; `drain` is the remaining drain time, 0: end remaining connections now.
  // Returns whether the retirement is complete. Throws sdk::Failure, and may be called again then.
  bool advance(const std::vector<std::string>& claims, std::chrono::seconds drain);

  // The remaining connections and flows, as a phrase.
  std::string remaining() const;

 private:
  enum class Stage {
    kBegin,
    kListening,    // no rule redirects here
    kUdpRemains,   // TCP sockets are closed
    kUdpMoved,     // the daemon removes the conntrack entries of UDP flows
    kEstablished,  // all sockets are closed
    kDone,
  };

  bool remove_redirects(const std::vector<std::string>& claims, bool immediately);
  void note_datagrams(std::uint64_t now);
  void close_tcp();
  void move_udp(std::uint64_t now);
  void close_udp(const std::vector<std::string>& claims);
  void reset_connections();
  void report_draining() const;
  void finish();

  const Context context_;
  const sdk::Series draining_connections_;
  const sdk::Series draining_flows_;
  Stage stage_ = Stage::kBegin;
  bool has_successor_ = false;  // another userspace backend followed, at least for a while, and owns the kept sockets
  std::uint64_t since_ = 0;     // begin of kListening or kUdpMoved, in nanoseconds
  std::uint64_t quiet_since_ = 0;
  std::uint64_t datagrams_ = 0;
};

// "3 TCP connections and 1 UDP flow".
std::string describe(const RelayedNow& relayed);
// Adds to the counter of lost connections.
void count_lost(const sdk::Metrics& metrics, const RelayedNow& lost);

}  // namespace sluice::userspace
