// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The transport to an API server: chooses address, credentials and connection, and when to replace them. http_session
// implements HTTP, Credentials provides the secrets.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/kube/access/connection_config.hpp"
#include "core/kube/access/credential_observer.hpp"
#include "core/kube/http/host_resolver.hpp"
#include "core/kube/http/request_observer.hpp"
#include "core/kube/http/transport.hpp"
#include "lib/ip.hpp"

namespace sluice::kube {

struct ApiClientOptions {
  std::string version;  // for the User-Agent
  // Idle timeouts: a connection that receives no data for this long is considered dead. An idle watch gets a bookmark
  // about every 60 s.
  std::chrono::seconds list_idle{60};
  std::chrono::seconds watch_idle{100};
  // How often a running watch checks for replaced certificates, and how soon again if the files do not match yet.
  std::chrono::milliseconds certificate_check{300'000};
  std::chrono::milliseconds certificate_check_again{10'000};
  // Must not be null. Clients may share one, which then bounds the lookups of all of them.
  std::shared_ptr<HostResolver> resolver = std::make_shared<HostResolver>();
  std::chrono::milliseconds resolve_limit{15'000};
  // Both may be null and must outlive the client. `observer` only receives uses of connection pools.
  RequestObserver* observer = nullptr;
  CredentialObserver* credential_observer = nullptr;
  // Called with the sorted addresses that the client connects to (of the proxy, if it uses one), before the first
  // request and when they change, on the thread that sends the request.
  std::function<void(std::vector<lib::SocketAddress>)> on_addresses;
};

class ApiClient final : public Transport {
 public:
  ApiClient(ConnectionConfig config, ApiClientOptions options);
  ~ApiClient() override;

  // After a 401 the request is retried once with renewed credentials, if they can be renewed; a second 401 goes to the
  // sink. When the client certificate changes, running watches end as if the server had closed them.
  lib::Status send(const Request& request, ResponseSink& sink) override;
  void stop() override;
  std::string server() const override;

  const ConnectionConfig& config() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::kube
