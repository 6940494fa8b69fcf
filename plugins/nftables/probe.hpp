// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Finds out whether this kernel supports the table, with a dry run instead of version checks. Leaves nothing behind.
#pragma once

#include "plugins/nftables/kernel/table_kernel.hpp"
#include "plugins/nftables/settings.hpp"

namespace sluice::nftables {

// Makes a dry run of the complete layout with one element in each set, under another table name. Throws sdk::Failure
// that names missing modules or privileges (kDenied).
void probe_table(TableKernel& kernel, abi::Family family, const Settings& settings);

// The batch of the dry run, for tests.
Batch probe_batch(abi::Family family, const Settings& settings);

}  // namespace sluice::nftables
