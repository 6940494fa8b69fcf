// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/http/api_client.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <list>
#include <mutex>
#include <utility>
#include <vector>

#include "core/kube/access/credentials.hpp"
#include "core/kube/http/http_failure.hpp"
#include "core/kube/http/http_session.hpp"
#include "core/kube/http/refusal_sink.hpp"
#include "core/kube/http/request_headers.hpp"
#include "core/kube/http/tls_context.hpp"

namespace sluice::kube {
namespace {

constexpr int kUnauthorized = 401;

lib::Status stopped_status() { return {lib::StatusCode::unavailable, "stopped", ECANCELED}; }

// ERESTART: not a failure; repeat the request.
lib::Status replaced_status() {
  return {lib::StatusCode::unavailable, "the client certificate has changed; reconnecting with it", ERESTART};
}

// Connections to one address with the same certificates.
struct Endpoint {
  TlsMaterial material;
  std::shared_ptr<VerifyReport> report = std::make_shared<VerifyReport>();
  std::unique_ptr<HttpSession> session;
};

std::shared_ptr<Endpoint> open_endpoint(const ConnectionConfig& config, HttpRoute route, const TlsMaterial& material) {
  auto out = std::make_shared<Endpoint>();
  out->material = material;
  out->session =
      std::make_unique<HttpSession>(std::move(route), [config, material, report = out->report](ssl_ctx_st* context) {
        return configure_tls(context, config, material, report);
      });
  return out;
}

// A request in progress.
struct Running {
  std::shared_ptr<HttpExchange> exchange;
  bool watch = false;
  TlsMaterial material;
};

}  // namespace

class ApiClient::Impl {
 public:
  Impl(ConnectionConfig config, ApiClientOptions options)
      : credentials_(std::move(config), Credentials::steady_clock(), options.credential_observer),
        options_(std::move(options)) {}
  ~Impl() { keep(nullptr); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  const ConnectionConfig& config() const { return credentials_.config(); }

  lib::Status send(const Request& request, ResponseSink& sink) {
    auto secrets = credentials_.load([this] { return stopped(); });
    if (!secrets) return stopped() ? stopped_status() : secrets.status();
    RefusalSink first(sink, credentials_.renewable());
    lib::Status status = attempt(request, *secrets, first);
    const bool refused = status.ok() && first.refused();
    const bool replaced = status.os_errno() == ERESTART && !first.answered();
    if (!refused && !replaced) return status;

    if (refused) credentials_.refused(*secrets);
    const auto renewed = credentials_.load([this] { return stopped(); });
    if (!renewed) return stopped() ? stopped_status() : renewed.status();
    if (refused && *renewed == *secrets) return first.deliver();
    sink.on_repeat(refused ? kUnauthorized : 0);
    RefusalSink second(sink, false);
    return attempt(request, *renewed, second);
  }

  void stop() {
    std::list<Running> running;
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
      running = running_;
    }
    for (const auto& one : running) one.exchange->end(stopped_status());
  }

 private:
  lib::Status attempt(const Request& request, const ConnectionSecrets& secrets, RefusalSink& sink) {
    replace_tls(secrets.tls);
    const std::string& host = config().proxy ? config().proxy->host : config().server.host;
    const auto addresses = options_.resolver->resolve(host, options_.resolve_limit, [this] { return stopped(); });
    if (stopped()) return stopped_status();
    if (!addresses) return unreachable(config(), addresses.status().message());
    report(*addresses);
    const auto endpoint = endpoint_for(request, pick(*addresses), secrets.tls);

    const auto exchange =
        endpoint->session->send({request.method, request.target(), request.content_type, request.body},
                                request_headers(config(), options_.version, secrets.authorization));
    if (!enter({exchange, request.watch, secrets.tls})) {
      exchange->end(stopped_status());
      return stopped_status();
    }
    const HttpOutcome outcome = exchange->wait(sink, request.watch ? check_certificates(secrets.tls) : HttpCheck());
    leave(exchange);
    const lib::Status status = status_of(outcome, *endpoint, sink.answered());
    if (!status.ok()) {
      const bool reachable = status.os_errno() == ERESTART || status.os_errno() == ECANCELED;
      const bool failed = status.code() == lib::StatusCode::unavailable || status.code() == lib::StatusCode::denied;
      if (failed && !reachable) try_next_address();
      forget(endpoint);
    }
    return status;
  }

  void report(const std::vector<lib::IpAddress>& addresses) {
    if (!options_.on_addresses) return;
    const std::uint16_t port = config().proxy ? config().proxy->port : config().server.port;
    std::vector<lib::SocketAddress> out;
    for (const auto& address : addresses) out.push_back({address, port});
    std::sort(out.begin(), out.end());
    // Held during the call, so that reports arrive in order.
    const std::lock_guard lock(reported_mutex_);
    if (out == reported_) return;
    reported_ = out;
    options_.on_addresses(std::move(out));
  }

