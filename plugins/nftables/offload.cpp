// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/offload.hpp"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "plugins/nftables/refusal_text.hpp"

namespace sluice::nftables {
namespace {

constexpr std::string_view kLoopback = "lo";

std::vector<std::string> without(const std::vector<std::string>& all, const std::vector<std::string>& some) {
  std::vector<std::string> rest;
  std::set_difference(all.begin(), all.end(), some.begin(), some.end(), std::back_inserter(rest));
  return rest;
}

}  // namespace

OffloadInterfaces::OffloadInterfaces(std::vector<std::string> patterns, TableKernel& kernel,
                                     std::function<std::vector<std::string>()> list)
    : patterns_(std::move(patterns)), kernel_(kernel), list_(std::move(list)) {}

bool OffloadInterfaces::selects(const std::string& interface) const {
  return interface != kLoopback && std::any_of(patterns_.begin(), patterns_.end(), [&](std::string_view pattern) {
    if (!pattern.ends_with('*')) return interface == pattern;
    pattern.remove_suffix(1);
    return interface.starts_with(pattern);
  });
}

OffloadInterfaces::Difference OffloadInterfaces::compare() const {
  Difference difference;
  std::optional<std::vector<std::string>> present = kernel_.flowtable_interfaces();
  if (!present) return difference;
  difference.exists = true;
  difference.present = present->size();
  std::vector<std::string> wanted = list_();
  if (wanted.empty()) return difference;
  std::erase_if(wanted, [this](const std::string& one) { return !selects(one); });
  std::sort(wanted.begin(), wanted.end());
  std::sort(present->begin(), present->end());
  difference.missing = without(wanted, *present);
  difference.extra = without(*present, wanted);
  return difference;
}

OffloadInterfaces::Result OffloadInterfaces::reconcile() {
  Result result;
  const Difference difference = compare();
  result.count = difference.present;
  result.count -= write(difference.extra, &Batch::remove_interfaces, result.problem);
  result.count += write(difference.missing, &Batch::add_interfaces, result.problem);
  return result;
}

std::size_t OffloadInterfaces::write(const std::vector<std::string>& interfaces, std::vector<std::string> Batch::* where,
                                     std::string& problem) {
  std::size_t written = 0;
  for (std::size_t from = 0; from < interfaces.size(); from += kChunk) {
    const auto begin = interfaces.begin() + static_cast<std::ptrdiff_t>(from);
    const auto end = interfaces.begin() + static_cast<std::ptrdiff_t>(std::min(interfaces.size(), from + kChunk));
    Batch batch;
    (batch.*where).assign(begin, end);
    if (kernel_.commit(batch).empty()) {
      written += static_cast<std::size_t>(end - begin);
      continue;
    }
    // One of them is refused, or has gone.
    for (auto one = begin; one != end; ++one) {
      (batch.*where).assign(1, *one);
      const std::vector<Refusal> refusals = kernel_.commit(batch);
      if (refusals.empty()) {
        ++written;
      } else if (refusals.front().error != ENOENT) {
        problem = *one + ": " + refusal_text(refusals.front());
      }
    }
  }
  return written;
}

}  // namespace sluice::nftables
