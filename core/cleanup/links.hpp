// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Removes network links that a backend made. One thread.
#pragma once

#include "core/cleanup/removal.hpp"
#include "core/cleanup/selection.hpp"

namespace sluice::cleanup {

// Removes the selected links of any kind; a missing link is not a failure. Adds to `into`.
void remove_links(const Selection& selection, Removal& into);

}  // namespace sluice::cleanup
