// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The kernel objects this backend owns, and their removal.
#pragma once

#include <string>
#include <vector>

#include "plugins/userspace/portal/portal_writer.hpp"

namespace sluice::userspace {

// A claim for every chain, such as "iptables/nat/KUBE-PORTALS-HOST".
std::vector<std::string> portal_claims(abi::Family family);

// Removes everything that `claims`, those of the new backend, do not cover. Throws sdk::Failure.
void remove_unclaimed(PortalWriter& writer, abi::Family family, const std::vector<std::string>& claims,
                      PortalWriter::Part part = PortalWriter::Part::kAll);
// Whether `claims` cover all chains of this backend.
bool claims_all(abi::Family family, const std::vector<std::string>& claims);

}  // namespace sluice::userspace
