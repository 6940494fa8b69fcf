// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// How a backend goes while another one serves: in which order rules, sockets and what is
// established end. One object for one end; it is asked to go on about once a second. The
// apply thread only.
//
// What leads new connections here goes first. Packets are on their way here then, so
// sockets stay a while longer and whoever comes is served. What is established lives until
// it ends, or until time is up.
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

namespace sluice::userspace {

class Retirement {
 public:
  // So long sockets are there after rules have ceased to lead to them.
  static constexpr std::chrono::seconds kGrace{3};
  // The daemon removes the tracked flows that lead to UDP sockets after this time without a datagram; kGrace later the
  // sockets close. If a flow were still tracked then, its client would be refused.
  static constexpr std::chrono::seconds kQuiet{7};

  // What it is about; all outlive the retirement.
  struct Parts {
    abi::Host& host;
    abi::HostRelay* host_relay;  // null: the daemon has no such extension
    const sdk::Logger& log;
    abi::Family family;
    PortalWriter& writer;
    ServiceTable& table;
    RelayedCount& relayed;
    MetricsReporter& metrics;
  };
  explicit Retirement(const Parts& parts) : parts_(parts) {}

  // Something has been taken away.
  bool begun() const noexcept { return stage_ != Stage::kBegin; }

  // `claims`: of who serves now; `drain`: what remains of the time, 0: what is left ends now. True: nothing is left.
  // Throws sdk::Failure, and may be called again then.
  bool go_on(const std::vector<std::string>& claims, std::chrono::seconds drain);

  // What still lives, in a phrase.
  std::string left() const;

 private:
  enum class Stage {
    kBegin,
    kListening,    // no rule leads here
    kUdpRemains,   // TCP sockets are closed
    kUdpMoved,     // the daemon removes the UDP flows
    kEstablished,  // all sockets are closed
    kDone,
  };

  bool take_rules_off(const std::vector<std::string>& claims, bool at_once);
  void note_datagrams(std::uint64_t now);
  void close_tcp();
  void move_udp(std::uint64_t now);
  void close_udp(const std::vector<std::string>& claims);
  void end_everything();
  void tell() const;
  void finish();

  const Parts parts_;
  Stage stage_ = Stage::kBegin;
  bool succeeded_ = false;   // a backend of this kind served afterwards, if only for a while: what is kept is its own
  std::uint64_t since_ = 0;  // kListening: that no rule leads here; kUdpMoved: of this stage; nanoseconds
  std::uint64_t quiet_since_ = 0;
  std::uint64_t datagrams_ = 0;
};

// "3 TCP connections and 1 UDP flow".
std::string describe(const RelayedNow& relayed);
// Adds them to the counter of what was lost.
void count_lost(abi::Host& host, abi::Family family, const RelayedNow& lost);

}  // namespace sluice::userspace
