// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Claims name the artifacts that backends own; abi::Backend::claims() defines their syntax. These functions give backends
// and the daemon the same semantics.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sluice/abi/backend.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::sdk {

// Whether `claim` covers `artifact`. A "*" at the end of `claim` matches any suffix.
inline bool covers(std::string_view claim, std::string_view artifact) noexcept {
  if (claim.empty() || claim.back() != '*') return claim == artifact;
  claim.remove_suffix(1);
  return artifact.substr(0, claim.size()) == claim;
}

// Whether an artifact exists that both claims cover.
inline bool overlap(std::string_view one, std::string_view other) noexcept {
  if (one.empty() || other.empty() || one.back() != '*' || other.back() != '*') {
    return covers(one, other) || covers(other, one);
  }
  one.remove_suffix(1);
  other.remove_suffix(1);
  const std::size_t shared = one.size() < other.size() ? one.size() : other.size();
  return one.substr(0, shared) == other.substr(0, shared);
}

// A copy of the claims of another backend, for example of Handover::claims.
class Claims {
 public:
  Claims() = default;
  // Elements are StringView.
  explicit Claims(const abi::ArrayView& claims) {
    for (const abi::StringView& claim : range<abi::StringView>(claims)) all_.emplace_back(text(claim));
  }

  bool cover(std::string_view artifact) const noexcept {
    for (const std::string& claim : all_) {
      if (covers(claim, artifact)) return true;
    }
    return false;
  }
  // Whether all of `artifacts` are covered, so that the other backend adopts them.
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
