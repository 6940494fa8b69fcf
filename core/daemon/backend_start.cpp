// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/daemon/backend_start.hpp"

#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <future>
#include <string>
#include <utility>

#include "core/base/log_messages.hpp"
#include "core/lifecycle/backend_details.hpp"
#include "lib/text.hpp"

namespace sluice::daemon {
namespace {

// When a starting backend is first reported as hanging; reported again after twice, four times… that time.
constexpr std::chrono::seconds kHangThreshold{10};
constexpr std::chrono::milliseconds kPollInterval{100};

// SIGTERM or SIGINT, which are blocked.
bool stop_signal_pending() {
  sigset_t waiting;
  sigpending(&waiting);
  return sigismember(&waiting, SIGTERM) == 1 || sigismember(&waiting, SIGINT) == 1;
}

}  // namespace

lib::Status BackendStart::run(const config::Settings& settings) {
  const auto begun = clock_.now();
  auto next_report = begun + kHangThreshold;
  auto started = std::async(std::launch::async, [this, &settings] { return start(settings); });
  while (started.wait_for(kPollInterval) == std::future_status::timeout) {
    const auto took = clock_.now() - begun;
    // The backend may never return. It has received no Service yet, so its kernel state is not half written.
    if (took >= kHangThreshold && stop_signal_pending()) {
      base::log(base::message::kStartAbandoned, "stopping although the start of the backend has not returned");
      std::_Exit(0);
    }
    if (clock_.now() < next_report) continue;
    report(settings, took);
    next_report = clock_.now() + took;
    hangs_();
  }
  return started.get();
}

void BackendStart::report(const config::Settings& settings, lib::Clock::Duration since_start) {
  const auto seconds = [](lib::Clock::Duration time) {
    return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(time).count()) + " s";
  };
  std::string text = lib::joined(backends_.starting(), "; ", [&](const auto& one) {
    return "backend " + one.loop.backend + " (" + std::string(lib::family_name(one.loop.family)) + "): " + one.call +
           " has not returned for " + seconds(clock_.now() - one.since);
  });
  if (text.empty()) text = "backend " + settings.backend + " has not started for " + seconds(since_start);
  base::log(base::message::kBackendStartSlow, text, {{"backend", settings.backend}});
  notifier_.notify("STATUS=" + text);
}

lib::Status BackendStart::start(const config::Settings& settings) {
  node_.kernel_part().read_conntrack_tcp_liberal();
  auto plugin = backends_.load(settings);
  if (!plugin) return plugin.status();
  start_trace_.backend_loaded();
  model::WantedDetails details;
  details.add(lifecycle::details_of(**plugin));
  delivery_.set_details(std::make_shared<const model::WantedDetails>(std::move(details)));
  delivery_.set_service_cidrs((*plugin)->has(abi::kFeatureServiceCidrs), settings);
  const auto support = backends_.start(settings, std::move(*plugin));
  if (!support) return support.status();
  if (auto status = node_.choose_families(settings, *support); !status.ok()) return status;
  if (auto status = node_.check(settings); !status.ok()) return status;
  delivery_.store().set_families(node_.usable_families());
  return backends_.subscribe(settings, node_.usable_families());
}

}  // namespace sluice::daemon
