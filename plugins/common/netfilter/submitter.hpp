// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Gets an input into the kernel although some service ports in it are refused: finds
// them, leaves their lines out, and sends the rest. One object for one apply().
//
// A restore is several COMMITs and each of them is atomic. From the one that is refused
// on, COMMITs are sent one by one: first the lines that are for nobody in particular,
// where a refusal ends the apply; then all service ports together, and while that is
// refused, halves of them. A line number in the complaint saves the halving, but is
// only a suspicion: whoever it names is tried alone before he is left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plugins/common/netfilter/kernel_session.hpp"
#include "plugins/common/netfilter/restore.hpp"

namespace sluice::netfilter {

// Lines after which a restore is sent. iptables-nft-restore takes time quadratic in the
// chains it makes in one run: 2,000 lines are 50 service ports with 10 endpoints, where
// it is still cheap. The old one takes the time of the whole table for every run.
inline constexpr std::size_t kNftBatch = 2000;
inline constexpr std::size_t kOneBatch = ~std::size_t{0};

class Submitter {
 public:
  using Now = std::function<std::uint64_t()>;  // nanoseconds
  // Called when a restore is refused, before anybody is suspected; throws when there is
  // a better explanation.
  using Explain = std::function<void(const Refusal&)>;

  // `session` outlives this.
  Submitter(KernelSession& session, Now now) : session_(session), now_(std::move(now)) {}

  // True when all of `input` is in the kernel. Otherwise everything is but the service
  // ports in refused(), of which nothing is, and the removal of leftovers.
  // Throws sdk::Failure, which leaves the kernel in a state between.
  bool send(const RestoreInput& input, const Explain& explain = {});

  bool is_refused(const std::string& service_port) const { return refused_.contains(service_port); }
  // Service ports by printed name, and why.
  const std::map<std::string, std::string>& refused() const noexcept { return refused_; }
  bool met_refusal() const noexcept { return attempts_ != 0; }
  // Finds who is refused in `trial`, which is harmless in itself; for an input that is to be taken as a whole and was not.
  // Throws sdk::Failure: starts_over() where somebody was found, else `why`.
  [[noreturn]] void search(const RestoreInput& trial, const Refusal& why);
  // send() has failed because a restore of several COMMITs did not say how far it came, and who looks at the kernel and begins
  // again gets each of them by itself; or search() has, and who begins again leaves out who is refused by now. True once.
  bool starts_over() noexcept { return std::exchange(starts_over_, false); }

 private:
  using Owner = RestoreInput::Owner;
  using Owners = std::vector<Owner>;
  static constexpr Owner kNobody = RestoreInput::kCommon;

  // After this much searching the apply fails: something is wrong with all of them.
  static constexpr std::size_t kMostAttempts = 400;
  static constexpr std::uint64_t kMostTime = 20ull * 1000 * 1000 * 1000;

  void begin_search(const Refusal& refusal, const Explain& explain);
  void settle(const RestoreInput& input, std::size_t commit, Owner suspect);
  void settle(const RestoreInput& input, std::size_t commit, Owners owners, Owner suspect);
  std::optional<Refusal> attempt(const RestoreInput& input, std::size_t commit, const Owners& owners);
  Owner suspect_of(const Refusal& refusal) const;
  void refuse(const RestoreInput& input, std::size_t commit, Owner owner, const Refusal& why);

  KernelSession& session_;
  Now now_;
  std::map<std::string, std::string> refused_;
  std::map<Owner, std::size_t> refused_at_;  // of the input at hand: with which COMMIT
  bool trusts_lines_ = true;
  bool one_by_one_ = false;
  bool starts_over_ = false;
  std::size_t attempts_ = 0;
  std::uint64_t begin_ = 0;
};

}  // namespace sluice::netfilter