  lib::Status status_of(const HttpOutcome& outcome, const Endpoint& endpoint, bool answered) const {
    if (!outcome.failure) return outcome.ended;
    if (stopped() || outcome.failure->code == ECANCELED) return stopped_status();
    return explain_failure(*outcome.failure,
                           {config(), endpoint.session->route(), endpoint.material, *endpoint.report, answered},
                           std::chrono::system_clock::now());
  }

  // A watch can be idle for minutes, so it checks for new certificates itself.
  HttpCheck check_certificates(const TlsMaterial& used) {
    if (!config().server.tls || config().client_certificate.file.empty()) return {};
    const auto check = [this, used](std::chrono::milliseconds& next) {
      const auto files = credentials_.tls_files();
      next = credentials_.inconsistent() ? options_.certificate_check_again : options_.certificate_check;
      return files && !files->same_identity(used) ? replaced_status() : lib::Status();
    };
    return {credentials_.inconsistent() ? options_.certificate_check_again : options_.certificate_check, check};
  }

  // Closes idle connections with another certificate or CA, and watches with another client certificate. Other requests
  // are short and may finish.
  void replace_tls(const TlsMaterial& material) {
    std::list<Running> stale;
    {
      const std::lock_guard lock(mutex_);
      if (kept_ != nullptr && kept_->material != material) keep(nullptr);
      for (const auto& one : running_) {
        if (one.watch && !one.material.same_identity(material)) stale.push_back(one);
      }
    }
    for (const auto& one : stale) one.exchange->end(replaced_status());
  }

  bool stopped() const {
    const std::lock_guard lock(mutex_);
    return stopped_;
  }
  bool enter(Running one) {
    const std::lock_guard lock(mutex_);
    if (!stopped_) running_.push_back(std::move(one));
    return !stopped_;
  }
  void leave(const std::shared_ptr<HttpExchange>& exchange) {
    const std::lock_guard lock(mutex_);
    running_.remove_if([&](const Running& one) { return one.exchange == exchange; });
  }

  lib::IpAddress pick(const std::vector<lib::IpAddress>& addresses) const {
    const std::lock_guard lock(mutex_);
    return addresses[next_address_ % addresses.size()];
  }
  void try_next_address() {
    const std::lock_guard lock(mutex_);
    ++next_address_;
  }

  // Lists share an endpoint, whose idle connection serves the next page. A watch (with its own idle timeout) and a
  // tunnel through a proxy get an endpoint for one request.
  std::shared_ptr<Endpoint> endpoint_for(const Request& request, const lib::IpAddress& address,
                                         const TlsMaterial& material) {
    const bool shared = !request.watch && !(config().proxy && config().server.tls);
    const std::lock_guard lock(mutex_);
    if (shared && kept_ != nullptr && kept_->session->route().address == address && kept_->material == material) {
      if (options_.observer != nullptr) options_.observer->pool_used(PoolUse::hit);
      return kept_;
    }
    HttpRoute route;
    route.server = config().server;
    route.address = address;
    route.proxy = config().proxy;
    route.tls_name = config().tls_name();
    route.verify = !config().insecure_skip_tls_verify;
    route.compress = !request.watch && !config().disable_compression;
    route.idle = request.watch ? options_.watch_idle : options_.list_idle;
    auto made = open_endpoint(config(), std::move(route), material);
    if (options_.observer != nullptr) options_.observer->pool_used(shared ? PoolUse::miss : PoolUse::uncacheable);
    if (shared) keep(made);
    return made;
  }
  void forget(const std::shared_ptr<Endpoint>& endpoint) {
    const std::lock_guard lock(mutex_);
    if (kept_ == endpoint) keep(nullptr);
  }
  // REQUIRES: mutex_ is held, or no other thread uses this object.
  void keep(std::shared_ptr<Endpoint> endpoint) {
    const int change = static_cast<int>(endpoint != nullptr) - static_cast<int>(kept_ != nullptr);
    kept_ = std::move(endpoint);
    if (change != 0 && options_.observer != nullptr) options_.observer->pools_kept(change);
  }

  Credentials credentials_;
  const ApiClientOptions options_;
  mutable std::mutex mutex_;
  bool stopped_ = false;
  std::list<Running> running_;
  std::size_t next_address_ = 0;
  std::mutex reported_mutex_;
  std::vector<lib::SocketAddress> reported_;  // under reported_mutex_
  std::shared_ptr<Endpoint> kept_;
};

ApiClient::ApiClient(ConnectionConfig config, ApiClientOptions options)
    : impl_(std::make_unique<Impl>(std::move(config), std::move(options))) {}
ApiClient::~ApiClient() { stop(); }
lib::Status ApiClient::send(const Request& request, ResponseSink& sink) { return impl_->send(request, sink); }
void ApiClient::stop() { impl_->stop(); }
std::string ApiClient::server() const { return impl_->config().server.to_string(); }
const ConnectionConfig& ApiClient::config() const { return impl_->config(); }

}  // namespace sluice::kube
