// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A fake daemon that records all calls.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sluice/abi/host.hpp"
#include "sluice/abi/metrics.hpp"
#include "sluice/abi/relay.hpp"
#include "sluice/sdk/service.hpp"
#include "sluice/sdk/views.hpp"
#include "test/unit/common/log_line.hpp"

namespace sluice::test {

class FakeHost final : public abi::Host, public abi::HostRelay {
 public:
  void log(abi::Severity severity, abi::StringView text) noexcept override {
    lines.emplace_back(severity, log_line(text));
  }
  std::int32_t log_enabled(abi::Severity) noexcept override { return 1; }
  void metric(abi::MetricKind kind, abi::StringView name, abi::StringView labels, double value) noexcept override {
    double& held = metrics[std::string(sdk::text(name)) + "{" + std::string(sdk::text(labels)) + "}"];
    held = kind == abi::MetricKind::kCounterAdd ? held + value : value;
  }
  void event(abi::Severity, abi::StringView reason, abi::StringView, const abi::ServicePortKey*) noexcept override {
    events.emplace_back(sdk::text(reason));
  }
  std::uint64_t now() noexcept override {
    clock += step;
    return clock;
  }
  void request_resync(abi::StringView reason) noexcept override { resyncs.emplace_back(sdk::text(reason)); }
  void report_unhealthy(abi::StringView) noexcept override {}
  void service_port_failed(const abi::ServicePortKey* key, const abi::Error* error) noexcept override {
    if (error == nullptr) {
      served.push_back(sdk::service_port_id(*key));
      return;
    }
    failed.emplace_back(sdk::service_port_name(*key) + ": " + error->message);
    failed_ids.insert(sdk::service_port_id(*key));
  }
  void* extension(abi::StringView id) noexcept override {
    if (sdk::text(id) == abi::kHostMetrics) return declared_metrics;
    return sdk::text(id) == abi::kHostRelay ? static_cast<abi::HostRelay*>(this) : nullptr;
  }
  void set_relay_ports(const abi::ServicePortKey* key, abi::ArrayView ports) noexcept override {
    const auto range = sdk::range<std::uint16_t>(ports);
    relayed[sdk::service_port_name(*key)] = std::vector<std::uint16_t>(range.begin(), range.end());
  }

  abi::HostMetrics* declared_metrics = nullptr;  // null: a daemon of minor 0
  std::vector<std::pair<abi::Severity, std::string>> lines;
  std::map<std::string, double> metrics;
  std::vector<std::string> events;
  std::vector<std::string> failed;
  std::set<std::string> failed_ids;  // with their protocols; never cleared
  std::vector<std::string> served;   // service ports whose failure was cleared
  // Each failed service port once, however many tries it took.
  std::size_t not_programmed() const { return std::set<std::string>(failed.begin(), failed.end()).size(); }
  std::vector<std::string> resyncs;
  std::map<std::string, std::vector<std::uint16_t>> relayed;  // by printed name; the last report
  std::uint64_t clock = 0;
  std::uint64_t step = 1;  // each read of the clock advances it by this
};

}  // namespace sluice::test
