// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Takes away what this backend, an earlier process of it or a kube-proxy has made.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include "plugins/common/netfilter/kernel_session.hpp"
#include "plugins/iptables/names.hpp"

namespace sluice::iptables {

// A chain that is to stay, with the jumps that lead to it.
using KeepChain = std::function<bool(Table table, std::string_view chain)>;

// Removes all of our chains that exist and are not to stay, and their jumps. Rules of
// others stay; a chain of ours that one of them points to is emptied only. KUBE-FIREWALL
// and the jumps to it stay, since kubelet shares them.
// Throws sdk::Failure.
void remove_everything(netfilter::KernelSession& session, const KeepChain& keep);

}  // namespace sluice::iptables
