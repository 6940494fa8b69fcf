// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The one seam between this backend and the node. Everything above it is replaced by
// nothing in tests; everything below it is programs and the kernel.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "plugins/common/netfilter/generation.hpp"
#include "plugins/common/netfilter/restore.hpp"
#include "plugins/common/netfilter/tools.hpp"
#include "plugins/common/process/command.hpp"

namespace sluice::iptables {

class Kernel {
 public:
  virtual ~Kernel() = default;

  // Found on first use. Throws sdk::Failure when there are none.
  virtual const netfilter::Tools& tools() = 0;
  // All tables, or one, as iptables-save prints them, to `sink` piece by piece.
  virtual process::Outcome save(std::optional<netfilter::Table> only,
                                const std::function<void(std::string_view)>& sink) = 0;
  // One run of iptables-restore --noflush.
  virtual process::Outcome restore(std::string_view input) = 0;
  // The same in a network namespace that ends with it, for trying what this kernel can
  // do. Without the privilege for one it runs in ours, where the input has to remove what
  // it makes; iptables then leaves its empty built-in chains.
  virtual process::Outcome try_restore(std::string_view input) = 0;
  // Grows by one with every change anybody makes; empty when the kernel does not tell.
  virtual std::optional<std::uint32_t> generation() = 0;
  // 0, or the errno of the failure.
  virtual int allow_localnet_routing() = 0;
};

// The real one. One thread at a time.
class NodeKernel final : public Kernel {
 public:
  explicit NodeKernel(abi::Family family) : family_(family) {}

  const netfilter::Tools& tools() override;
  process::Outcome save(std::optional<netfilter::Table> only,
                        const std::function<void(std::string_view)>& sink) override;
  process::Outcome restore(std::string_view input) override;
  process::Outcome try_restore(std::string_view input) override;
  std::optional<std::uint32_t> generation() override;
  int allow_localnet_routing() override;

 private:
  process::Command restore_command(std::string_view input);
  process::Outcome run(const process::Command& command);

  abi::Family family_;
  std::optional<netfilter::Tools> tools_;
  netfilter::GenerationReader generation_;
};

// What went wrong with a program, in one sentence without line feeds.
std::string explain(const std::string& program, const process::Outcome& outcome);

// Throws sdk::Failure with the code the outcome deserves: kRetry for a lock that was
// held, kDenied for missing privilege, else kKernel; names the line of `input` that was
// refused and whom it was for.
[[noreturn]] void throw_failure(const std::string& program, const process::Outcome& outcome,
                                const netfilter::RestoreInput* input);

}  // namespace sluice::iptables
