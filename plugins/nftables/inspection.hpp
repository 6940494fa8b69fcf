// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The table of the kernel in words: Services, their frontends, and where connections to them go. Pure.
#pragma once

#include "plugins/common/inspection/service_line.hpp"
#include "plugins/nftables/kernel/listing.hpp"
#include "plugins/nftables/model/model.hpp"

namespace sluice::nftables {

// Adds a line for each frontend that `seen` has, and each object that no Service port wants. `model` has the names.
void inspect(Listing seen, const Model& model, abi::Family family, inspection::Answer& answer);

}  // namespace sluice::nftables
