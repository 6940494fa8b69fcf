// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The client of an API server, the only Transport of the daemon. A request waits for the rate limit, gets credentials
// and a connection, and is sent again if new credentials may help. The observer receives every attempt. HttpSession
// implements HTTP, Credentials provides the secrets.
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "core/kube/access/connection_config.hpp"
#include "core/kube/access/credentials.hpp"
#include "core/kube/http/attempt_sink.hpp"
#include "core/kube/http/client_observer.hpp"
#include "core/kube/http/connect_reason.hpp"
#include "core/kube/http/host_resolver.hpp"
#include "core/kube/http/http_session.hpp"
#include "core/kube/http/request_budget.hpp"
#include "core/kube/http/transport.hpp"
#include "core/model/event.hpp"
#include "lib/clock.hpp"
#include "lib/ip.hpp"
#include "lib/mutex.hpp"

namespace sluice::kube {

struct ApiClientOptions {
  std::string version;  // for the User-Agent
  RequestBudgetOptions budget;
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
  // Receives the addresses that the client connects to (of the proxy, if it uses one), before the first request and
  // when they change, on the thread that sends the request. May be null and must outlive the client.
  model::EventSink* sink = nullptr;
};

class ApiClient final : public Transport {
 public:
  // The observer and the clock must outlive the client.
  ApiClient(ConnectionConfig config, ApiClientOptions options, ClientObserver& observer, const lib::Clock& clock);
  ~ApiClient() override;
  ApiClient(const ApiClient&) = delete;
  ApiClient& operator=(const ApiClient&) = delete;

  // After a 401 the request is retried once with renewed credentials, if they can be renewed; a second 401 goes to the
  // sink. When the client certificate changes, running watches end as if the server had closed them.
  lib::Status send(const Request& request, ResponseSink& sink) override;
  void stop() override;
  std::string server() const override { return config().server.to_string(); }

 private:
  // A request in progress.
  struct Running {
    std::shared_ptr<HttpExchange> exchange;
    bool watch = false;
    TlsMaterial material;
  };

  const ConnectionConfig& config() const { return credentials_.config(); }
  lib::Result<ConnectionSecrets> load_secrets();
  lib::Status attempt(const Request& request, const ConnectionSecrets& secrets, AttemptSink& sink);
  HttpOutcome wait(HttpExchange& exchange, bool watch, const TlsMaterial& used, AttemptSink& sink);
  lib::Status status_of(const HttpOutcome& outcome, const HttpSession& session, bool answered);
  void replace_tls(const TlsMaterial& material);
  void report(const std::vector<lib::IpAddress>& addresses);
  std::shared_ptr<HttpSession> session_for(const Request& request, const lib::IpAddress& address,
                                           const TlsMaterial& material);
  void keep(std::shared_ptr<HttpSession> session) SLUICE_REQUIRES(mutex_);
  void forget(const std::shared_ptr<HttpSession>& session);
  lib::IpAddress pick(const std::vector<lib::IpAddress>& addresses) const;
  void try_next_address();
  bool enter(Running one);
  void leave(const std::shared_ptr<HttpExchange>& exchange);
  bool stopped() const;

  Credentials credentials_;
  const ApiClientOptions options_;
  const std::string host_;  // for the observer
  ClientObserver& observer_;
  const lib::Clock& clock_;
  RequestBudget budget_;
  ConnectReason connect_reason_;
  mutable lib::Mutex mutex_;
  bool stopped_ SLUICE_GUARDED_BY(mutex_) = false;
  std::list<Running> running_ SLUICE_GUARDED_BY(mutex_);
  std::size_t next_address_ SLUICE_GUARDED_BY(mutex_) = 0;
  std::shared_ptr<HttpSession> kept_ SLUICE_GUARDED_BY(mutex_);
  lib::Mutex reported_mutex_;
  std::vector<lib::SocketAddress> reported_ SLUICE_GUARDED_BY(reported_mutex_);
};

}  // namespace sluice::kube
