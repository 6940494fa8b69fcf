// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Where the metrics of backends go. Any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/plugin/metric_declarations.hpp"
#include "lib/ip.hpp"
#include "sluice/abi/metrics.hpp"

namespace sluice::plugin {

// The metrics of one backend object. Its series are valid until it is destroyed, and keep their values then.
class BackendMetrics {
 public:
  virtual ~BackendMetrics() = default;
  // As abi::Host::metric(). `labels` is passed through from the plugin.
  virtual void record(abi::MetricKind kind, std::string_view name, std::string_view labels, double value) = 0;
  // As abi::HostMetrics. The result is null with a reason.
  virtual abi::MetricSeries* series(std::string_view name, const std::vector<std::string_view>& label_values,
                                    std::string& reason) = 0;
  virtual void remove(abi::MetricSeries* series) = 0;
};

class MetricSink {
 public:
  virtual ~MetricSink() = default;
  // The metrics of one object of this plugin. `declared` may be null. The sink must outlive the result.
  virtual std::unique_ptr<BackendMetrics> open(const std::string& plugin, lib::Family family,
                                               std::shared_ptr<const MetricDeclarations> declared) = 0;
};

}  // namespace sluice::plugin
