// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/metrics/series_value.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

namespace sluice::observe {

using prometheus::MetricType;

static_assert(std::atomic<double>::is_always_lock_free && std::atomic<std::uint64_t>::is_always_lock_free);

std::string_view value_fault_text(ValueFault fault) {
  static constexpr std::array<std::string_view, kValueFaults> kTexts{
      "", "its value is not a number", "a counter does not go down", "the call does not fit its type"};
  return kTexts[static_cast<std::size_t>(fault)];
}

SeriesValue::SeriesValue(MetricType type, const std::vector<double>& bounds)
    : type_(type), bounds_(bounds), buckets_(type == MetricType::Histogram ? bounds.size() + 1 : 0) {}

ValueFault SeriesValue::add(double value) noexcept {
  if (type_ == MetricType::Histogram) return ValueFault::other_type;
  if (std::isnan(value)) return ValueFault::not_a_number;
  if (type_ == MetricType::Counter && value < 0) return ValueFault::decreases;
  value_.fetch_add(value, std::memory_order_relaxed);
  return ValueFault::none;
}

ValueFault SeriesValue::set(double value) noexcept {
  if (type_ == MetricType::Histogram) return ValueFault::other_type;
  if (std::isnan(value)) return ValueFault::not_a_number;
  if (type_ == MetricType::Counter && value < 0) return ValueFault::decreases;
  value_.store(value, std::memory_order_relaxed);
  return ValueFault::none;
}

ValueFault SeriesValue::observe(double value) noexcept {
  if (type_ != MetricType::Histogram) return ValueFault::other_type;
  if (std::isnan(value)) return ValueFault::not_a_number;
  const auto bucket = std::distance(bounds_.begin(), std::lower_bound(bounds_.begin(), bounds_.end(), value));
  buckets_[static_cast<std::size_t>(bucket)].fetch_add(1, std::memory_order_relaxed);
  value_.fetch_add(value, std::memory_order_relaxed);
  return ValueFault::none;
}

void SeriesValue::read(prometheus::ClientMetric& to) const {
  const double value = value_.load(std::memory_order_relaxed);
  if (type_ == MetricType::Counter) to.counter.value = value;
  if (type_ == MetricType::Gauge) to.gauge.value = value;
  if (type_ != MetricType::Histogram) return;
  to.histogram.sample_sum = value;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    to.histogram.sample_count += buckets_[i].load(std::memory_order_relaxed);
    to.histogram.bucket.push_back({to.histogram.sample_count, i < bounds_.size() ? bounds_[i] : HUGE_VAL});
  }
}

}  // namespace sluice::observe
