// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Tables of nftables, by netlink: no program nft is needed. One thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/cleanup/removal.hpp"
#include "core/cleanup/selection.hpp"

namespace sluice::cleanup {

// Removes those tables with everything in them, all in one transaction. A kernel without
// nf_tables has none. Adds to `into`.
void remove_tables(const Selection& selection, Removal& into);

// The names of the chains in one table; empty when there is no such table. `family` as nft
// names it.
std::vector<std::string> nft_chains(std::string_view family, const std::string& table);

}  // namespace sluice::cleanup
