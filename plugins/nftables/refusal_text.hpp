// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Explains refusals of the kernel. Pure.
#pragma once

#include <string>
#include <vector>

#include "plugins/nftables/kernel/batch.hpp"

namespace sluice::nftables {

// "the kernel refuses element 10.0.0.1 of cluster-ips: Too many open files in system (ENFILE); the set is full".
std::string refusal_text(const Refusal& refusal);
// The first few refusals, and the number of further ones.
std::string refusal_text(const std::vector<Refusal>& refusals);

// Whether another process has changed the table: an object to be removed is gone, an object to be added exists, or a
// chain is in use.
bool shows_foreign_change(const Refusal& refusal) noexcept;

}  // namespace sluice::nftables
