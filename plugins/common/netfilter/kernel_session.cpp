// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/netfilter/kernel_session.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::netfilter {
namespace {

// How many COMMITs succeeded. Each is one transaction, so the generation counts them. Without
// a generation the failed line shows it, since the tool stops at the first table it cannot write.
std::optional<std::size_t> committed_of(const RestoreInput& input, std::optional<std::uint32_t> transactions,
                                        std::optional<std::size_t> line) {
  const std::size_t commits = input.commits();
  if (commits == 1) return 0;
  if (transactions && *transactions < commits) return *transactions;
  return line ? input.find_commit(*line) : std::nullopt;
}

// Adds its lifetime to a sum.
class Timed {
 public:
  explicit Timed(std::chrono::nanoseconds& sum) noexcept : sum_(sum) {}
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;
  ~Timed() { sum_ += std::chrono::steady_clock::now() - begin_; }

 private:
  std::chrono::nanoseconds& sum_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace

std::string sentence(const Refusal& refusal) {
  return (refusal.line ? "the line \"" + refusal.line->text + "\": " : "") + refusal.why.what();
}

void KernelSession::list(SaveReader& reader) {
  listed_ = foreign_changes();  // before the listing, so that a change during it is noticed later
  read(reader);
}

void KernelSession::read(SaveReader& reader, bool counters) {
  kernel_.deadline().check();
  const Timed timed(tool_time_);
  const lib::ProgramResult outcome =
      kernel_.save({.counters = counters}, [&reader](std::string_view piece) { reader.append(piece); });
  if (!outcome.ok()) throw failure_of(kernel_.tools().save, outcome);
  reader.finish();
  if (!reader.complete()) {
    throw sdk::Failure(abi::Code::kKernel, "",
                       "read the rules: the output of " + kernel_.tools().save + " is truncated");
  }
}

std::optional<std::uint64_t> KernelSession::foreign_changes() {
  return kernel_.foreign_changes().count([this] { return kernel_.generation(); });
}

void KernelSession::reset_counters() noexcept {
  lines_ = {};
  lock_wait_ = longest_wait_ = {};
  tool_time_ = {};
}

std::optional<Refusal> KernelSession::try_send(const RestoreInput& input) {
  if (input.empty()) return std::nullopt;
  kernel_.deadline().check();
  const Timed timed(tool_time_);
  Restored restored;
  const auto written = kernel_.foreign_changes().write([this] { return kernel_.generation(); }, input.commits(),
                                                       [&] {
                                                         restored = kernel_.restore(input.text());
                                                         return restored.outcome.ok();
                                                       });
  lock_wait_ += restored.lock_wait;
  longest_wait_ = std::max(longest_wait_, restored.lock_wait);
  if (restored.outcome.ok()) {
    for (std::size_t i = 0; i < lines_.size(); ++i) lines_[i] += input.lines(static_cast<Table>(i));
    return std::nullopt;
  }
  const bool alone = accepted_ && written.before == accepted_;
  accepted_.reset();
  sdk::Failure why = failure_of(kernel_.tools().restore, restored.outcome);
  if (!may_be_the_rules(restored.outcome)) throw why;
  const auto number = failed_line(restored.outcome.error_output);
  return Refusal{std::move(why), number ? input.find_line(*number) : std::nullopt,
                 committed_of(input, written.commits, number), alone};
}

void KernelSession::send(const RestoreInput& input) {
  const auto refusal = try_send(input);
  if (!refusal) return;
  throw sdk::Failure(refusal->why.code(), {}, sentence(*refusal));
}

bool KernelSession::untouched() { return accepted_ && foreign_changes() == accepted_; }

}  // namespace sluice::netfilter
