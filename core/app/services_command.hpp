// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// `sluicectl services`: where packets for Services go, by family. Where a backend can tell, it is asked what the kernel
// has, on its apply thread; otherwise it is what it has been told. Called on the control thread, which never waits.
#pragma once

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/ip.hpp"
#include "core/serve/control_server.hpp"
#include "core/snapshot/store_thread.hpp"
#include "core/sync/sync_loop.hpp"

namespace sluice::app {

// Who knows about one family. What is called for a backend that is gone does nothing.
struct ServiceView {
  base::Family family = base::Family::ipv4;
  std::string backend;                                   // its id
  std::function<void(sync::SyncLoop::Inspect)> inspect;  // empty: the backend cannot tell
  std::function<void(snapshot::StoreThread::ToldDone)> told;
  std::function<std::string()> in_progress;  // the backend call that runs, or empty
};

class ServicesCommand {
 public:
  static constexpr std::chrono::milliseconds kPatience{15'000};  // longer than a backend may take to answer

  // `views` [control thread] is asked for each request: who serves changes.
  explicit ServicesCommand(std::function<std::vector<ServiceView>()> views,
                           std::chrono::milliseconds patience = kPatience)
      : views_(std::move(views)), patience_(patience) {}

  // {"command":"services","name":"shop/cart:http","family":4,"told":true}; the last three may be missing. Answers with
  // {"families":[{"family","backend","view":"kernel"|"told","generation","lines"} or {"family","error"}]}.
  // Throws std::runtime_error with a sentence when the request cannot be.
  serve::ControlServer::Pending operator()(const nlohmann::json& request, serve::ControlReply reply) const;

 private:
  std::function<std::vector<ServiceView>()> views_;
  std::chrono::milliseconds patience_;
};

}  // namespace sluice::app
