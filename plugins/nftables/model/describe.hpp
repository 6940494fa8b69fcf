// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A service port in words, for people. Pure.
#pragma once

#include <functional>
#include <string>

#include "plugins/nftables/model/service_state.hpp"

namespace sluice::nftables {

// One line for each frontend. `owner_of`: the printed name of who has a frontend that this one does not get.
void describe_service(abi::Family family, const ServiceState& state,
                      const std::function<std::string(const FrontendState&)>& owner_of,
                      const std::function<void(const std::string&)>& line);

}  // namespace sluice::nftables
