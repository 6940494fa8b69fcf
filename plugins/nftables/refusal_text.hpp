// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What a refusal of the kernel means, in words. Pure.
#pragma once

#include <string>
#include <vector>

#include "plugins/nftables/kernel/batch.hpp"

namespace sluice::nftables {

// "the kernel refuses element 172.30.0.41:80/tcp of service-treatments: Too many open files in system (ENFILE); the set is
// full".
std::string refusal_text(const Refusal& refusal);
// The first few of them, and how many more there are.
std::string refusal_text(const std::vector<Refusal>& refusals);

// Somebody else has changed the table: what was to be removed is gone, what was to be added is there, or a chain is
// used.
bool tells_of_others(const Refusal& refusal) noexcept;

}  // namespace sluice::nftables
