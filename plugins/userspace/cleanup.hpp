// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What this backend owns in the kernel, and how it goes.
#pragma once

#include <string>
#include <vector>

#include "plugins/userspace/portal/portal_writer.hpp"

namespace sluice::userspace {

// Every chain, as claims: "iptables/nat/KUBE-PORTALS-HOST".
std::vector<std::string> portal_claims(abi::Family family);

// Removes everything but what `claims`, those of a successor, cover. Throws sdk::Failure.
void remove_unclaimed(PortalWriter& writer, abi::Family family, const std::vector<std::string>& claims,
                      PortalWriter::Part part = PortalWriter::Part::kAll);
// Whether somebody who claims these uses the same chains.
bool claims_all(abi::Family family, const std::vector<std::string>& claims);

}  // namespace sluice::userspace
