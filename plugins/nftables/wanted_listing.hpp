// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The wanted state as a listing. After a successful write it equals a listing of the kernel. Pure.
#pragma once

#include <optional>
#include <string>

#include "plugins/nftables/difference.hpp"
#include "plugins/nftables/kernel/listing.hpp"
#include "plugins/nftables/model/model.hpp"

namespace sluice::nftables {

// Sets, chains and the elements that lead to them, without other elements.
Listing wanted_frame(const TableFacts& facts, const Model& model);

// The table as a listing would show it if the kernel has all chains and elements of `model`, and no others.
// `generation` stays 0.
Listing wanted_listing(const TableFacts& facts, const Model& model);

// The first difference that a comparison with the kernel would repair: "chain services differs", "elements of
// endpoints differ". Empty if there is none.
std::optional<std::string> first_difference(const Listing& wanted, const Listing& there);

}  // namespace sluice::nftables
