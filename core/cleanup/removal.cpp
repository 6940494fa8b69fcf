// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cleanup/removal.hpp"

namespace sluice::cleanup {
namespace {

void add(std::string& out, const std::string& phrase) { out.append(out.empty() ? "" : ", ").append(phrase); }

void add(std::string& out, std::size_t count, const char* one, const char* many) {
  if (count != 0) add(out, std::to_string(count) + " " + (count == 1 ? one : many));
}

}  // namespace

std::string Removal::to_string() const {
  std::string out;
  add(out, chains, "chain", "chains");
  add(out, sets, "ipset", "ipsets");
  add(out, servers, "IPVS virtual server", "IPVS virtual servers");
  for (const auto& link : links) add(out, "link " + link);
  for (const auto& table : tables) add(out, "nftables table " + table);
  return out.empty() ? "nothing" : out;
}

}  // namespace sluice::cleanup
