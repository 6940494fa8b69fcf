// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A kernel with the manners of iptables-nft-restore --noflush: a table is changed whole
// or not at all, a chain that is declared is emptied, what does not exist cannot be
// jumped to or removed, and what is in use cannot be removed either.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "plugins/iptables/kernel.hpp"

namespace sluice::test {

class FakeKernel final : public iptables::Kernel {
 public:
  FakeKernel();

  const netfilter::Tools& tools() override { return tools_; }
  process::Outcome save(std::optional<netfilter::Table> only,
                        const std::function<void(std::string_view)>& sink) override;
  process::Outcome restore(std::string_view input) override;
  process::Outcome try_restore(std::string_view) override { return ok(); }
  std::optional<std::uint32_t> generation() override {
    return tools_.variant == netfilter::Variant::kNft ? std::optional(generation_) : std::nullopt;
  }
  int allow_localnet_routing() override { return sysctl_error; }

  using Rules = std::vector<std::string>;
  using Chains = std::map<std::string, Rules>;

  // As somebody else would: iptables-restore with this input. Throws when it fails.
  void foreign(const std::string& input);
  const Rules& rules(const std::string& table, const std::string& chain) const;
  bool has(const std::string& table, const std::string& chain) const;
  std::string text() const;
  std::size_t count_rules(const std::string& table) const;
  void use_legacy() { tools_.variant = netfilter::Variant::kLegacy; }

  std::map<std::string, Chains> tables;
  std::vector<std::string> restores;  // inputs, in their order, also of those that failed
  std::size_t saves = 0;
  int sysctl_error = 0;
  // A line that contains this is refused.
  std::string refuse;
  // The next restore ends with this status and nothing done.
  int fail_next = 0;
  bool cut_save = false;

 private:
  static process::Outcome ok();
  process::Outcome fail(int code, const std::string& complaint) const;
  // The complaint, empty when the line was carried out.
  std::string carry_out(Chains& chains, const std::string& line) const;

  netfilter::Tools tools_;
  std::uint32_t generation_ = 7;
};

}  // namespace sluice::test
