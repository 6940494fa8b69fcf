// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What others read from the daemon over HTTP: health on one address, metrics and debug
// pages on another (BEH 10.1, 10.3). Knows paths; who knows the answers is given to it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/app/config/settings.hpp"
#include "core/base/status.hpp"
#include "core/model/node.hpp"
#include "core/serve/http_server.hpp"
#include "core/serve/proxy_health.hpp"

namespace sluice::app {

// Asked on the threads of the servers; all must be quick and safe to call from any thread.
struct ObserveSources {
  std::function<std::vector<serve::FamilyHealth>()> families;
  std::function<std::string()> metrics_text;
  std::function<void(int code)> answered_healthz;
  std::function<void(int code)> answered_livez;
  std::function<void(int verbosity)> set_verbosity;
  // An address that cannot be bound ends the daemon: why as kube-proxy calls it, and the sentence.
  std::function<void(const std::string& reason, const std::string& sentence)> bind_failed_hard;
  std::string version;
};

class Observe {
 public:
  Observe(const Settings& settings, ObserveSources sources);
  ~Observe();  // stops
  Observe(const Observe&) = delete;
  Observe& operator=(const Observe&) = delete;

  // Fails only when an address cannot be bound and the settings make that an error.
  base::Status start();
  // Afterwards the sources are not asked any more, but for proxy_healthy().
  void stop();

  // [any thread] What is known of our Node object now; never waits.
  void set_node(const std::optional<model::Node>& node);
  // [any thread] All families healthy; says nothing about the node.
  bool proxy_healthy() const;

 private:
  serve::ProxyHealth health() const;
  std::unique_ptr<serve::HttpServer> make_server(const char* name, const base::SocketAddress& where, const char* reason,
                                                 serve::HttpHandler handler);
  serve::HttpResponse answer_health(const serve::HttpRequest& request);
  serve::HttpResponse answer_metrics(const serve::HttpRequest& request);
  serve::HttpResponse debug_page(const serve::HttpRequest& request);
  serve::HttpResponse set_verbosity(const serve::HttpRequest& request);
  std::string slis() const;
  std::string statusz() const;

  const Settings& settings_;
  const ObserveSources sources_;
  const serve::WallTime started_ = std::chrono::system_clock::now();
  std::atomic<bool> node_eligible_{false};
  std::uint64_t pings_ = 0;  // of /healthz on the metrics address; its server's thread only
  base::Status hard_failure_;
  std::unique_ptr<serve::HttpServer> health_server_;
  std::unique_ptr<serve::HttpServer> metrics_server_;
};

}  // namespace sluice::app
