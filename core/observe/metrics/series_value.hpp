// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The value of one series of a backend. Any thread; updates take no lock and allocate nothing.
#pragma once

#include <prometheus/client_metric.h>
#include <prometheus/metric_type.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace sluice::observe {

// Why an update was dropped.
enum class ValueFault : std::uint8_t { none, not_a_number, decreases, other_type };
inline constexpr std::size_t kValueFaults = 4;
std::string_view value_fault_text(ValueFault fault);

class SeriesValue {
 public:
  // `bounds`: of a histogram, otherwise empty; must outlive this.
  SeriesValue(prometheus::MetricType type, const std::vector<double>& bounds);

  ValueFault add(double value) noexcept;
  ValueFault set(double value) noexcept;
  ValueFault observe(double value) noexcept;
  // The buckets of a histogram are read one after the other: observations meanwhile may be in the sum only.
  void read(prometheus::ClientMetric& to) const;

 private:
  const prometheus::MetricType type_;
  const std::vector<double>& bounds_;
  std::atomic<double> value_{0};                     // the sum of a histogram
  std::vector<std::atomic<std::uint64_t>> buckets_;  // of a histogram; the last is +Inf
};

}  // namespace sluice::observe
