// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Can this kernel carry the table? Tried, not guessed from its version. Leaves nothing behind.
#pragma once

#include "plugins/nftables/kernel/table_kernel.hpp"
#include "plugins/nftables/settings.hpp"

namespace sluice::nftables {

// Has the kernel take the complete layout with one element in each set, under another table name. Throws sdk::Failure
// that says in words what is missing: modules by name, privilege (kDenied).
void probe_table(TableKernel& kernel, abi::Family family, const Settings& settings);

// What is tried, for tests.
Batch probe_batch(abi::Family family, const Settings& settings);

}  // namespace sluice::nftables
