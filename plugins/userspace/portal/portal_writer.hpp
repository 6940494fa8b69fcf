// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Keeps the portals' rules in the kernel: reads it once, writes the difference, notices
// when somebody else changed them. The apply thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/userspace/portal/portal_plan.hpp"

namespace sluice::netfilter {
class Kernel;
class KernelSession;
class SaveReader;
}  // namespace sluice::netfilter

namespace sluice::userspace {

// Of a service port: printed name and protocol.
using PortalId = std::pair<std::string, abi::Protocol>;

class PortalWriter {
 public:
  using Now = std::function<std::uint64_t()>;  // nanoseconds

  // `kernel` outlives this.
  PortalWriter(netfilter::Kernel& kernel, abi::Family family, Now now);
  ~PortalWriter();

  // One look at the kernel. Returns the ports that rules of an earlier process lead to, so that the proxy can listen
  // there again and neither rules nor tracked flows change with a restart. Throws sdk::Failure.
  // Where several rules disagree, the first that packets meet counts.
  std::map<PortalId, ProxyPorts> adopt();

  struct Written {
    std::size_t lines = 0;                       // sent to the kernel
    std::size_t rules = 0;                       // owned now
    std::map<std::string, std::string> refused;  // service ports whose rules were refused, by printed name, and why;
                                                 // nothing of theirs is in place, the rest is
  };
  // After these the kernel holds exactly what was given; equal content: nothing is written. Throw sdk::Failure, which
  // leaves a state between; the next call has to be write_full().
  Written write_full(const std::vector<FixedRule>& fixed, const std::vector<Portal>& portals);
  // A portal replaces the one with its id; what was refused before and is not named stays out. REQUIRES: a
  // write_full() that has not been followed by a failure or by damage.
  Written write_delta(const std::vector<Portal>& changed, const std::vector<PortalId>& removed);

  // What is damaged, in a phrase; empty when all is as written. Cheap while nobody else writes (BEH: as the iptables
  // backend does it: generation number with nf_tables, a look each time with the old one, never more than a twentieth
  // of one processor).
  std::optional<std::string> find_damage();

  // What remove() takes away, in the order in which a packet can do without it while another backend serves. Each in
  // one COMMIT of its table.
  enum class Part {
    // What drops packets to addresses of Services: with the next part they come by untranslated, for the other backend.
    // Not
    // what guards the proxy's own ports.
    kDrops,
    kLeads,  // table nat: what leads new connections to the proxy
    kAll,    // the rest: nobody comes to the proxy's ports any more
  };
  // Removes jumps and chains of that part, but those for which `keep` says so.
  // Chains that somebody else's rule leads to are emptied only. Throws sdk::Failure.
  void remove(Part part, const std::function<bool(netfilter::Table, const std::string& chain)>& keep);

  // The rules of the kernel go through `reader`, now: what find_damage() compares with stays as it is. Throws
  // sdk::Failure when the tool fails or its output is cut off.
  void read(netfilter::SaveReader& reader);
  // Each rule of a portal that was written last.
  void each_written(
      const std::function<void(netfilter::Table, std::string_view chain, std::string_view rule)>& visit) const;

  // What the last writing call cost: lines, waiting for the lock of the old iptables, and for the tools.
  const netfilter::KernelSession& session() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice::userspace
