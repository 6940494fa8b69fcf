// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Where Services come from, as the daemon sees it: the API server, files, or a
// recording. Exactly one is in use.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/status.hpp"
#include "core/config/settings.hpp"
#include "core/kube/access/credential_observer.hpp"
#include "core/kube/http/request_observer.hpp"
#include "core/kube/http/transport.hpp"
#include "core/model/event.hpp"
#include "core/observe/resource_status.hpp"

namespace sluice::daemon {

class Source {
 public:
  virtual ~Source() = default;
  // Begins to deliver, on threads of its own. What cannot work at all fails here; what
  // may pass (a server that is down) is logged and retried.
  virtual base::Status start() = 0;
  // Delivers nothing more after it returns; returns soon, whatever the network does.
  virtual void stop() = 0;
  // [any thread] The server's URL, the folder, the recording and how far it is.
  virtual std::string detail() const = 0;
  virtual std::vector<observe::ResourceStatus> status() const = 0;  // any thread
  // The way to the API server, for events; null where there is none. Lives as long as this.
  virtual kube::Transport* transport() { return nullptr; }
  // [any thread] Whether ServiceCIDRs are wanted, from now on; of those that are not, nothing is delivered after it
  // returns. Where it delivers them anyway it does nothing.
  virtual void set_service_cidrs(bool) {}
  // Files that say how to get to the server and that do not follow their content themselves alone: the kubeconfig
  // first, then the certificates it names. Tokens are not among them: they change all the time, and are read again.
  virtual std::vector<std::string> files() const { return {}; }
};

// Receive what the client of the API server does. Both outlive the source.
struct ClientObservers {
  kube::RequestObserver& requests;
  kube::CredentialObserver& credentials;
};

// `sink` outlives the source.
// `service_cidrs`: whether the API server is asked for ServiceCIDRs.
base::Result<std::unique_ptr<Source>> make_source(const config::Settings& settings, bool service_cidrs,
                                                  model::EventSink& sink, const ClientObservers& observers);

// Everything that is wrong with the source in use and with the file to record to,
// without starting anything; for --check and before a source is exchanged.
std::vector<std::string> check_source(const config::Settings& settings);

// The node a recording was made on; empty when the file cannot be read.
std::string recorded_node(const std::string& recording);

}  // namespace sluice::daemon
