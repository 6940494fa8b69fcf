// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The HTTP servers: health on one address, metrics and debug pages on another (BEH 10.1,
// 10.3). Maps paths to the PageSources that answer. Pages about settings show the running
// configuration. As a reload part it changes addresses, binding the new one before it closes
// the old one.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/settings.hpp"
#include "core/config/settings_cell.hpp"
#include "core/model/node.hpp"
#include "core/observe/events/event_table.hpp"
#include "core/observe/health/ping_health.hpp"
#include "core/observe/health/proxy_health.hpp"
#include "core/observe/http/http_server.hpp"
#include "core/observe/pages/zpages.hpp"
#include "core/reload/part.hpp"
#include "lib/status.hpp"

namespace sluice::observe {

// All must be quick and thread-safe: the threads of the servers call them, the thread of start() calls
// bind_failed_hard(), and any thread that asks for the health calls families().
class PageSources {
 public:
  virtual ~PageSources() = default;
  virtual std::vector<FamilyHealth> families() = 0;
  virtual std::string metrics_text() = 0;
  virtual void answered_healthz(int code) = 0;
  virtual void answered_livez(int code) = 0;
  virtual void set_verbosity(int verbosity) = 0;
  // A bind failure that ends the daemon: kube-proxy's event reason, and the sentence.
  virtual void bind_failed_hard(const std::string& reason, const std::string& sentence) = 0;
};

enum class PageServer : std::uint8_t { health, metrics };

// A path that a server answers.
struct PagePath {
  PageServer server = PageServer::health;
  std::string_view path{};
  bool below = false;                                // also every path below it
  bool config::ServeSettings::*only_with = nullptr;  // null: always served
  std::string_view answer{};                         // phrase for docs/reference/paths.md
};
// In the order of the documentation.
std::vector<PagePath> page_paths();

struct ProcessInfo {
  std::string version;                                  // this build
  std::string emulation_version;                        // of Kubernetes, "1.36"
  WallTime started = std::chrono::system_clock::now();  // of the process
};

class HttpPages final : public reload::ReloadPart {
 public:
  // The settings and the sources must outlive it.
  HttpPages(const config::SettingsCell& settings, PageSources& sources, ProcessInfo process);
  ~HttpPages() override;  // stops
  HttpPages(const HttpPages&) = delete;
  HttpPages& operator=(const HttpPages&) = delete;

  // Fails only if an address cannot be bound and bindAddressHardFail is set.
  lib::Status start();
  // Afterwards no source is called any more, except by proxy_healthy().
  void stop();

  // [any thread] Updates the state of the own Node object; never waits.
  void set_node(const std::optional<model::Node>& node);
  // [any thread] Whether all families are healthy; ignores the node.
  bool proxy_healthy() const;

  bool concerned(const config::Settings& from, const config::Settings& to) const override;
  lib::Status prepare(const config::Settings& from, const config::Settings& to) override;
  reload::Committed commit() override;
  void abandon() override;

 private:
  struct Server {
    const char* name;
    std::string_view reason;  // kube-proxy's event reason
    HttpHandler handler;
    std::unique_ptr<HttpServer> running{};
    std::uint16_t port = 0;  // of `running`
    // Between prepare() and commit() or abandon().
    bool changed = false;
    std::optional<lib::SocketAddress> where{};
    std::unique_ptr<HttpServer> next{};
  };

  struct Page {
    PagePath where;
    HttpResponse (HttpPages::*answer)(const HttpRequest&);
  };
  friend std::vector<PagePath> page_paths();
  static std::span<const Page> pages();

  ProxyHealth health() const;
  void start(Server& server, const std::optional<lib::SocketAddress>& where);
  lib::Status listen(HttpServer& server, std::uint16_t port);
  lib::Status prepare(Server& server, const std::optional<lib::SocketAddress>& from,
                      const std::optional<lib::SocketAddress>& to);
  HttpResponse answer(PageServer server, const HttpRequest& request);
  HttpResponse answer_configz(const HttpRequest& request);
  HttpResponse answer_flagz(const HttpRequest& request);
  HttpResponse answer_flags(const HttpRequest& request);
  HttpResponse answer_healthz(const HttpRequest& request);
  HttpResponse answer_livez(const HttpRequest& request);
  HttpResponse answer_metrics(const HttpRequest& request);
  HttpResponse answer_ping(const HttpRequest& request);
  HttpResponse answer_ping_of_process(const HttpRequest& request);
  HttpResponse answer_pprof(const HttpRequest& request);
  HttpResponse answer_proxy_mode(const HttpRequest& request);
  HttpResponse answer_readyz(const HttpRequest& request);
  HttpResponse answer_slis(const HttpRequest& request);
  HttpResponse answer_statusz(const HttpRequest& request);
  HttpResponse answer_sync(const HttpRequest& request);
  HttpResponse answer_verbosity(const HttpRequest& request);
  StatusPage status_page() const;

  const config::SettingsCell& settings_;
  PageSources& sources_;
  const ProcessInfo process_;
  std::atomic<bool> node_eligible_{false};
  PingHealth ping_;
  lib::Status hard_failure_;
  Server health_server_{"health server", event_table::kHealthServer.reason,
                        [this](const HttpRequest& request) { return answer(PageServer::health, request); }};
  Server metrics_server_{"metrics server", event_table::kMetricsServer.reason,
                         [this](const HttpRequest& request) { return answer(PageServer::metrics, request); }};
};

}  // namespace sluice::observe
