// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Claims, which name what backends own: their grammar is at abi::Backend::claims(). Backends of different authors, and
// the daemon, have to understand them alike.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sluice/abi/backend.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::sdk {

// A "*" at the end stands for any rest.
inline bool covers(std::string_view claim, std::string_view artifact) noexcept {
  if (claim.empty() || claim.back() != '*') return claim == artifact;
  claim.remove_suffix(1);
  return artifact.substr(0, claim.size()) == claim;
}

// Whether something can be meant by both.
inline bool overlap(std::string_view one, std::string_view other) noexcept {
  if (one.empty() || other.empty() || one.back() != '*' || other.back() != '*') {
    return covers(one, other) || covers(other, one);
  }
  one.remove_suffix(1);
  other.remove_suffix(1);
  const std::size_t shared = one.size() < other.size() ? one.size() : other.size();
  return one.substr(0, shared) == other.substr(0, shared);
}

// Those of somebody else, as Handover has them; a copy.
class Claims {
 public:
  Claims() = default;
  // StringView each.
  explicit Claims(const abi::ArrayView& claims) {
    for (const abi::StringView& claim : range<abi::StringView>(claims)) all_.emplace_back(text(claim));
  }

  bool cover(std::string_view artifact) const noexcept {
    for (const std::string& claim : all_) {
      if (covers(claim, artifact)) return true;
    }
    return false;
  }
  // All of some claims: whoever claims these goes on with what is there.
  template <class Artifacts>
  bool cover_all(const Artifacts& artifacts) const noexcept {
    for (const auto& artifact : artifacts) {
      if (!cover(artifact)) return false;
    }
    return true;
  }
  const std::vector<std::string>& all() const noexcept { return all_; }

 private:
  std::vector<std::string> all_;
};

}  // namespace sluice::sdk
