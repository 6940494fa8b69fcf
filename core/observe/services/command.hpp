// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// `sluicectl services`: where packets for Services go, by family. The apply thread reads the rules from the kernel, if
// the backend supports it; the store thread describes the delivered service ports. Called on the control thread, which
// never waits.
#pragma once

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/observe/control/control_server.hpp"
#include "core/observe/services/gathering.hpp"

namespace sluice::observe {

class ServicesCommand {
 public:
  static constexpr std::chrono::milliseconds kTimeout{15'000};  // longer than the time limit of an inspection

  // `views` [control thread] is called for each request, because the active backend may change.
  explicit ServicesCommand(std::function<std::vector<ServiceView>()> views,
                           std::chrono::milliseconds timeout = kTimeout)
      : views_(std::move(views)), timeout_(timeout) {}

  // {"command":"services","query":"shop/cart:http","family":4,"kernel":false,"objects":true}; all but the first may be
  // missing. Answers with {"families":[...]}, each from services_page() or, with objects, from services_document();
  // {"family","error"} after a failure. Throws std::runtime_error for an invalid request.
  ControlServer::Pending operator()(const nlohmann::json& request, ControlReply reply) const;

 private:
  std::function<std::vector<ServiceView>()> views_;
  std::chrono::milliseconds timeout_;
};

}  // namespace sluice::observe
