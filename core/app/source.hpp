// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Where Services come from, as the daemon sees it: the API server, or files. Exactly
// one is in use.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/app/settings.hpp"
#include "core/base/status.hpp"
#include "core/model/event.hpp"

namespace sluice::app {

// A copy for status.
struct ResourceStatus {
  std::string kind;
  bool connected = false;  // listed, and changes are being received
  std::uint64_t lists = 0;
  std::uint64_t watches = 0;
  std::uint64_t errors = 0;
  std::string last_error;
};

class Source {
 public:
  virtual ~Source() = default;
  // Begins to deliver, on threads of its own. What cannot work at all fails here; what
  // may pass (a server that is down) is logged and retried.
  virtual base::Status start() = 0;
  // Delivers nothing more after it returns; returns soon, whatever the network does.
  virtual void stop() = 0;
  virtual std::string detail() const = 0;                  // the server's URL, the folder
  virtual std::vector<ResourceStatus> status() const = 0;  // any thread
};

// `sink` outlives the source.
base::Result<std::unique_ptr<Source>> make_source(const Settings& settings, model::EventSink& sink);

// Everything that is wrong with the source in use, without starting it; for --check.
std::vector<std::string> check_source(const Settings& settings);

}  // namespace sluice::app
