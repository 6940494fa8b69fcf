// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Keeps the portal rules in the kernel: reads it once, writes differences, and detects drift. Apply
// thread only.
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

// The printed name and the protocol of a service port.
using PortalId = std::pair<std::string, abi::Protocol>;
struct PortalDifference;
struct PortalListing;

class PortalWriter {
 public:
  using Now = std::function<std::uint64_t()>;  // nanoseconds

  // `kernel` outlives this object.
  PortalWriter(netfilter::Kernel& kernel, abi::Family family, Now now);
  ~PortalWriter();

  // Reads from the kernel the proxy ports that rules of an earlier process redirect to. The proxy listens there again,
  // so that a restart changes neither rules nor conntrack entries. If rules disagree, the first one that packets meet
  // counts. Throws sdk::Failure.
  std::map<PortalId, ProxyPorts> read_proxy_ports();

  struct Written {
    std::size_t lines = 0;  // sent to the kernel
    std::size_t rules = 0;  // owned now
    // Service ports with refused rules, by printed name, and the reason. None of their rules is in the kernel.
    std::map<std::string, std::string> refused;
  };
  // Make the kernel hold exactly the given rules; write nothing if it does already. Throw sdk::Failure, which leaves an
  // intermediate state: the next call must be write_full().
  Written write_full(const std::vector<FixedRule>& fixed, const std::vector<Portal>& portals);
  // A changed portal replaces the one with the same ID. Portals refused before are not retried unless they are in
  // `changed`. REQUIRES: a write_full(), and no failure or drift since.
  Written write_delta(const std::vector<Portal>& changed, const std::vector<PortalId>& removed);

  // Describes drift in a phrase; empty if the kernel holds what was written. Cheap while no other program writes: with
  // nf_tables it compares the generation number first; with legacy iptables it lists the rules each time, using at most
  // a twentieth of one processor.
  std::optional<std::string> find_drift();
  // Reads the kernel and visits each difference from what was written last; the argument is valid during the call. Does
  // not affect find_drift(). Throws sdk::Failure.
  void each_difference(const std::function<void(const PortalDifference&)>& visit);

  // What remove() removes, in the order that keeps packets flowing while another backend serves. Each part is one
  // COMMIT per table.
  enum class Part {
    // Drop rules for addresses of Services, since untranslated packets pass for the other backend after the next part.
    // Excludes rules that guard the proxy ports.
    kDrops,
    kRedirects,  // table nat: rules that redirect new connections to the proxy
    kAll,        // the rest: no client reaches the proxy ports any more
  };
  // Removes jumps and chains of that part, except those for which `keep` returns true. Chains that a foreign rule jumps
  // to are only flushed. Throws sdk::Failure.
  void remove(Part part, const std::function<bool(netfilter::Table, const std::string& chain)>& keep);

  // Passes the rules of the kernel to `reader`; does not affect drift detection. Throws sdk::Failure if the tool fails
  // or its output is truncated.
  void read(netfilter::SaveReader& reader);
  // The rules of the kernel, and those written last in the form of a listing. read_rules() does not affect drift
  // detection, and throws as read() does.
  PortalListing read_rules();
  PortalListing written_rules() const;
  // Visits each portal rule as written last.
  void each_written(
      const std::function<void(netfilter::Table, std::string_view chain, std::string_view rule)>& visit) const;

  // The cost of the last write: lines, and time spent on the xtables lock and the tools.
  const netfilter::KernelSession& session() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice::userspace
