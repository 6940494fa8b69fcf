// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/daemon/delivery.hpp"

#include <chrono>
#include <thread>
#include <utility>

#include "core/daemon/build_info.hpp"

namespace sluice::daemon {
namespace {

// How long the shutdown waits for the last events.
constexpr std::chrono::seconds kEventTimeout{2};
// How long a swap waits for the lists that its new backend needs.
constexpr std::chrono::seconds kListTimeout{60};
constexpr std::chrono::milliseconds kListPollInterval{5};

}  // namespace

Delivery::Delivery(const std::string& node_name, snapshot::StoreThread::Callbacks callbacks, NodeState& node,
                   Reports& reports, const lib::Clock& clock)
    : node_(node),
      reports_(reports),
      store_(node_name, std::move(callbacks)),
      sink_(store_, reports.start_trace()),
      source_(source_hooks(), sink_, clock) {}

SourcePart::Hooks Delivery::source_hooks() {
  SourcePart::Hooks out;
  out.make = [this](const config::Settings& settings, bool service_cidrs, model::EventSink& sink) {
    return make_source(settings, service_cidrs, sink, reports_.metrics());
  };
  out.check = check_source;
  out.switch_transport = [this](kube::Transport* transport) { reports_.events().set_transport(transport); };
  out.version = kVersion;
  return out;
}

lib::Status Delivery::start(const config::Settings& settings) {
  if (auto status = source_.make(settings, false); !status.ok()) return status;
  reports_.events().start(source_.transport());
  store_.start(
      {.families = {},
       .options = {.external_ips = settings.allow_external_ips},
       // A recording may have no ServiceCIDRs; manifest files are always complete.
       .service_cidr_timeout = settings.source.kind == config::SourceKind::replay
                                   ? lib::Clock::Duration(0)
                                   : snapshot::StoreThread::kServiceCidrTimeout});
  return source_.start();
}

void Delivery::stop_source() {
  // Pending events are sent until a short timeout, in case the API server does not answer.
  reports_.events().drain(kEventTimeout);
  // Before the store, because a source may wait for room in its queue.
  source_.stop();
}

void Delivery::set_service_cidrs(bool wanted, const config::Settings& settings) {
  source_.set_service_cidrs(wanted);
  store_.set_options({.external_ips = settings.allow_external_ips, .service_cidrs = wanted});
}

lib::Status Delivery::await_details(const model::DetailsRequest& request,
                                    const lifecycle::BackendRun::KeepWaiting& keep_waiting) {
  const auto until = std::chrono::steady_clock::now() + kListTimeout;
  while (!store_.published().has_details(request)) {
    if (!keep_waiting()) return lib::unavailable("the daemon is shutting down");
    if (std::chrono::steady_clock::now() >= until) {
      return lib::unavailable("timeout: no complete list of Services and EndpointSlices from " +
                              source_.status().detail + " with the details that the backend asks for");
    }
    std::this_thread::sleep_for(kListPollInterval);
  }
  return {};
}

void Delivery::refresh() {
  store_.promote_pending_settings();
  store_.refresh_node_facts();
}

}  // namespace sluice::daemon
