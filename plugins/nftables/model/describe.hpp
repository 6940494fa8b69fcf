// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Describes a service port for users. Pure.
#pragma once

#include <functional>
#include <string>

#include "plugins/nftables/model/service_state.hpp"

namespace sluice::nftables {

// One line per frontend. `owner_of` returns the printed name of the service port that owns the frontend instead.
void describe_service(abi::Family family, const ServiceState& state,
                      const std::function<std::string(const FrontendState&)>& owner_of,
                      const std::function<void(const std::string&)>& line);

}  // namespace sluice::nftables
