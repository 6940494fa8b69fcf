// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Health check node ports (BEH 10.2): for each Service that has one, a small HTTP server
// that reports to load balancers whether this node has endpoints of the Service. The
// caller counts the endpoints and decides whether the proxy is healthy.
//
// A dedicated thread serves all Services. The cost of clients is bounded: their number, the
// time for each step, the length of a request. All functions except start() and stop() may
// be called from any thread and never wait for a client.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/observe/health/service_health_counts.hpp"
#include "core/observe/http/http_limits.hpp"
#include "lib/ip.hpp"

namespace sluice::observe {

// Load balancers probe many Services, each from several addresses.
struct ServiceHealthOptions : HttpLimits {
  ServiceHealthOptions() { max_clients = 256; }
};

class ServiceHealthServer {
 public:
  // Called on the server's thread, for every request; must be quick.
  using Healthy = std::function<bool()>;
  // Called on the server's thread when a port cannot be opened, once for each reason, with
  // the sentence that is logged. The server retries. Must be quick.
  using OnProblem =
      std::function<void(const std::string& name_space, const std::string& name, const std::string& sentence)>;

  explicit ServiceHealthServer(Healthy proxy_healthy, ServiceHealthOptions options = {}, OnProblem on_problem = {});
  ~ServiceHealthServer();  // stops
  ServiceHealthServer(const ServiceHealthServer&) = delete;
  ServiceHealthServer& operator=(const ServiceHealthServer&) = delete;

  void start();
  // Closes all ports and connections; later calls of set() have no effect. Not from proxy_healthy.
  void stop();

  // Applies the changes at once, so that a port may move between their Services. Port 0
  // removes the Service. If a port cannot be opened, the server reports it once for each
  // reason and retries; other Services are not affected. If two Services have the same
  // port, the first one keeps it.
  void set(lib::Family family, std::vector<ServiceHealthUpdate> updates);
  // Addresses to listen on: nothing (the default) means every address of the family, an
  // empty list none. Connections to remaining addresses are kept.
  void set_addresses(lib::Family family, std::optional<std::vector<lib::IpAddress>> addresses);

  // A sentence for each Service whose port is not open, after all earlier calls of set()
  // have taken effect. REQUIRES: started, and stop() is not called concurrently.
  std::vector<std::string> problems();

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace sluice::observe
