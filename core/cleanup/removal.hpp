// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The result of a removal.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/cleanup/names.hpp"

namespace sluice::cleanup {

struct Removal {
  std::size_t chains = 0;   // of iptables
  std::size_t sets = 0;     // ipsets
  std::size_t servers = 0;  // virtual servers of IPVS
  std::vector<std::string> links;
  std::vector<std::string> tables;  // of nftables: "ip kube-proxy"
  Modes modes = 0;                  // the modes that made the removed objects

  std::vector<std::string> failures;  // one sentence each: what was not removed, and why
  std::vector<std::string> notes;     // kept on purpose; for the operator

  bool nothing() const { return chains + sets + servers + links.size() + tables.size() == 0; }
  // "12 chains, 3 ipsets, link kube-ipvs0, nftables table ip kube-proxy"; "nothing".
  std::string to_string() const;
};

}  // namespace sluice::cleanup
