// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The one seam between a backend that writes iptables rules and the node. Everything above it is replaced by
// nothing in tests; everything below it is programs and the kernel.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "plugins/common/netfilter/accounting.hpp"
#include "plugins/common/netfilter/foreign_changes.hpp"
#include "plugins/common/netfilter/generation.hpp"
#include "plugins/common/netfilter/restore.hpp"
#include "plugins/common/netfilter/tools.hpp"
#include "plugins/common/process/command.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::netfilter {

// How iptables-restore ended, and how long somebody else's lock kept us from starting it.
struct Restored {
  process::Outcome outcome;
  std::chrono::milliseconds lock_wait{0};
};

class Kernel {
 public:
  virtual ~Kernel() = default;

  // Found on first use. Throws sdk::Failure when there are none.
  virtual const Tools& tools() = 0;
  // All tables, or one, as iptables-save prints them, to `sink` piece by piece.
  virtual process::Outcome save(std::optional<Table> only, const std::function<void(std::string_view)>& sink) = 0;
  // One run of iptables-restore --noflush. Waits some seconds for the lock of the old
  // iptables, where there is one; not getting it looks as if the tool had not.
  virtual Restored restore(std::string_view input) = 0;
  // The same in a network namespace that ends with it, for trying what this kernel can
  // do. Without the privilege for one it runs in ours, where the input has to remove what
  // it makes; iptables then leaves its empty built-in chains.
  virtual process::Outcome try_restore(std::string_view input) = 0;
  // Grows by one with every change anybody makes; empty when the kernel does not tell.
  virtual std::optional<std::uint32_t> generation() = 0;
  // What others did to the same generation; shared by the families of a node.
  virtual ForeignChanges& foreign_changes() = 0;
  // 0, or the errno of the failure.
  virtual int allow_localnet_routing() = 0;
  // Makes a counter of packets unless it is there. 0, or the errno of the failure.
  virtual int ensure_counter(const std::string& name) = 0;
  // Empty when there is no such counter.
  virtual std::optional<std::uint64_t> counted_packets(const std::string& name) = 0;
};

// The real one. One thread at a time.
class NodeKernel final : public Kernel {
 public:
  explicit NodeKernel(abi::Family family) : family_(family) {}

  const Tools& tools() override;
  process::Outcome save(std::optional<Table> only, const std::function<void(std::string_view)>& sink) override;
  Restored restore(std::string_view input) override;
  process::Outcome try_restore(std::string_view input) override;
  std::optional<std::uint32_t> generation() override;
  ForeignChanges& foreign_changes() override;
  int allow_localnet_routing() override;
  int ensure_counter(const std::string& name) override { return accounting_.ensure(name); }
  std::optional<std::uint64_t> counted_packets(const std::string& name) override { return accounting_.packets(name); }

 private:
  process::Outcome run(const process::Command& command);

  abi::Family family_;
  std::optional<Tools> tools_;
  GenerationReader generation_;
  Accounting accounting_;
};

// The failure the outcome deserves: kRetry for a lock that was held, kDenied for missing
// privilege, else kKernel.
sdk::Failure failure_of(const std::string& program, const process::Outcome& outcome);

// The rules may be to blame: not a lock, not privilege, not memory, not the limit of time.
bool may_be_the_rules(const process::Outcome& outcome);

}  // namespace sluice::netfilter
