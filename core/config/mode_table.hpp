// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What the core knows about single modes: one row each. Code of the core names a mode nowhere else; fields and flags of
// modes are in options.cpp, names of kernel objects in names/. Any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/draft.hpp"
#include "core/config/option.hpp"
#include "names/modes.hpp"

namespace sluice::config {

inline constexpr std::string_view kDefaultMode = names::id_of(names::kIptables);

struct ModeFacts {
  std::string_view id;
  int preference = 0;  // in mode auto, from 1; 0: not tried
  // The sections of KubeProxyConfiguration that configure it.
  ModeDraft Draft::*periods = &Draft::iptables;
  ModeDraft Draft::*masquerading = &Draft::iptables;
  bool primary_node_ports = false;  // by default node ports are served on the primary addresses of the node only
  std::optional<FlagGroup> group = {};  // options of this mode alone
  bool warns_unused = false;            // other backends warn about options of the group
  // Kubernetes event about the deprecation of the mode, and the predicate of its sentence; empty if it is not
  // deprecated.
  std::string_view deprecation_event = {};
  std::string_view deprecation = {};
};

std::span<const ModeFacts> mode_table();
// For a backend that is not a mode of kube-proxy, the facts that apply to all such backends.
const ModeFacts& mode_facts(std::string_view backend);
// The modes that mode auto tries, in this order.
std::vector<std::string> preferred_modes();

}  // namespace sluice::config
