// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Declares the metrics of a backend (since minor 1), and updates them without locks and without text.
#pragma once

#include "sluice/abi/host.hpp"

namespace sluice::abi {

// A metric of an unknown type is dropped and counted.
enum class MetricType : std::uint32_t { kCounter = 1, kGauge = 2, kHistogram = 3 };

// Flags of a MetricSpec.
enum MetricFlag : std::uint32_t {
  kMetricByFamily = 1u << 0,    // the daemon adds the label ip_family, with the family of the object
  kMetricPerService = 1u << 1,  // one series or more for each Service: a higher limit for the number of series
};

// Growing. Since minor 1. An element of PluginEntry::metrics: at most 500, with unique names. The daemon rejects a plugin
// with an invalid element.
struct MetricSpec {
  // "example_dpu_flows_total": up to 200 letters, digits, '_' and ':', not beginning with a digit. Unless it is a metric of
  // kube-proxy ("kubeproxy_…"), begin it with a prefix of your own.
  StringView name;
  MetricType metric_type;
  std::uint32_t flags;  // MetricFlag
  StringView help;      // the HELP text: one sentence, up to 1,000 bytes
  StringView note;      // more for the documentation; may be empty
  ArrayView labels;     // StringView: up to 16 names, without ip_family. A name does not begin with "__"
  // double: up to 200 upper bounds of a histogram, ascending and finite. The daemon adds +Inf. Other types have none.
  ArrayView buckets;
};
static_assert(sizeof(MetricSpec) == 104 && offsetof(MetricSpec, metric_type) == 16 && offsetof(MetricSpec, help) == 24 &&
              offsetof(MetricSpec, labels) == 56 && offsetof(MetricSpec, buckets) == 80);

// One series of a metric. Implemented by the daemon. Every method may be called from any thread, does not block, and takes
// no lock. A call that does not fit the type of the metric, or a value that is not a number, is dropped and counted. This
// class never grows.
class MetricSeries {
 public:
  // Adds to a counter or gauge. A counter does not take negative values.
  virtual void add(double value) noexcept = 0;
  // Sets a gauge, or the total of a counter that is kept elsewhere, for example in the kernel.
  virtual void set(double value) noexcept = 0;
  // Adds an observation to a histogram.
  virtual void observe(double value) noexcept = 0;

 protected:
  ~MetricSeries() = default;
};

// The id for Host::extension(), which returns a `HostMetrics*`. It is valid as long as the host.
inline constexpr char kHostMetrics[] = "sluice.host.metrics/1";

// "sluice.host.metrics/1".
//
// Every method may be called from any thread. This class never grows.
class HostMetrics {
 public:
  // Returns the series of a declared metric, which exists with value 0 from then on, or with its present value: objects
  // of both families, active and draining ones, and Host::metric() share a series with the same labels. `label_values`:
  // elements are StringView in UTF-8, one for each name in MetricSpec::labels, in that order; an empty value omits the
  // label. The result is the same for the same arguments, and valid until remove(), or until release() of the backend
  // returns; the series keeps its value then. Null, with the reason in `error`, if the metric is not declared, the number
  // of values or a value is wrong, the daemon or another plugin has a metric of that name and another type, or the plugin
  // has too many series: 1,000, and 250,000 with kMetricPerService. `error` may be null. May lock: keep the result instead
  // of calling it for each update.
  virtual MetricSeries* series(StringView name, ArrayView label_values, Error* error) noexcept = 0;

  // Removes a series, which this object must not use afterwards. It disappears when no other object uses it. Null is
  // ignored.
  virtual void remove(MetricSeries* series) noexcept = 0;

 protected:
  ~HostMetrics() = default;
};

}  // namespace sluice::abi
