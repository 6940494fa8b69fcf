// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Answers to UDP clients that come after the entry of their flow was removed because no rule had translated it:
// somebody outside had been answering at the address of a Service that nobody served. Such an answer begins an entry of
// its own, in which the client's next packets pass as answers, past all rules, for as long as the client goes on. Pure;
// one thread.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <utility>

#include "core/base/clock.hpp"
#include "core/node/conntrack_flow.hpp"

namespace sluice::node {

class LateAnswers {
 public:
  // Clients beyond this many, at one time, are not waited for: each takes some 100 bytes.
  static constexpr std::size_t kMost = 4096;

  // The entry is about to be removed.
  void note(const Flow& flow, base::Clock::Time now);
  // Whether such an answer began it.
  bool began(const Flow& flow) const;
  // When to look at everything, if ever.
  std::optional<base::Clock::Time> due() const;
  // A look at everything has begun then, and ended without a gap.
  void looked(base::Clock::Time begun);

 private:
  std::set<std::pair<base::SocketAddress, base::SocketAddress>> clients_;  // and where they sent to
  base::Clock::Time since_;                                                // the last note
  std::size_t looks_ = 0;                                                  // since then
};

}  // namespace sluice::node
