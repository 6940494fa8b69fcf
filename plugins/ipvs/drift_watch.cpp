// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/drift_watch.hpp"

#include <algorithm>
#include <exception>

namespace sluice::ipvs {
namespace {

constexpr std::uint64_t kRestFactor = 20;

}  // namespace

std::optional<std::string> DriftWatch::find() {
  std::string all;
  std::exception_ptr unreadable;
  for (Part& part : parts_) {
    const std::uint64_t begin = now_();
    if (begin < part.next) continue;
    const std::uint64_t waited = part.waited ? part.waited() : 0;
    try {
      if (const auto drift = part.check()) all.append(all.empty() ? "" : "; ").append(*drift);
    } catch (const std::exception&) {
      if (unreadable == nullptr) unreadable = std::current_exception();
    }
    const std::uint64_t end = now_();
    const std::uint64_t idle = part.waited ? part.waited() - waited : 0;
    part.next = end + kRestFactor * (end - begin - std::min(end - begin, idle));
  }
  if (!all.empty()) return all;
  if (unreadable != nullptr) std::rethrow_exception(unreadable);
  return std::nullopt;
}

void DriftWatch::written() {
  for (Part& part : parts_) part.next = 0;
}

}  // namespace sluice::ipvs
