// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/pages/http_pages.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>
#include <utility>

#include "core/observe/http/accept_header.hpp"
#include "lib/number.hpp"

namespace sluice::observe {
namespace {

// The escaping schemes of the text format, selected by "escaping" in Accept. Metric names here need none of them.
constexpr std::array<std::string_view, 4> kEscapings{"allow-utf-8", "underscores", "dots", "values"};
constexpr const char* kFlagsPage =
    "<html>\n<head>\n<title>/debug/flags/</title>\n</head>\n<body>\n/debug/flags/<br>\n<br>\nflags:<br>\n<table>\n"
    "<tr>v<br>\n</table>\n<br>\nfull flags configurable<br>\n</body>\n</html>\n";

HttpResponse text(int status, std::string body) {
  return {status, "text/plain; charset=utf-8", std::move(body), {{"X-Content-Type-Options", "nosniff"}}};
}

HttpResponse not_found() { return text(404, "404 page not found\n"); }

HttpResponse exposition(const std::string& accept, WallTime started, std::string body) {
  std::string escaping = "underscores";
  for (const auto& clause : parse_accept(accept)) {
    const std::string wanted = clause.parameter("escaping");
    if (std::find(kEscapings.begin(), kEscapings.end(), wanted) != kEscapings.end()) escaping = wanted;
    const std::string version = clause.parameter("version");
    if (clause.type == "text" && clause.subtype == "plain" && (version.empty() || version == "0.0.4")) break;
  }
  return {200,
          "text/plain; version=0.0.4; charset=utf-8; escaping=" + escaping,
          std::move(body),
          {{"Process-Start-Time-Unix", std::to_string(std::chrono::system_clock::to_time_t(started))}}};
}

// As kube-proxy answers for a flag: a content type without a charset, and a newline at the end.
HttpResponse flag_answer(int status, const std::string& sentence) {
  return {status, "text/plain", sentence + "\n", {{"X-Content-Type-Options", "nosniff"}}};
}

}  // namespace

HttpPages::HttpPages(const config::SettingsCell& settings, PageSources& sources, ProcessInfo process)
    : settings_(settings), sources_(sources), process_(std::move(process)) {}

HttpPages::~HttpPages() { stop(); }

lib::Status HttpPages::start() {
  const auto settings = settings_.get();
  start(health_server_, settings->serve.healthz);
  if (hard_failure_.ok()) start(metrics_server_, settings->serve.metrics);
  if (!hard_failure_.ok()) stop();
  return hard_failure_;
}

void HttpPages::stop() {
  for (Server* server : {&health_server_, &metrics_server_}) {
    server->next.reset();
    server->running.reset();
  }
}

void HttpPages::set_node(const std::optional<model::Node>& node) { node_eligible_ = node && !node->leaving; }

bool HttpPages::proxy_healthy() const { return observe::proxy_healthy(health()); }

void HttpPages::start(Server& server, const std::optional<lib::SocketAddress>& where) {
  if (!where) return;
  HttpServer::OnBindFailure failed;
  if (settings_.get()->serve.bind_address_hard_fail) {
    // start() makes the first attempt on this thread, and there is no retry.
    failed = [this, reason = std::string(server.reason)](const std::string& sentence) {
      hard_failure_ = {lib::StatusCode::unavailable, sentence + ", and bindAddressHardFail makes that an error"};
      sources_.bind_failed_hard(reason, sentence);
    };
  }
  server.running = std::make_unique<HttpServer>(server.name, *where, server.handler, std::move(failed));
  server.port = where->port;
  server.running->start();
}

bool HttpPages::concerned(const config::Settings& from, const config::Settings& to) const {
  return !(from.serve == to.serve);
}

lib::Status HttpPages::prepare(const config::Settings& from, const config::Settings& to) {
  lib::Status status = prepare(health_server_, from.serve.healthz, to.serve.healthz);
  if (status.ok()) status = prepare(metrics_server_, from.serve.metrics, to.serve.metrics);
  if (!status.ok()) abandon();
  return status;
}

// The new address may overlap a running one, as 127.0.0.1 does 0.0.0.0, and the two servers may swap their addresses.
lib::Status HttpPages::listen(HttpServer& server, std::uint16_t port) {
  lib::Status status = server.listen();
  for (Server* mine : {&health_server_, &metrics_server_}) {
    if (status.ok() || !mine->running || mine->port != port) continue;
    mine->running->share_port(true);
    status = server.listen(true);
    mine->running->share_port(false);
  }
  return status;
}

// Fails if the address cannot be bound, instead of retrying as at a start, because the old address still works.
lib::Status HttpPages::prepare(Server& server, const std::optional<lib::SocketAddress>& from,
                               const std::optional<lib::SocketAddress>& to) {
  if (from == to) return {};
  if (to) {
    auto next = std::make_unique<HttpServer>(server.name, *to, server.handler, nullptr);
    if (auto status = listen(*next, to->port); !status.ok()) return status;
    server.next = std::move(next);
  }
  server.where = to;
  server.changed = true;
  return {};
}

reload::Committed HttpPages::commit() {
  reload::Committed out;
  for (Server* server : {&health_server_, &metrics_server_}) {
    if (!std::exchange(server->changed, false)) continue;
    if (server->next) server->next->start();
    server->running = std::move(server->next);  // the old one is closed
    server->port = server->where ? server->where->port : std::uint16_t{0};
    out.done.push_back(std::string(server->name) +
                       (server->where ? ": listens on " + server->where->to_string() : std::string(": is off")));
  }
  if (out.done.empty()) out.done.emplace_back("health and metrics: new settings applied, same addresses");
  return out;
}

void HttpPages::abandon() {
  for (Server* server : {&health_server_, &metrics_server_}) {
    server->next.reset();
    server->changed = false;
  }
}

ProxyHealth HttpPages::health() const {
  return {sources_.families(), 2 * settings_.get()->sync_period, node_eligible_, std::chrono::system_clock::now()};
}

// clang-format off
std::span<const HttpPages::Page> HttpPages::pages() {
  using enum PageServer;
  using config::ServeSettings;
  static constexpr auto kPages = std::to_array<Page>({
      {{health, "/healthz", false, nullptr,
        "200 if no address family is late and the node is eligible, else 503. JSON."},
       &HttpPages::answer_healthz},
      {{health, "/livez", false, nullptr,
        "200 if no address family is late, else 503. JSON."},
       &HttpPages::answer_livez},
      {{health, "/readyz", false, nullptr,
        "200 if the backend has programmed the node for every address family since the start, does not fail and is "
        "not overdue, else 503. JSON with the reason of each family. For readiness probes; during 503, rules of an "
        "earlier proxy are kept."},
       &HttpPages::answer_readyz},
      {{health, "/sync", false, nullptr,
        "Always 200. JSON for each address family: the age of the oldest change that the kernel does not have (before "
        "the first sync, the time since the start), its time, and the time when the kernel was last up to date (null: "
        "not since the start)."},
       &HttpPages::answer_sync},
      {{metrics, "/metrics", false, nullptr,
        "All metrics in the text format of Prometheus."},
       &HttpPages::answer_metrics},
      {{metrics, "/metrics/slis", false, nullptr,
        "Number of requests for /healthz of this address, and start time of the process. DELETE resets the numbers."},
       &HttpPages::answer_slis},
      {{metrics, "/healthz", false, nullptr,
        "ok while the process runs. ?verbose and ?exclude=ping as in kube-proxy."},
       &HttpPages::answer_ping},
      {{metrics, "/healthz/ping", false, nullptr,
        "ok while the process runs."},
       &HttpPages::answer_ping_of_process},
      {{metrics, "/proxyMode", false, nullptr,
        "Id of the active backend."},
       &HttpPages::answer_proxy_mode},
      {{metrics, "/configz", false, nullptr,
        "The running configuration with every default. JSON."},
       &HttpPages::answer_configz},
      {{metrics, "/statusz", false, &ServeSettings::statusz,
        "Start time, age, version, emulated Kubernetes version, and paths. The first line is sluiced statusz."},
       &HttpPages::answer_statusz},
      {{metrics, "/flagz", false, &ServeSettings::flagz,
        "Every flag with its value. The first line is sluiced flagz."},
       &HttpPages::answer_flagz},
      {{metrics, "/sync", false, nullptr,
        "As on the health address."},
       &HttpPages::answer_sync},
      {{metrics, "/debug/flags/v", false, &ServeSettings::profiling,
        "PUT with a number as body sets the log verbosity until the process ends or a reload changes the logging "
        "settings. Other methods: 406."},
       &HttpPages::answer_verbosity},
      {{metrics, "/debug/flags", true, &ServeSettings::profiling,
        "Names of the flags that can be set."},
       &HttpPages::answer_flags},
      {{metrics, "/debug/pprof", true, &ServeSettings::profiling,
        "Always 404: sluiced is not a Go program. Use perf(1) on the process."},
       &HttpPages::answer_pprof},
  });
  return kPages;
}
// clang-format on

std::vector<PagePath> page_paths() {
  std::vector<PagePath> out;
  for (const auto& page : HttpPages::pages()) out.push_back(page.where);
  return out;
}

HttpResponse HttpPages::answer(PageServer server, const HttpRequest& request) {
  const std::string_view path = request.path;
  const auto settings = settings_.get();
  for (const Page& page : pages()) {
    if (page.where.server != server || !path.starts_with(page.where.path)) continue;
    const std::string_view rest = path.substr(page.where.path.size());
    if (!rest.empty() && !(page.where.below && rest.front() == '/')) continue;
    if (page.where.only_with != nullptr && !(settings->serve.*page.where.only_with)) continue;
    return (this->*page.answer)(request);
  }
  return not_found();
}

HttpResponse HttpPages::answer_healthz(const HttpRequest&) {
  HttpResponse out = healthz(health());
  sources_.answered_healthz(out.status);
  return out;
}

HttpResponse HttpPages::answer_livez(const HttpRequest&) {
  HttpResponse out = livez(health());
  sources_.answered_livez(out.status);
  return out;
}

HttpResponse HttpPages::answer_readyz(const HttpRequest&) { return readyz(health()); }

HttpResponse HttpPages::answer_sync(const HttpRequest&) { return sync_ages(health()); }

HttpResponse HttpPages::answer_metrics(const HttpRequest& request) {
  return exposition(request.accept, process_.started, sources_.metrics_text());
}

HttpResponse HttpPages::answer_slis(const HttpRequest& request) {
  if (request.method == "DELETE") {
    ping_.reset();
    return {.body = "metrics reset\n"};
  }
  return exposition(request.accept, process_.started, ping_.slis(process_.started));
}

HttpResponse HttpPages::answer_ping(const HttpRequest& request) { return ping_.answer(request.query); }

HttpResponse HttpPages::answer_ping_of_process(const HttpRequest&) { return {.body = "ok"}; }

HttpResponse HttpPages::answer_proxy_mode(const HttpRequest&) { return text(200, settings_.get()->backend); }

HttpResponse HttpPages::answer_configz(const HttpRequest&) {
  const auto settings = settings_.get();
  const std::string& configuration = settings->kube_proxy_configuration;
  return {200,
          "application/json",
          "{\"kubeproxy.config.k8s.io\":" + (configuration.empty() ? "{}" : configuration) + "}",
          {{"X-Content-Type-Options", "nosniff"}}};
}

HttpResponse HttpPages::answer_statusz(const HttpRequest& request) { return statusz(status_page(), request.accept); }

HttpResponse HttpPages::answer_flagz(const HttpRequest& request) {
  return flagz(settings_.get()->flags, request.accept);
}

HttpResponse HttpPages::answer_flags(const HttpRequest&) { return {200, "text/html; charset=utf-8", kFlagsPage}; }

// /debug/pprof is the profiling endpoint of Go programs.
HttpResponse HttpPages::answer_pprof(const HttpRequest&) {
  return text(404, "Go profiles are not available: sluiced is not a Go program. Use perf(1) on the process.\n");
}

HttpResponse HttpPages::answer_verbosity(const HttpRequest& request) {
  if (request.method != "PUT") return flag_answer(406, "unsupported http method");
  const auto value = lib::parse_number(request.body, 0);
  if (!value) {
    return flag_answer(
        400, "error setting verbosity: \"" + request.body.substr(0, 100) + "\" is not a non-negative integer");
  }
  sources_.set_verbosity(*value);
  return flag_answer(200, "successfully set klog.logging.verbosity to " + request.body);
}

StatusPage HttpPages::status_page() const {
  std::vector<std::string> paths{"/configz", "/healthz", "/metrics", "/proxyMode", "/sync"};
  if (settings_.get()->serve.flagz) paths.insert(paths.begin() + 1, "/flagz");
  return {.started = process_.started,
          .now = std::chrono::system_clock::now(),
          .version = process_.version,
          .emulation_version = process_.emulation_version,
          .paths = std::move(paths)};
}

}  // namespace sluice::observe
