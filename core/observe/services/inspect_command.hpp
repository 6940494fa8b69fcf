// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// `sluicectl counters`, `diff` and `explain`: what the backend reads from the kernel, by family, on the apply thread.
// Called on the control thread, which never waits.
#pragma once

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "core/observe/control/control_server.hpp"
#include "core/observe/services/gathering.hpp"

namespace sluice::observe {

class InspectCommand {
 public:
  static constexpr std::chrono::milliseconds kTimeout{15'000};  // longer than the time limit of an inspection

  // `views` [control thread] is called for each request, because the active backend may change.
  explicit InspectCommand(std::function<std::vector<ServiceView>()> views, std::chrono::milliseconds timeout = kTimeout)
      : views_(std::move(views)), timeout_(timeout) {}

  // {"command":"inspect","kind":"counters"|"drift"|"explanation","query":"shop/cart","family":4,"packet":{...}}; all
  // but the first two may be missing.
  //
  // "query", of counters and drift: a Service, a service port, a namespace, or the name of Services in any namespace.
  // "packet", of an explanation: {"address","port","protocol":"tcp","from":"node"|"pod"|"outside","client":"10.0.0.1"}.
  // Without "address", that of this node; "from" defaults to the node, and its "client" to the address of this node.
  //
  // Answers with {"families":[...]}: {"family","backend","rows":[...]} with inspected_rows(), for an explanation also
  // "packet", or {"family","error"} after a failure. Throws std::runtime_error for an invalid request.
  ControlServer::Pending operator()(const nlohmann::json& request, ControlReply reply) const;

 private:
  std::function<std::vector<ServiceView>()> views_;
  std::chrono::milliseconds timeout_;
};

}  // namespace sluice::observe
