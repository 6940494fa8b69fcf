// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Deletes stale UDP conntrack entries of the Services of one family. Without this, packets of a client that keeps
// sending still go to an endpoint that no longer serves. Runs on its own thread and in the background. TCP, SCTP, flows
// to other addresses and other zones are never touched.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "core/conntrack/mailbox.hpp"
#include "core/conntrack/scan.hpp"
#include "lib/clock.hpp"
#include "lib/mutex.hpp"

namespace sluice::conntrack {

class ConntrackReconciler {
 public:
  struct Options {
    lib::Family family = lib::Family::ipv4;
    // The file that stores the frontends for the next process; empty: none.
    std::string memory_file;
    // [own thread] After each scan.
    std::function<void(double seconds, std::uint64_t deleted)> reconciled{};
    lib::Clock::Duration retry = std::chrono::seconds(5);
    // Retry delay if privileges or kernel support are missing.
    lib::Clock::Duration retry_unsupported = std::chrono::minutes(5);
    // Minimum time between full scans that full updates cause.
    lib::Clock::Duration full_scan_interval = std::chrono::seconds(30);
    // Time between scans of the flows of an old backend; longer if a scan takes long.
    lib::Clock::Duration scan_interval = std::chrono::milliseconds(400);
    // Maximum of it: the second scan after the last packet of a flow deletes the flow, and ipvs mode expects that
    // within half a minute.
    lib::Clock::Duration max_scan_interval = std::chrono::seconds(12);
    OldBackendFlows::VirtualServers virtual_servers = has_virtual_servers;
  };

  ConntrackReconciler(Options options, std::unique_ptr<ConntrackTable> table)
      : options_(std::move(options)), table_(std::move(table)), old_backend_flows_(options_.virtual_servers) {}
  ~ConntrackReconciler() { stop(); }
  ConntrackReconciler(const ConntrackReconciler&) = delete;
  ConntrackReconciler& operator=(const ConntrackReconciler&) = delete;

  void start();
  // [any other thread] Remaining work is left to the next process.
  void stop();

  // [any thread] The rules in the kernel have this state now. Never blocks for a scan; changes that arrive during one
  // are merged, so that the queue is bounded by the number of UDP service ports.
  void put(UdpChange change);
  // [any other thread] A write of rules begins, or it has ended and put() has its result. A scan removes no flow that it
  // has read during a write before that write ends: a new rule may have translated the flow to an endpoint that put()
  // adds afterwards.
  void set_writing(bool writing);

  // [any thread] States how old backends still serve UDP flows of this family, and replaces the previous statement.
  //
  // While an old backend serves, its flows stay until they are quiet. A quiet flow is deleted, so that its next packet
  // meets the rules of the new backend. Quiet: no packet for 300 ms, or for 3 s if a reply is pending. If the kernel
  // does not count packets (net.netfilter.nf_conntrack_acct), no packet for one to three seconds. A flow to an endpoint
  // or Service that is gone is deleted at once. `serve` false: the remaining flows of old backends are deleted.
  //
  // Must be called before put() of what the new backend serves, and with `serve` false before the old backend removes
  // its kernel state; otherwise packets are lost in between. Not needed for backends whose rules only choose the
  // endpoint once (iptables, nftables): their flows continue without them.
  void set_old_backends(OldBackends old_backends);
  // [any thread] False from a set_old_backends() that clears `serve` until the flows of the old backend are deleted.
  // True if they cannot be deleted because the kernel denies it; the log has a warning then.
  bool settled() const;

 private:
  void run();
  struct Updates {
    ConntrackMailbox::Contents contents;
    std::optional<OldBackends> old_backends;
    std::uint64_t end = 0;
  };
  Updates wait();
  void accept(Updates updates);
  void accept(ConntrackMailbox::Contents contents, ConntrackWork& work);
  bool update_state();
  void scan();
  void failed(const lib::Status& status);
  void load_frontends();
  void save_frontends();
  void settle();
  std::string name() const;

  const Options options_;
  const std::unique_ptr<ConntrackTable> table_;
  const lib::SteadyClock clock_;
  std::thread thread_;
  std::atomic<bool> stopping_{false};

  mutable lib::Mutex mutex_;
  lib::ConditionVariable filled_;
  ConntrackMailbox mailbox_ SLUICE_GUARDED_BY(mutex_);
  std::optional<OldBackends> pending_old_backends_ SLUICE_GUARDED_BY(mutex_);
  bool stated_serve_ SLUICE_GUARDED_BY(mutex_) = false;      // of the last statement
  std::uint64_t writes_begun_ SLUICE_GUARDED_BY(mutex_) = 0;
  std::uint64_t writes_ended_ SLUICE_GUARDED_BY(mutex_) = 0;
  bool awaits_write_ SLUICE_GUARDED_BY(mutex_) = false;  // the thread waits for the end of a write
  std::uint64_t last_end_ SLUICE_GUARDED_BY(mutex_) = 0;     // how many statements cleared `serve`
  std::uint64_t settled_end_ SLUICE_GUARDED_BY(mutex_) = 0;  // the last one after which all flows were scanned

  // Own thread.
  std::uint64_t end_ = 0;  // last_end_ of the accepted statements
  ConntrackState state_;
  ConntrackWork work_;
  ConntrackWork later_work_;  // of changes that arrived during the scan
  OldBackendFlows old_backend_flows_;
  LateReplies late_replies_;
  lib::Clock::Time next_scan_;  // for old_backend_flows_
  bool state_known_ = false;
  std::optional<lib::Clock::Time> last_full_scan_;
  std::optional<lib::Clock::Time> full_scan_at_;  // a delayed full scan
  lib::Clock::Time not_before_;
  bool failing_ = false;
  std::optional<std::size_t> saved_hash_;  // of the memory file
};

}  // namespace sluice::conntrack
