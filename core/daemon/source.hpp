// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The source of Services: the API server, manifest files, or a recording. Exactly one is in use.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/config/settings.hpp"
#include "core/kube/http/client_observer.hpp"
#include "core/kube/http/transport.hpp"
#include "core/model/event.hpp"
#include "core/observe/resource_status.hpp"
#include "lib/status.hpp"

namespace sluice::daemon {

class Source {
 public:
  virtual ~Source() = default;
  // Starts to deliver, on its own threads. Fails for permanent errors; temporary errors, such
  // as a server that is down, are logged and retried.
  virtual lib::Status start() = 0;
  // Nothing is delivered after it returns; returns soon, even if the network hangs.
  virtual void stop() = 0;
  // [any thread] The URL of the server, the folder, or the recording and its progress.
  virtual std::string detail() const = 0;
  virtual std::vector<observe::ResourceStatus> status() const = 0;  // any thread
  // The transport to the API server, for events; null if there is none. Lives as long as this.
  virtual kube::Transport* transport() { return nullptr; }
  // [any thread] Whether to deliver ServiceCIDRs. After it returns from set_service_cidrs(false), none are delivered.
  // No effect on sources that always deliver them.
  virtual void set_service_cidrs(bool) {}
  // [any thread] Sets the details to deliver; null: none. After a change, Services and EndpointSlices are listed again
  // with the new ones. No effect on sources without details.
  virtual void set_details(const model::WantedDetailsPtr&) {}
  // Files whose change needs a reload: the kubeconfig first, then the certificates it names. Without tokens, which
  // change often and are read again by the client.
  virtual std::vector<std::string> files() const { return {}; }
};

// `sink` and `observer` (of the API client) must outlive the source. `service_cidrs`: whether to watch ServiceCIDRs.
lib::Result<std::unique_ptr<Source>> make_source(const config::Settings& settings, bool service_cidrs,
                                                 model::EventSink& sink, kube::ClientObserver& observer);

// Returns all errors of the configured source and the recording file, without starting
// anything; for --check and before a source is replaced.
std::vector<std::string> check_source(const config::Settings& settings);

// The node on which a recording was made; empty if the file cannot be read.
std::string recorded_node(const std::string& recording);

}  // namespace sluice::daemon
