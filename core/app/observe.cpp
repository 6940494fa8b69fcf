// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/app/observe.hpp"

#include <charconv>
#include <chrono>
#include <ctime>
#include <system_error>
#include <utility>

namespace sluice::app {
namespace {

using serve::HttpRequest;
using serve::HttpResponse;

constexpr const char* kNotForMachines =
    "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is "
    "for debugging purposes only.\n";
constexpr const char* kExposition = "text/plain; version=0.0.4; charset=utf-8";

HttpResponse text(int status, std::string body) {
  return {status, "text/plain; charset=utf-8", std::move(body), {{"X-Content-Type-Options", "nosniff"}}};
}

HttpResponse not_found() { return text(404, "404 page not found\n"); }

// /debug/pprof is a protocol of Go's runtime: profilers of Go ask there.
HttpResponse no_pprof() {
  return text(404, "Go profiles do not exist here: this proxy is no Go program. Use perf(1) on the process.\n");
}

// As date(1) prints it, in UTC.
std::string date(serve::WallTime time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char out[64];
  std::strftime(out, sizeof out, "%a %b %e %H:%M:%S UTC %Y", &parts);
  return out;
}

}  // namespace

Observe::Observe(const SettingsCell& settings, ObserveSources sources)
    : settings_(settings), sources_(std::move(sources)) {}

Observe::~Observe() { stop(); }

base::Status Observe::start() {
  const auto settings = settings_.get();
  start(health_server_, settings->serve.healthz);
  if (hard_failure_.ok()) start(metrics_server_, settings->serve.metrics);
  if (!hard_failure_.ok()) stop();
  return hard_failure_;
}

void Observe::stop() {
  for (Server* server : {&health_server_, &metrics_server_}) {
    server->next.reset();
    server->running.reset();
  }
}

void Observe::set_node(const std::optional<model::Node>& node) { node_eligible_ = node && !node->leaving; }

bool Observe::proxy_healthy() const { return serve::proxy_healthy(health()); }

void Observe::start(Server& server, const std::optional<base::SocketAddress>& where) {
  if (!where) return;
  serve::HttpServer::OnBindFailure failed;
  if (settings_.get()->serve.bind_address_hard_fail) {
    // The first attempt is made by start(), on this thread, and no other follows.
    failed = [this, reason = server.reason](const std::string& sentence) {
      hard_failure_ = {base::StatusCode::unavailable, sentence + ", and bindAddressHardFail makes that an error"};
      sources_.bind_failed_hard(reason, sentence);
    };
  }
  server.running = std::make_unique<serve::HttpServer>(server.name, *where, server.handler, std::move(failed));
  server.port = where->port;
  server.running->start();
}

bool Observe::concerned(const Settings& from, const Settings& to) const { return !(from.serve == to.serve); }

base::Status Observe::prepare(const Settings& from, const Settings& to) {
  base::Status status = prepare(health_server_, from.serve.healthz, to.serve.healthz);
  if (status.ok()) status = prepare(metrics_server_, from.serve.metrics, to.serve.metrics);
  if (!status.ok()) abandon();
  return status;
}

// One address may be part of one that is served now, as 127.0.0.1 is of 0.0.0.0; and the two servers may change places.
base::Status Observe::listen(serve::HttpServer& server, std::uint16_t port) {
  base::Status status = server.listen();
  for (Server* mine : {&health_server_, &metrics_server_}) {
    if (status.ok() || !mine->running || mine->port != port) continue;
    mine->running->share_port(true);
    status = server.listen(true);
    mine->running->share_port(false);
  }
  return status;
}

// At a start an address that cannot be had is tried again; here there is one that works.
base::Status Observe::prepare(Server& server, const std::optional<base::SocketAddress>& from,
                              const std::optional<base::SocketAddress>& to) {
  if (from == to) return {};
  if (to) {
    auto next = std::make_unique<serve::HttpServer>(server.name, *to, server.handler, nullptr);
    if (auto status = listen(*next, to->port); !status.ok()) return status;
    server.next = std::move(next);
  }
  server.where = to;
  server.exchanged = true;
  return {};
}

Committed Observe::commit() {
  Committed out;
  for (Server* server : {&health_server_, &metrics_server_}) {
    if (!std::exchange(server->exchanged, false)) continue;
    if (server->next) server->next->start();
    server->running = std::move(server->next);  // the old one is closed
    server->port = server->where ? server->where->port : std::uint16_t{0};
    out.done.push_back(std::string(server->name) +
                       (server->where ? ": listens on " + server->where->to_string() : std::string(": is off")));
  }
  if (out.done.empty()) out.done.emplace_back("health and metrics: other settings are in force on the same addresses");
  return out;
}

void Observe::abandon() {
  for (Server* server : {&health_server_, &metrics_server_}) {
    server->next.reset();
    server->exchanged = false;
  }
}

serve::ProxyHealth Observe::health() const {
  return {sources_.families(), 2 * settings_.get()->sync_period, node_eligible_, std::chrono::system_clock::now()};
}

HttpResponse Observe::answer_health(const HttpRequest& request) {
  if (request.path == "/healthz") {
    HttpResponse out = serve::healthz(health());
    sources_.answered_healthz(out.status);
    return out;
  }
  if (request.path == "/livez") {
    HttpResponse out = serve::livez(health());
    sources_.answered_livez(out.status);
    return out;
  }
  if (request.path == "/readyz") return serve::readyz(health());
  if (request.path == "/sync") return serve::sync_ages(health());
  return not_found();
}

HttpResponse Observe::answer_metrics(const HttpRequest& request) {
  const std::string& path = request.path;
  if (path == "/metrics") return {200, kExposition, sources_.metrics_text()};
  if (path == "/metrics/slis") return {200, kExposition, slis()};
  if (path == "/healthz" || path == "/healthz/ping") {
    if (path == "/healthz") ++pings_;
    return text(200, "ok");
  }
  if (path == "/proxyMode") return text(200, settings_.get()->backend);
  if (path == "/sync") return serve::sync_ages(health());
  if (path == "/configz") {
    const auto settings = settings_.get();
    const std::string& configuration = settings->kube_proxy_configuration;
    return {200,
            "application/json",
            "{\"kubeproxy.config.k8s.io\":" + (configuration.empty() ? "{}" : configuration) + "}",
            {{"X-Content-Type-Options", "nosniff"}}};
  }
  return debug_page(request);
}

HttpResponse Observe::debug_page(const HttpRequest& request) {
  const std::string& path = request.path;
  const auto settings = settings_.get();
  const ServeSettings& serve = settings->serve;
  if (serve.flagz && path == "/flagz") {
    std::string body = std::string("\nkube-proxy flagz\n") + kNotForMachines + "\n";
    for (const auto& [name, value] : settings->flags) body.append(name).append("=").append(value).append("\n");
    return text(200, std::move(body));
  }
  if (serve.statusz && path == "/statusz") return text(200, statusz());
  if (serve.profiling && path == "/debug/flags/v") return set_verbosity(request);
  if (serve.profiling && path.starts_with("/debug/pprof")) return no_pprof();
  return not_found();
}

HttpResponse Observe::set_verbosity(const HttpRequest& request) {
  if (request.method != "PUT") return text(406, "unrecognized http method\n");
  int value = 0;
  const char* const end = request.body.data() + request.body.size();
  const auto [rest, error] = std::from_chars(request.body.data(), end, value);
  if (error != std::errc() || rest != end || value < 0) {
    return text(400, "error setting verbosity: \"" + request.body.substr(0, 100) + "\" is no number from 0 on\n");
  }
  sources_.set_verbosity(value);
  return text(200, "successfully set klog.logging.verbosity to " + request.body);
}

// What the shared library of Kubernetes says about /healthz of this address, once asked.
std::string Observe::slis() const {
  if (pings_ == 0) return {};
  return "# HELP kubernetes_healthcheck [STABLE] This metric records the result of all healthchecks.\n"
         "# TYPE kubernetes_healthcheck gauge\n"
         "kubernetes_healthcheck{name=\"ping\",type=\"healthz\"} 1\n"
         "# HELP kubernetes_healthchecks_total [STABLE] This metric records the results of all healthcheck.\n"
         "# TYPE kubernetes_healthchecks_total counter\n"
         "kubernetes_healthchecks_total{name=\"ping\",status=\"success\",type=\"healthz\"} " +
         std::to_string(pings_) + "\n";
}

std::string Observe::statusz() const {
  const auto now = std::chrono::system_clock::now();
  const auto up = std::chrono::duration_cast<std::chrono::seconds>(now - started_).count();
  return std::string("\nkube-proxy statusz\n") + kNotForMachines + "\nStarted: " + date(started_) +
         "\nUp: " + std::to_string(up / 3600) + " hr " + std::to_string(up / 60 % 60) + " min " +
         std::to_string(up % 60) + " sec\nBinary version: sluiced " + sources_.version +
         "\nPaths: /configz /healthz /metrics /metrics/slis /proxyMode /sync\n";
}

}  // namespace sluice::app
