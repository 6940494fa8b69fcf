// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/daemon/daemon.hpp"

#include <signal.h>
#include <string.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "core/base/log_messages.hpp"
#include "core/daemon/supervision.hpp"
#include "core/node/local_detector.hpp"

namespace sluice::daemon {
namespace {

// BEH 1.4: how long NodeCIDR waits for the controller manager to allocate the pod CIDR.
constexpr std::chrono::minutes kPodCidrTimeout{5};

// One of the signals, or a negative number after the timeout.
int wait_for(const sigset_t& signals, const std::optional<lib::Clock::Duration>& timeout) {
  timespec time{};
  if (timeout) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(*timeout);
    time.tv_sec = seconds.count();
    time.tv_nsec = std::chrono::duration_cast<std::chrono::nanoseconds>(*timeout - seconds).count();
  }
  return sigtimedwait(&signals, nullptr, timeout ? &time : nullptr);
}

}  // namespace

Daemon::Daemon(lib::Clock::Time begun, config::Settings settings, reload::ReadSettings read_again,
               base::Notifier notifier, std::vector<base::PassedDescriptor> passed)
    : settings_(std::move(settings)),
      node_name_(settings_.get()->node_name),
      notifier_(std::move(notifier)),
      state_dir_(settings_.get()->state_dir),
      reports_(node_name_, clock_, begun, [this] { return servers_.http().proxy_healthy(); }),
      node_(settings_, *this),
      delivery_(node_name_, store_callbacks(), node_, reports_, clock_),
      descriptors_(notifier_, std::move(passed)),
      backends_({state_dir_, delivery_.store(), reports_.metrics(), reports_.start_trace(), reports_.events(), reports_.service_health(),
                 descriptors_, clock_, node_name_}),
      servers_(state_dir_.control_socket(), settings_, reports_, delivery_, backends_, clock_),
      reloads_({settings_, notifier_, reports_, node_.kernel_part(), servers_.http(), delivery_, backends_, clock_},
               std::move(read_again)),
      parts_(parts()) {
  servers_.add_reloads(reloads_.reloader());
}

Daemon::~Daemon() { parts_.stop(); }

snapshot::StoreThread::Callbacks Daemon::store_callbacks() {
  return {[this](lib::Family family, const std::optional<model::Node>& node, snapshot::SettingsStage of) {
    servers_.http().set_node(node);
    return node_.facts(family, node, of == snapshot::SettingsStage::pending ? reloads_.swap_settings() : nullptr);
  }};
}

lib::Status Daemon::run() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGHUP);
  Supervision supervision(notifier_);
  supervision.ready();
  std::optional<lib::Clock::Duration> watchdog = supervision.interval();
  for (;;) {
    if (watchdog) supervision.report(servers_.state().supervised());
    // A reload may have changed it.
    const bool wait_for_pod_cidrs = settings_.get()->local_detector.mode == node::DetectLocalMode::node_cidr;
    std::optional<lib::Clock::Duration> interval = watchdog;
    if (wait_for_pod_cidrs) {
      const lib::Clock::Duration second = std::chrono::seconds(1);
      interval = std::min(interval.value_or(second), second);
    }
    const int caught = wait_for(signals, interval);
    if (caught == SIGHUP) {
      reloads_.reloader().request("SIGHUP");
      continue;
    }
    if (caught > 0) {
      supervision.stopping("rules stay in the kernel");
      base::log(base::message::kDaemonStopping,
                std::string("stopping on ") + strsignal(caught) + "; rules stay in the kernel",
                {{"signal", strsignal(caught)}});
      parts_.stop();
      return {};
    }
    if (wait_for_pod_cidrs) {
      if (auto status = check_pod_cidrs(); !status.ok()) {
        parts_.stop();
        return status;
      }
    }
  }
}

lib::Status Daemon::check_pod_cidrs() {
  if (auto status = node_.fatal(); !status.ok()) return status;
  if (clock_.now() - started_ < kPodCidrTimeout) return {};
  const auto status = delivery_.store().status();
  if (status.facts_known) return {};
  return lib::not_found(status.node ? "node " + node_name_ +
                                          " has no spec.podCIDRs, which detectLocalMode NodeCIDR needs: let the "
                                          "controller manager allocate them, or set another detectLocalMode"
                                    : "node " + node_name_ +
                                          " does not exist, which detectLocalMode NodeCIDR needs: check "
                                          "--hostname-override");
}

}  // namespace sluice::daemon
