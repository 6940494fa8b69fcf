// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// `sluicectl services`: where packets for Services go, by family. A backend that can is asked on its apply thread what
// the kernel has; the store thread says what the backend was given, and why. Called on the control thread, which never
// waits.
#pragma once

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/ip.hpp"
#include "core/observe/control/control_server.hpp"
#include "core/snapshot/description.hpp"
#include "core/sync/sync_loop.hpp"

namespace sluice::observe {

// Where the answer for one family comes from. What is called for a backend that is gone does nothing.
struct ServiceView {
  base::Family family = base::Family::ipv4;
  std::string backend;                                   // its id
  std::function<void(sync::SyncLoop::Inspect)> inspect;  // empty: the backend cannot read the kernel
  std::function<void(snapshot::DescribeRequest)> describe;
  std::function<std::string()> in_progress;  // the backend call that runs, or empty
};

class ServicesCommand {
 public:
  static constexpr std::chrono::milliseconds kPatience{15'000};  // longer than a backend may take to answer

  // `views` [control thread] is asked for each request: the backend that serves changes.
  explicit ServicesCommand(std::function<std::vector<ServiceView>()> views,
                           std::chrono::milliseconds patience = kPatience)
      : views_(std::move(views)), patience_(patience) {}

  // {"command":"services","query":"shop/cart:http","family":4,"kernel":false,"objects":true}; all but the first may be
  // missing. Answers with {"families":[...]}, each as services_page() or, with objects, services_document() makes it;
  // {"family","error"} where there is no answer. Throws std::runtime_error with a sentence when the request is wrong.
  ControlServer::Pending operator()(const nlohmann::json& request, ControlReply reply) const;

 private:
  std::function<std::vector<ServiceView>()> views_;
  std::chrono::milliseconds patience_;
};

}  // namespace sluice::observe
