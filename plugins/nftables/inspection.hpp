// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The table as people read it: Services, their frontends, and where connections to them go. Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "plugins/nftables/kernel/listing.hpp"
#include "plugins/nftables/model/model.hpp"

namespace sluice::nftables {

// One line for each frontend that `seen` has, "shop/cart:http 172.30.0.41:80/tcp -> 10.180.0.1:80, 10.180.2.1:80",
// sorted by service port; `model` knows the names. Last what belongs to none of them. `name`: "shop/cart" or
// "shop/cart:http" only; empty: everything.
void inspect(Listing seen, const Model& model, abi::Family family, std::string_view name,
             const std::function<void(const std::string&)>& line);

}  // namespace sluice::nftables
