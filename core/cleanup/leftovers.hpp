// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Everything a selection names, taken away by one remover for each kind of artifact; no
// plugin and no API server is needed. One thread; blocks while programs run.
#pragma once

#include <functional>

#include "core/cleanup/removal.hpp"
#include "core/cleanup/selection.hpp"

namespace sluice::cleanup {

// Each step goes on whatever became of the one before; safe to repeat, and to interrupt.
// `stopped` is asked between steps; a removal cut short says nothing of what is left.
Removal remove_leftovers(const Selection& selection, const std::function<bool()>& stopped = {});

}  // namespace sluice::cleanup
