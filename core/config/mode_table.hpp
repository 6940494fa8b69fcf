// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What the core knows about single modes: one row each, and no other file of the core names a mode. Names of kernel
// objects are in names/. Any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/draft.hpp"
#include "core/config/problems.hpp"
#include "core/config/settings.hpp"
#include "names/modes.hpp"

namespace sluice::config {

inline constexpr std::string_view kDefaultMode = names::id_of(names::kIptables);

struct ModeFacts {
  std::string_view id;
  int preference = 0;  // in mode auto, from 1; 0: not tried
  // The sections of KubeProxyConfiguration that configure it.
  ModeDraft Draft::*periods = &Draft::iptables;
  ModeDraft Draft::*masquerading = &Draft::iptables;
  bool keeps_zero_period = false;   // a minSyncPeriod of 0 in the file is no default
  bool primary_node_ports = false;  // by default node ports are served on the primary addresses of the node only
  // Checks the settings of this mode alone and passes them on as options; null if it has none.
  void (*options)(const Draft& draft, Settings& out, Problems& problems) = nullptr;
  // Called for every other backend: warns about settings of this mode, with the reason `why`; null if there are none.
  void (*warn_unused)(const Draft& draft, const std::string& why, Problems& problems) = nullptr;
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
