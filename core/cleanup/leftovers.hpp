// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Removes everything that a selection names, without a plugin or an API server. One thread; blocks while programs run.
#pragma once

#include <functional>

#include "core/cleanup/removal.hpp"
#include "core/cleanup/selection.hpp"

namespace sluice::cleanup {

// A step runs even if the one before failed; safe to repeat and to interrupt. `stopped` is called between steps. The
// result of an interrupted removal does not say what is left.
Removal remove_leftovers(const Selection& selection, const std::function<bool()>& stopped = {});

}  // namespace sluice::cleanup
