// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The steps of a swap, in order, as status shows them and as tests name them.
#pragma once

#include <string_view>

namespace sluice::lifecycle {

enum class Step {
  load,         // the library of the newcomer is mapped
  probe,        // a backend is made and tried in each family
  claim,        // what it will own is in the ledger
  hold,         // where both own the same things, the serving one writes no more
  apply,        // everything is in the kernel
  verify,       // and stays as it was written
  switch_over,  // the newcomer serves
  retire,       // what leads new connections to the other one goes
  drain,        // established connections live on there
  release,      // it is gone
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
