// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Deadlines of draining real servers in the state directory, so that a restart does not begin them anew.
// One file for each family, one line for each real server:
//   10.0.0.1:80/TCP 10.1.2.3:8080 1767225600
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugins/ipvs/values.hpp"
#include "sluice/sdk/logger.hpp"

namespace sluice::ipvs {

struct SavedDrain {
  ServerKey server;
  RealServer real;
  std::int64_t deadline = 0;  // seconds since 1970
};

// One thread at a time. Nothing here fails a caller: what cannot be read or written is a warning, and drains begin anew
// after a restart.
class DrainFile {
 public:
  // An empty `folder`: there is no file.
  DrainFile(const std::string& folder, abi::Family family, sdk::Logger log);

  // Lines that make no sense are left out, with one warning for all of them.
  std::vector<SavedDrain> load() const;
  // Replaces the file in one step, so that a crash leaves the old one or the new one. Nothing to save: no file. A warning only when the
  // last time went well.
  void save(const std::vector<SavedDrain>& drains);

 private:
  std::string write(const std::string& text) const;

  std::string folder_;
  std::string path_;
  abi::Family family_;
  sdk::Logger log_;
  bool failed_ = false;
};

}  // namespace sluice::ipvs
