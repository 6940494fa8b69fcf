// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A fake kernel that behaves like iptables-nft-restore --noflush: a table is changed
// completely or not at all, a declaration empties a chain, missing chains and rules cannot be
// referenced or removed, and referenced chains cannot be removed.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "plugins/common/netfilter/kernel.hpp"

namespace sluice::test {

class FakeKernel final : public netfilter::Kernel {
 public:
  FakeKernel();

  // For a backend that owns its kernel: forwards to this object, which outlives it.
  std::unique_ptr<netfilter::Kernel> open();

  const netfilter::Tools& tools() override { return tools_; }
  lib::ProgramResult save(const netfilter::SaveOptions& options,
                          const std::function<void(std::string_view)>& sink) override;
  netfilter::Restored restore(std::string_view input) override;
  lib::ProgramResult try_restore(std::string_view) override { return ok(); }
  std::optional<std::uint32_t> generation() override {
    return tools_.variant == netfilter::Variant::kNft ? std::optional(*generation_) : std::nullopt;
  }
  netfilter::ForeignChanges& foreign_changes() override { return *foreign_changes_; }
  std::set<abi::Address> local_addresses() override { return addresses; }
  int allow_localnet_routing() override { return sysctl_error; }
  int ensure_counter(const std::string& name) override;
  std::optional<std::uint64_t> counted_packets(const std::string& name) override;

  using Rules = std::vector<std::string>;
  using Chains = std::map<std::string, Rules>;

  // A foreign change: iptables-restore with this input. Throws if it fails.
  void foreign(const std::string& input);
  const Rules& rules(const std::string& table, const std::string& chain) const;
  bool has(const std::string& table, const std::string& chain) const;
  std::string text() const;
  std::size_t count_rules(const std::string& table) const;
  // Makes both kernels the families of one node.
  void join(FakeKernel& other) {
    generation_ = other.generation_;
    foreign_changes_ = other.foreign_changes_;
  }
  void use_legacy() { tools_.variant = netfilter::Variant::kLegacy; }
  void use_version(netfilter::Version version) { tools_.version = version; }

  std::map<std::string, Chains> tables;
  std::vector<std::string> restores;  // inputs in order, including failed ones
  std::function<void(const std::string& input)> before_restore;
  std::function<void()> after_commit;
  std::size_t saves = 0;
  int sysctl_error = 0;
  // A line that contains one of these is refused.
  std::vector<std::string> refuse;
  // The line in the error message: the correct one; the COMMIT, like legacy iptables if the
  // kernel refuses its table; the next one; none.
  enum class Naming { kLine, kCommit, kNextLine, kNone };
  Naming naming = Naming::kLine;
  // The exit status of a refusal.
  int refusal_status = 4;
  // The next restore fails with this status and changes nothing.
  int fail_next = 0;
  std::string error_output = "Another app is currently holding the xtables lock.";
  // The lock wait of the next restore.
  std::chrono::milliseconds lock_wait{0};
  // 0, or the errno of creating counters; the counters with their values.
  int counter_error = 95;  // EOPNOTSUPP
  std::map<std::string, std::uint64_t> counters;
  bool cut_save = false;
  // Matched packets of 60 bytes, by the beginning of "nat KUBE-SERVICES RULE" and a part of it.
  std::map<std::pair<std::string, std::string>, std::uint64_t> packets;
  std::set<std::string> dropping;  // built-in chains with the policy DROP: "filter FORWARD"
  std::set<abi::Address> addresses;
  // Rules may only name these sets; empty: any.
  std::optional<std::set<std::string>> sets;

 private:
  static lib::ProgramResult ok();
  lib::ProgramResult fail(int code, const std::string& why) const;
  // Returns the error message, or empty if the line was executed.
  std::string carry_out(Chains& chains, const std::string& line) const;
  lib::ProgramResult run(std::string_view input);
  std::string name_line(std::string_view input, std::size_t number) const;

  netfilter::Tools tools_;
  std::uint32_t own_generation_ = 7;
  netfilter::ForeignChanges own_foreign_changes_;
  std::uint32_t* generation_ = &own_generation_;
  netfilter::ForeignChanges* foreign_changes_ = &own_foreign_changes_;
};

}  // namespace sluice::test
