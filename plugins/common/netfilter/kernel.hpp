// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The interface between a backend that writes iptables rules and the node. Tests replace its implementation.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "lib/program.hpp"
#include "plugins/common/netfilter/accounting.hpp"
#include "plugins/common/netfilter/foreign_changes.hpp"
#include "plugins/common/netfilter/generation.hpp"
#include "plugins/common/netfilter/restore.hpp"
#include "plugins/common/netfilter/tools.hpp"
#include "sluice/sdk/address.hpp"
#include "sluice/sdk/deadline.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::netfilter {

// The result of iptables-restore, and how long its start was delayed by the lock of another process.
struct Restored {
  lib::ProgramResult outcome;
  std::chrono::milliseconds lock_wait{0};
};

// What iptables-save prints.
struct SaveOptions {
  std::optional<Table> only{};  // empty: all tables
  bool counters = false;        // packets and bytes of each rule
};

class Kernel {
 public:
  virtual ~Kernel() = default;

  // If it is cancelled, waits end and iptables-save is killed, with sdk::Failure (kRetry); iptables-restore is not
  // killed, so that the count of its COMMITs is known. Must outlive this object.
  void set_deadline(const sdk::Deadline& deadline) { deadline_ = &deadline; }
  const sdk::Deadline& deadline() const { return *deadline_; }

  // Found on first use. Throws sdk::Failure if there are none.
  virtual const Tools& tools() = 0;
  // Passes the iptables-save output to `sink` piece by piece.
  virtual lib::ProgramResult save(const SaveOptions& options, const std::function<void(std::string_view)>& sink) = 0;
  // One run of iptables-restore --noflush. Waits some seconds for the lock of legacy
  // iptables. A timeout is reported like a timeout of the tool itself.
  virtual Restored restore(std::string_view input) = 0;
  // The same in a temporary network namespace, to probe what the kernel supports. Without
  // the privilege to create one it runs in the daemon's namespace, so the input must remove
  // all that it creates; iptables then leaves its empty built-in chains.
  virtual lib::ProgramResult try_restore(std::string_view input) = 0;
  // Grows by one with every change of any process; empty if the kernel does not report it.
  virtual std::optional<std::uint32_t> generation() = 0;
  // Counts foreign changes; shared by the IP families of a node.
  virtual ForeignChanges& foreign_changes() = 0;
  // The addresses of this node on all interfaces. Throws sdk::Failure (kRetry).
  virtual std::set<abi::Address> local_addresses() = 0;
  // Sets the sysctl route_localnet. Returns 0 or an errno.
  virtual int allow_localnet_routing() = 0;
  // Creates a packet counter unless it exists. Returns 0 or an errno.
  virtual int ensure_counter(const std::string& name) = 0;
  // Empty if there is no such counter.
  virtual std::optional<std::uint64_t> counted_packets(const std::string& name) = 0;

 private:
  const sdk::Deadline* deadline_ = &sdk::Deadline::unlimited();
};

// Uses the programs and the kernel of this node. One thread at a time.
class NodeKernel final : public Kernel {
 public:
  explicit NodeKernel(abi::Family family) : family_(family) {}

  const Tools& tools() override;
  lib::ProgramResult save(const SaveOptions& options, const std::function<void(std::string_view)>& sink) override;
  Restored restore(std::string_view input) override;
  lib::ProgramResult try_restore(std::string_view input) override;
  std::optional<std::uint32_t> generation() override;
  ForeignChanges& foreign_changes() override;
  std::set<abi::Address> local_addresses() override;
  int allow_localnet_routing() override;
  int ensure_counter(const std::string& name) override { return accounting_.ensure(name); }
  std::optional<std::uint64_t> counted_packets(const std::string& name) override { return accounting_.packets(name); }

 private:
  lib::ProgramResult run(const lib::Program& command, const std::function<bool()>& stopped = {});

  abi::Family family_;
  std::optional<Tools> tools_;
  GenerationReader generation_;
  Accounting accounting_;
};

// The failure for an outcome: kRetry if the lock was held, kDenied for missing privilege,
// otherwise kKernel.
sdk::Failure failure_of(const std::string& program, const lib::ProgramResult& outcome);

// Whether the rules may have caused the failure, and not a lock, privilege, memory or a timeout.
bool may_be_the_rules(const lib::ProgramResult& outcome);

}  // namespace sluice::netfilter
