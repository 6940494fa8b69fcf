// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Deadlines of draining real servers in the state directory, so that a restart does not extend them. One file per
// family, one line per real server:
//
// 10.0.0.1:80/TCP 10.1.2.3:8080 1767225600
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugins/ipvs/server_types.hpp"
#include "sluice/sdk/logger.hpp"

namespace sluice::ipvs {

struct SavedDrain {
  ServerKey server;
  RealServer real;
  std::int64_t deadline = 0;  // seconds since 1970
};

// One thread at a time. Failures are warnings only: drains start over after a restart then.
class DrainFile {
 public:
  // An empty `folder`: no file.
  DrainFile(const std::string& folder, abi::Family family, sdk::Logger log);

  // Invalid lines are skipped, with one warning for all of them.
  std::vector<SavedDrain> load() const;
  // Replaces the file atomically; removes it if there is nothing to save. Warns once until a save succeeds again.
  void save(const std::vector<SavedDrain>& drains);

 private:
  std::string folder_;
  std::string path_;
  abi::Family family_;
  sdk::Logger log_;
  bool failed_ = false;
};

}  // namespace sluice::ipvs
