// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The fault points of a daemon that is built for tests. SLUICE_TEST_FAULT selects a step of a swap and the fault right
// before it: "apply:kill" ends the process like SIGKILL, "apply:fail" makes the step fail. The file
// SLUICE_TEST_FAULT_FILE has the same content and is read each time; FILE.done is created before the fault, so that a
// test can wait for it.
#include "core/lifecycle/fault_point.hpp"

#include <signal.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace sluice::lifecycle {

lib::Status fault_point(Step step) {
  const std::string here(step_name(step));
  std::string wanted;
  if (const char* fault = std::getenv("SLUICE_TEST_FAULT"); fault != nullptr) wanted = fault;
  if (const char* file = std::getenv("SLUICE_TEST_FAULT_FILE"); file != nullptr) {
    std::ifstream in(file);
    std::getline(in, wanted);
    if (wanted.starts_with(here + ":")) std::ofstream(std::string(file) + ".done");
  }
  if (wanted == here + ":kill") raise(SIGKILL);
  if (wanted == here + ":fail") return lib::unavailable("a fault was asked for before step " + here);
  return {};
}

}  // namespace sluice::lifecycle
