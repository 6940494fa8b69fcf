// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Renders a listing of the table as text: Services, their frontends, and where connections go. Pure.
#pragma once

#include "plugins/common/inspection/service_line.hpp"
#include "plugins/nftables/kernel/listing.hpp"
#include "plugins/nftables/model/model.hpp"

namespace sluice::nftables {

// Adds a line for each frontend in `listing`, and for each object that no service port wants. `model` has the names.
void inspect(Listing listing, const Model& model, abi::Family family, inspection::Answer& answer);

}  // namespace sluice::nftables
