// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Writes an input although the kernel rejects some service ports in it: finds these service
// ports, skips their lines, and sends the rest. One object per apply().
//
// A restore consists of COMMITs, each of them atomic. From the rejected one on, COMMITs are
// sent one by one: first the common lines, where a refusal fails the apply; then all service
// ports together, and while that is rejected, halves of them. A line number in the error
// message avoids the bisection but may be wrong, so its service port is tried alone first.
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

// Lines per restore. The time of iptables-nft-restore is quadratic in the chains it creates
// in one run; 2,000 lines, or 50 service ports with 10 endpoints, are still cheap. Legacy
// iptables rewrites the whole table in every run, so it gets all lines in one.
inline constexpr std::size_t kNftBatch = 2000;
inline constexpr std::size_t kOneBatch = ~std::size_t{0};

class Submitter {
 public:
  using Now = std::function<std::uint64_t()>;  // nanoseconds
  // Called when a restore is rejected, before the search; throws if it knows the cause.
  using Explain = std::function<void(const Refusal&)>;

  // `session` outlives this.
  Submitter(KernelSession& session, Now now) : session_(session), now_(std::move(now)) {}

  // Returns true if all of `input` is in the kernel. Returns false if everything is except the
  // service ports in refused(), of which nothing is written, and the removal of leftovers.
  // After a throw of sdk::Failure `input` may be partly applied.
  bool send(const RestoreInput& input, const Explain& explain = {});

  bool is_refused(const std::string& service_port) const { return refused_.contains(service_port); }
  // Service ports by printed name, and why.
  const std::map<std::string, std::string>& refused() const noexcept { return refused_; }
  bool met_refusal() const noexcept { return attempts_ != 0; }
  // Finds the rejected service ports with `trial`, which has no effect on traffic, after an input that must be applied
  // as a whole was rejected. Always throws sdk::Failure with `why`; starts_over() is true if it found any.
  [[noreturn]] void search(const RestoreInput& trial, const Refusal& why);
  // Whether the caller should read the kernel and repeat after a failure: send() could not determine how many COMMITs
  // succeeded and will send each of them alone, or search() has found service ports that the next try skips. True once.
  bool starts_over() noexcept { return std::exchange(starts_over_, false); }

 private:
  using Owner = RestoreInput::Owner;
  using Owners = std::vector<Owner>;
  static constexpr Owner kNoSuspect = RestoreInput::kCommon;

  // Limits of the search. Beyond them the apply fails, since the cause is probably not in single service ports.
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
  std::map<Owner, std::size_t> refused_at_;  // for the current input: the COMMIT that was rejected
  bool trusts_lines_ = true;
  bool one_by_one_ = false;
  bool starts_over_ = false;
  std::size_t attempts_ = 0;
  std::uint64_t begin_ = 0;
};

}  // namespace sluice::netfilter
