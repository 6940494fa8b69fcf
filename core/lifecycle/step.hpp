// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The steps of a swap, in order; their names are part of status.
#pragma once

#include <string_view>

namespace sluice::lifecycle {

enum class Step {
  load,         // load the plugin of the new backend
  probe,        // create and probe it in each family
  claim,        // record its artifacts in the ownership ledger
  hold,         // if both backends own the same artifacts, stop writes of the old backend
  apply,        // write all rules of the new backend
  verify,       // read them back and compare
  switch_over,  // make the new backend active
  retire,       // stop new connections to the old backend
  drain,        // wait for its established connections
  release,      // unload it
};

constexpr std::string_view step_name(Step step) {
  switch (step) {
    case Step::load:
      return "load";
    case Step::probe:
      return "probe";
    case Step::claim:
      return "claim";
    case Step::hold:
      return "hold";
    case Step::apply:
      return "apply";
    case Step::verify:
      return "verify";
    case Step::switch_over:
      return "switch-over";
    case Step::retire:
      return "retire";
    case Step::drain:
      return "drain";
    case Step::release:
      return "release";
  }
  return "release";
}

}  // namespace sluice::lifecycle
