// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The transport to an API server: which address, which credentials, which connection,
// and when each is given up. The bytes are http_session's, the secrets credentials'.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/ip.hpp"
#include "core/kube/access/connection_config.hpp"
#include "core/kube/access/credential_observer.hpp"
#include "core/kube/http/host_resolver.hpp"
#include "core/kube/http/request_observer.hpp"
#include "core/kube/http/transport.hpp"

namespace sluice::kube {

struct ApiClientOptions {
  std::string version;  // for the User-Agent
  // The time without a byte after which a connection counts as dead. A quiet watch has
  // a bookmark about every 60 s.
  std::chrono::seconds list_idle{60};
  std::chrono::seconds watch_idle{100};
  // How often a running watch looks whether certificates were replaced, and how soon
  // again when only half of them were.
  std::chrono::milliseconds certificate_check{300'000};
  std::chrono::milliseconds certificate_check_again{10'000};
  // Never null. Clients may share one, which then bounds the lookups of all of them.
  std::shared_ptr<HostResolver> resolver = std::make_shared<HostResolver>();
  std::chrono::milliseconds resolve_limit{15'000};
  // Both may be null, and outlive the client. Of requests the first one receives the connection pools only.
  RequestObserver* observer = nullptr;
  CredentialObserver* credential_observer = nullptr;
  // Called with the addresses that the client connects to (of the proxy, if it uses one), sorted: before the first
  // request, and when they change. On the thread that sends the request.
  std::function<void(std::vector<base::SocketAddress>)> on_addresses;
};

class ApiClient final : public Transport {
 public:
  ApiClient(ConnectionConfig config, ApiClientOptions options);
  ~ApiClient() override;

  // A 401 is answered once with renewed credentials, where there are such; then it is
  // the sink's. With a new client certificate, running watches end as if the server had
  // closed them.
  base::Status send(const Request& request, ResponseSink& sink) override;
  void stop() override;
  std::string server() const override;

  const ConnectionConfig& config() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::kube
