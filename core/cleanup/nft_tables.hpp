// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Lists and removes nftables tables through netlink, without the nft program. One thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/cleanup/removal.hpp"
#include "core/cleanup/selection.hpp"

namespace sluice::cleanup {

// Removes the selected tables with their contents in one transaction. Adds to `into`.
void remove_tables(const Selection& selection, Removal& into);

// The names of the chains in one table; empty if there is no such table. `family`: nft's name of it.
std::vector<std::string> nft_chains(std::string_view family, const std::string& table);

}  // namespace sluice::cleanup
