// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/http/api_client.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "core/kube/http/http_failure.hpp"
#include "core/kube/http/request_headers.hpp"

namespace sluice::kube {
namespace {

lib::Status stopped_status() { return {lib::StatusCode::unavailable, "stopped", ECANCELED}; }

// ERESTART: not a failure; repeat the request.
lib::Status replaced_status() {
  return {lib::StatusCode::unavailable, "the client certificate has changed; reconnecting with it", ERESTART};
}

}  // namespace

ApiClient::ApiClient(ConnectionConfig config, ApiClientOptions options, ClientObserver& observer,
                     const lib::Clock& clock)
    : credentials_(std::move(config), clock, &observer),
      options_(std::move(options)),
      host_(in_url(this->config().server.host) + ":" + std::to_string(this->config().server.port)),
      observer_(observer),
      clock_(clock),
      budget_(options_.budget, clock),
      connect_reason_(clock) {}

ApiClient::~ApiClient() {
  stop();
  keep(nullptr);
}

lib::Status ApiClient::send(const Request& request, ResponseSink& sink) {
  const auto begun = clock_.now();
  if (!budget_.wait(request)) return stopped_status();
  observer_.waited(host_, request.method, std::chrono::duration<double>(clock_.now() - begun).count());

  AttemptSink first(sink, request, credentials_.renewable(), host_, observer_, clock_);
  const auto secrets = load_secrets();
  if (!secrets) return secrets.status();
  lib::Status status = attempt(request, *secrets, first);
  const bool refused = status.ok() && first.refused();
  const bool replaced = status.os_errno() == ERESTART && !first.answered();
  if (!refused && !replaced) return status;

  if (refused) credentials_.refused(*secrets);
  const auto renewed = load_secrets();
  if (!renewed) return renewed.status();
  if (refused && *renewed == *secrets) return first.deliver();
  first.discard();
  Request repeated = request;
  repeated.again = true;
  AttemptSink second(sink, repeated, false, host_, observer_, clock_);
  return attempt(repeated, *renewed, second);
}

void ApiClient::stop() {
  budget_.stop();
  std::list<Running> running;
  {
    const lib::Lock lock(mutex_);
    stopped_ = true;
    running = running_;
  }
  for (const auto& one : running) one.exchange->end(stopped_status());
}

lib::Result<ConnectionSecrets> ApiClient::load_secrets() {
  auto out = credentials_.load([this] { return stopped(); });
  if (!out && stopped()) return stopped_status();
  return out;
}

lib::Status ApiClient::attempt(const Request& request, const ConnectionSecrets& secrets, AttemptSink& sink) {
  replace_tls(secrets.tls);
  const std::string& host = config().proxy ? config().proxy->host : config().server.host;
  const auto addresses = options_.resolver->resolve(host, options_.resolve_limit, [this] { return stopped(); });
  if (stopped()) return stopped_status();
  if (!addresses) return unreachable(config(), addresses.status().message());
  report(*addresses);
  const auto session = session_for(request, pick(*addresses), secrets.tls);

  const auto exchange = session->send(request, request_headers(request, config(), options_.version, secrets.authorization));
  if (!enter({exchange, request.watch, secrets.tls})) {
    exchange->end(stopped_status());
    return stopped_status();
  }
  const HttpOutcome outcome = wait(*exchange, request.watch, secrets.tls, sink);
  leave(exchange);
  if (sink.answered()) connect_reason_.forget();
  const lib::Status status = status_of(outcome, *session, sink.answered());
  if (!status.ok()) {
    const bool reachable = status.os_errno() == ERESTART || status.os_errno() == ECANCELED;
    const bool failed = status.code() == lib::StatusCode::unavailable || status.code() == lib::StatusCode::denied;
    if (failed && !reachable) try_next_address();
    forget(session);
  }
  return status;
}

// A watch can be idle for minutes, so it checks for new certificates itself.
HttpOutcome ApiClient::wait(HttpExchange& exchange, bool watch, const TlsMaterial& used, AttemptSink& sink) {
  const bool checks = watch && config().server.tls && !config().client_certificate.file.empty();
  for (;;) {
    auto until = HttpExchange::Clock::time_point::max();
    if (checks) {
      until = HttpExchange::Clock::now() +
              (credentials_.inconsistent() ? options_.certificate_check_again : options_.certificate_check);
    }
    if (const auto outcome = exchange.wait(sink, until)) return *outcome;
    const auto files = credentials_.tls_files();
    if (files && !files->same_identity(used)) exchange.end(replaced_status());
  }
}

lib::Status ApiClient::status_of(const HttpOutcome& outcome, const HttpSession& session, bool answered) {
  if (!outcome.failure) return outcome.ended;
  if (stopped() || outcome.failure->code == ECANCELED) return stopped_status();
  return explain_failure(
      *outcome.failure,
      {config(), session.route(), session.material(), session.report(), connect_reason_, answered},
      std::chrono::system_clock::now());
}

void ApiClient::report(const std::vector<lib::IpAddress>& addresses) {
  if (options_.sink == nullptr) return;
  const std::uint16_t port = config().proxy ? config().proxy->port : config().server.port;
  std::vector<lib::SocketAddress> out;
  for (const auto& address : addresses) out.push_back({address, port});
  std::sort(out.begin(), out.end());
  // Held during the call, so that reports arrive in order.
  const lib::Lock lock(reported_mutex_);
  if (out == reported_) return;
  reported_ = out;
  options_.sink->server_at(std::move(out));
}

// Closes idle connections with another certificate or CA, and watches with another client certificate. Other requests
// are short and may finish.
void ApiClient::replace_tls(const TlsMaterial& material) {
  std::list<Running> stale;
  {
    const lib::Lock lock(mutex_);
    if (kept_ != nullptr && kept_->material() != material) keep(nullptr);
    for (const auto& one : running_) {
      if (one.watch && !one.material.same_identity(material)) stale.push_back(one);
    }
  }
  for (const auto& one : stale) one.exchange->end(replaced_status());
}

// Lists share a session, whose idle connection serves the next page. A watch (with its own idle timeout) and a tunnel
// through a proxy get a session for one request.
std::shared_ptr<HttpSession> ApiClient::session_for(const Request& request, const lib::IpAddress& address,
                                                    const TlsMaterial& material) {
  const bool shared = !request.watch && !(config().proxy && config().server.tls);
  const lib::Lock lock(mutex_);
  if (shared && kept_ != nullptr && kept_->route().address == address && kept_->material() == material) {
    observer_.pool_used(PoolUse::hit);
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
  auto made = std::make_shared<HttpSession>(std::move(route), config(), material);
  observer_.pool_used(shared ? PoolUse::miss : PoolUse::uncacheable);
  if (shared) keep(made);
  return made;
}

void ApiClient::forget(const std::shared_ptr<HttpSession>& session) {
  const lib::Lock lock(mutex_);
  if (kept_ == session) keep(nullptr);
}

void ApiClient::keep(std::shared_ptr<HttpSession> session) {
  const int change = static_cast<int>(session != nullptr) - static_cast<int>(kept_ != nullptr);
  kept_ = std::move(session);
  if (change != 0) observer_.pools_kept(change);
}

lib::IpAddress ApiClient::pick(const std::vector<lib::IpAddress>& addresses) const {
  const lib::Lock lock(mutex_);
  return addresses[next_address_ % addresses.size()];
}

void ApiClient::try_next_address() {
  const lib::Lock lock(mutex_);
  ++next_address_;
}

bool ApiClient::enter(Running one) {
  const lib::Lock lock(mutex_);
  if (!stopped_) running_.push_back(std::move(one));
  return !stopped_;
}

void ApiClient::leave(const std::shared_ptr<HttpExchange>& exchange) {
  const lib::Lock lock(mutex_);
  running_.remove_if([&](const Running& one) { return one.exchange == exchange; });
}

bool ApiClient::stopped() const {
  const lib::Lock lock(mutex_);
  return stopped_;
}

}  // namespace sluice::kube
