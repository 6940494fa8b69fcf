// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Notices when the configuration file gets other content, as kube-proxy does (BEH 11.9):
// written in place or renamed. Removed, replaced by another file or given other rights,
// it stays what was read: so an atomic exchange of the file does not count.
// Not for following files: after the first change nothing more is told.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "core/base/fd.hpp"
#include "core/base/status.hpp"

namespace sluice::app {

class ConfigWatch {
 public:
  ConfigWatch() = default;
  ~ConfigWatch();  // stops
  ConfigWatch(const ConfigWatch&) = delete;
  ConfigWatch& operator=(const ConfigWatch&) = delete;

  // `changed` is called once, on a thread of the watch. Fails when the file cannot be watched.
  base::Status start(const std::string& file, std::function<void()> changed);
  // Afterwards nothing is called.
  void stop();

 private:
  void run(const std::function<void()>& changed) const;

  base::Fd notifications_;
  base::Fd wake_;
  std::thread thread_;
};

}  // namespace sluice::app
