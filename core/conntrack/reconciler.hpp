// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Keeps the UDP flows that the kernel tracks in step with the Services of one family: what
// a rule of ours once led to an endpoint that no longer serves would go on going there for
// as long as the client keeps sending. On a thread of its own; nobody waits for it.
// TCP, SCTP, flows to other addresses and other zones are never touched.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/base/clock.hpp"
#include "core/conntrack/mailbox.hpp"
#include "core/conntrack/pass.hpp"

namespace sluice::conntrack {

class ConntrackReconciler {
 public:
  struct Options {
    base::Family family = base::Family::ipv4;
    // Where the frontends are remembered for the next process; empty: nowhere.
    std::string memory_file;
    // [own thread] After each reconciling.
    std::function<void(double seconds, std::uint64_t deleted)> reconciled{};
    base::Clock::Duration retry = std::chrono::seconds(5);
    // The same when it is privilege or the kernel's support that is missing.
    base::Clock::Duration retry_unsupported = std::chrono::minutes(5);
    // How often everything may be looked at because everything was sent.
    base::Clock::Duration between_full = std::chrono::seconds(30);
    // How often at the flows of a predecessor; less often where a look takes long.
    base::Clock::Duration between_looks = std::chrono::milliseconds(400);
    // But not less often than this: a flow is let go of by the second look after its last packet, and mode ipvs counts
    // on that half a minute after it.
    base::Clock::Duration longest_between_looks = std::chrono::seconds(12);
    FormerBackend::VirtualServers virtual_servers = has_virtual_servers;
  };

  ConntrackReconciler(Options options, std::unique_ptr<ConntrackTable> table)
      : options_(std::move(options)), table_(std::move(table)), former_(options_.virtual_servers) {}
  ~ConntrackReconciler() { stop(); }
  ConntrackReconciler(const ConntrackReconciler&) = delete;
  ConntrackReconciler& operator=(const ConntrackReconciler&) = delete;

  void start();
  // Any thread but its own. What was not looked at yet is left; the next process will.
  void stop();

  // [any thread] The rules in the kernel say this now. Never waits for a reconciling; what
  // arrives during one is joined, so that what waits is bounded by the UDP service ports.
  void put(UdpChange change);

  // [any thread] States whether an old backend still serves UDP flows of this family, and replaces the previous
  // statement. `relays`: ports of this node, in host byte order, at which its process replies. `kernel`: IPVS of the
  // old backend still serves; its flows have no DNAT, and an endpoint replies. If `serves` is true and both are unset,
  // IPVS may still serve.
  //
  // While an old backend serves, its flows stay until they are quiet. A quiet flow is deleted, so that its next packet
  // meets the rules of the new backend. Quiet: no packet for 300 ms, or for 3 s if a reply is pending. If the kernel
  // does not count packets (net.netfilter.nf_conntrack_acct), no packet for one to three seconds. A flow to an endpoint
  // or Service that is gone is deleted at once. `serves` false: the remaining flows of the old backend are deleted.
  //
  // Must be called before put() of what the new backend serves, and with `serves` false before the old backend removes
  // its kernel state; otherwise packets are lost in between. Not needed for backends whose rules only choose the
  // endpoint once (iptables, nftables): their flows continue without them.
  struct Predecessor {
    bool serves = false;
    std::vector<std::uint16_t> relays;
    bool kernel = false;
  };
  void set_predecessor(Predecessor predecessor);
  // [any thread] False from a set_predecessor() that ends a `serves` until the flows of the old backend are deleted.
  // True if they cannot be deleted because the kernel denies it; the log has a warning then.
  bool settled() const;

 private:
  void run();
  struct News {
    ConntrackMailbox::Contents contents;
    std::optional<Predecessor> predecessor;
    std::uint64_t end = 0;
  };
  News wait();
  void take_over(News news);
  void pass();
  void failed(const base::Status& status);
  void recall();
  void remember();
  void settle();
  std::string name() const;

  const Options options_;
  const std::unique_ptr<ConntrackTable> table_;
  const base::SteadyClock clock_;
  std::thread thread_;
  std::atomic<bool> stopping_{false};

  mutable std::mutex mutex_;
  std::condition_variable filled_;
  ConntrackMailbox mailbox_;                    // under mutex_
  std::optional<Predecessor> new_predecessor_;  // under mutex_
  bool stated_serves_ = false;                  // under mutex_: the last statement
  std::uint64_t last_end_ = 0;                  // under mutex_: how many statements ended a `serves`
  std::uint64_t settled_end_ = 0;               // under mutex_: the last one after which all flows were scanned

  // Own thread.
  std::uint64_t end_ = 0;  // last_end_ of the statements taken over
  ConntrackState state_;
  ConntrackWork work_;
  FormerBackend former_;
  LateReplies late_replies_;
  base::Clock::Time next_look_;  // at the flows of former_
  bool state_known_ = false;
  std::optional<base::Clock::Time> last_everything_;
  std::optional<base::Clock::Time> everything_at_;  // a look at everything that has to wait
  base::Clock::Time not_before_;
  bool failing_ = false;
  std::optional<std::size_t> remembered_;  // hash of what the memory file says
};

}  // namespace sluice::conntrack
