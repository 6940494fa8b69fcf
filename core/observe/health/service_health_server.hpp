// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Health check node ports (BEH 10.2): for each Service that has one, a small HTTP
// server that tells load balancers whether this node has endpoints of the Service.
// A plain reporter: who counts, and what makes the proxy healthy, is decided elsewhere.
//
// One thread of its own serves all Services. What clients can cost is bounded: their
// number, the time for each step, the length of a request. All functions but start()
// and stop() may be called from any thread and never wait for a client.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/ip.hpp"
#include "core/observe/http/http_limits.hpp"

namespace sluice::observe {

// Load balancers ask for many Services, each from several places.
struct ServiceHealthOptions : HttpLimits {
  ServiceHealthOptions() { max_clients = 256; }
};

class ServiceHealthServer {
 public:
  // Asked on the server's thread, for every request; must be quick.
  using Healthy = std::function<bool()>;
  // Called on the server's thread with the Service and the sentence that is logged, once
  // for each reason: its port cannot be opened. It is tried again. Must be quick.
  using OnProblem =
      std::function<void(const std::string& name_space, const std::string& name, const std::string& sentence)>;

  explicit ServiceHealthServer(Healthy proxy_healthy, ServiceHealthOptions options = {}, OnProblem on_problem = {});
  ~ServiceHealthServer();  // stops
  ServiceHealthServer(const ServiceHealthServer&) = delete;
  ServiceHealthServer& operator=(const ServiceHealthServer&) = delete;

  void start();
  // Closes all ports and connections; what is set later has no effect. Not from proxy_healthy.
  void stop();

  // Port 0: the Service has none (any more), and is forgotten. A port that cannot be
  // opened is reported once for each reason and tried again, other Services unaffected;
  // of two Services with one port, the one that has it keeps it.
  void set(base::Family family, std::string name_space, std::string name, std::uint16_t port,
           std::size_t local_endpoints);
  // Where to listen; nothing (the default) is every address of the family, an empty
  // list none. Connections to addresses that stay are kept.
  void set_addresses(base::Family family, std::optional<std::vector<base::IpAddress>> addresses);

  // A sentence for each Service whose port is not open, once everything set before has
  // taken effect. REQUIRES: started, and stop() not called meanwhile.
  std::vector<std::string> problems();

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace sluice::observe
