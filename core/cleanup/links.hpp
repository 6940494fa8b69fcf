// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Network links a backend made for itself. One thread.
#pragma once

#include "core/cleanup/removal.hpp"
#include "core/cleanup/selection.hpp"

namespace sluice::cleanup {

// Removes those links, of whatever kind; one that is not there is fine. Adds to `into`.
void remove_links(const Selection& selection, Removal& into);

}  // namespace sluice::cleanup
