// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Declares the metrics of a backend, and updates them:
//
//   inline constexpr abi::StringView kResult[] = {sdk::view("result")};
//   inline constexpr auto kWrites = sdk::counter("dpu_writes_total", "Number of writes by result.", "", sdk::array(kResult));
//   inline constexpr auto kRules = sdk::gauge("dpu_rules", "Number of rules in the device.");
//   inline constexpr abi::MetricSpec kMetrics[] = {kWrites, kRules};  // sdk::array(kMetrics) is PluginEntry::metrics
//
//   sdk::Series failed = metrics().series(kWrites, {"failed"});       // in the backend, once
//   failed.add(1);                                                    // cheap, any thread
#pragma once

#include <atomic>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/abi/metrics.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::sdk {

// Declarations. Arguments must be static. With the default flags each family has its own series.
constexpr abi::MetricSpec counter(std::string_view name, std::string_view help, std::string_view note = {},
                                  abi::ArrayView labels = {}, std::uint32_t flags = abi::kMetricByFamily) {
  return {view(name), abi::MetricType::kCounter, flags, view(help), view(note), labels, {}};
}
constexpr abi::MetricSpec gauge(std::string_view name, std::string_view help, std::string_view note = {},
                                abi::ArrayView labels = {}, std::uint32_t flags = abi::kMetricByFamily) {
  return {view(name), abi::MetricType::kGauge, flags, view(help), view(note), labels, {}};
}
constexpr abi::MetricSpec histogram(std::string_view name, std::string_view help, abi::ArrayView buckets,
                                    std::string_view note = {}, abi::ArrayView labels = {},
                                    std::uint32_t flags = abi::kMetricByFamily) {
  return {view(name), abi::MetricType::kHistogram, flags, view(help), view(note), labels, buckets};
}

// A copyable handle of one series. A default one, and one that the daemon refused, does nothing. Any thread. Valid until
// Metrics::remove(), or until the backend is released.
class Series {
 public:
  Series() = default;

  void add(double value) const noexcept {
    if (series_ != nullptr) return series_->add(value);
    if (old_ == nullptr) return;
    if (old_->type == abi::MetricType::kGauge) {
      double sum = old_->gauge.load();
      while (!old_->gauge.compare_exchange_weak(sum, sum + value)) {
      }
      return old_->send(abi::MetricKind::kGaugeSet, sum + value);
    }
    old_->send(abi::MetricKind::kCounterAdd, value);
  }
  void set(double value) const noexcept {
    if (series_ != nullptr) return series_->set(value);
    if (old_ == nullptr) return;
    old_->gauge.store(value);
    old_->send(old_->type == abi::MetricType::kGauge ? abi::MetricKind::kGaugeSet : abi::MetricKind::kCounterSet, value);
  }
  void observe(double value) const noexcept {
    if (series_ != nullptr) return series_->observe(value);
    if (old_ != nullptr) old_->send(abi::MetricKind::kHistogramObserve, value);
  }

 private:
  friend class Metrics;

  // For a daemon of minor 0, which takes each value with a text of the labels.
  struct OldHost {
    OldHost(abi::Host& to, const abi::MetricSpec& metric, std::string with)
        : host(to), name(metric.name), type(metric.metric_type), labels(std::move(with)) {}
    void send(abi::MetricKind kind, double value) const noexcept { host.metric(kind, name, view(labels), value); }

    abi::Host& host;
    const abi::StringView name;
    const abi::MetricType type;
    const std::string labels;
    std::atomic<double> gauge{0};
  };

  abi::MetricSeries* series_ = nullptr;
  std::shared_ptr<OldHost> old_;
};

// The metrics of one backend object. A copyable handle; any thread.
class Metrics {
 public:
  // `host` may be null: then no value is reported.
  Metrics(abi::Host* host, abi::Family family)
      : host_(host), family_(family),
        declared_(host == nullptr ? nullptr
                                  : static_cast<abi::HostMetrics*>(host->extension(view(abi::kHostMetrics)))) {}

  // `metric` must be declared in the descriptor, and static. One value for each label, in order. The daemon logs why it
  // refuses a series. Keep the result: this call looks the series up.
  Series series(const abi::MetricSpec& metric, std::initializer_list<std::string_view> label_values = {}) const {
    Series out;
    if (declared_ != nullptr) {
      std::vector<abi::StringView> labels;
      for (const std::string_view value : label_values) labels.push_back(view(value));
      out.series_ = declared_->series(metric.name, array(labels.data(), labels.size()), nullptr);
    } else if (host_ != nullptr) {
      out.old_ = std::make_shared<Series::OldHost>(*host_, metric, labels_of(metric, label_values));
      // The series exists before its first increment, so that rate() sees it.
      if (metric.metric_type == abi::MetricType::kCounter) out.add(0);
    }
    return out;
  }

  // Removes a series, so that it is not exported any more. A daemon of minor 0 cannot remove it, and gets 0.
  void remove(Series& series) const {
    if (series.series_ != nullptr) declared_->remove(series.series_);
    if (series.old_ != nullptr && series.old_->type != abi::MetricType::kHistogram) series.set(0);
    series = {};
  }

 private:
  std::string labels_of(const abi::MetricSpec& metric, std::initializer_list<std::string_view> label_values) const {
    std::string out;
    const auto add = [&out](std::string_view name, std::string_view value) {
      if (!out.empty()) out += ',';
      out.append(name).append("=\"");
      for (const char c : value) {
        if (c == '\\' || c == '"') out += '\\';
        out += c == '\n' ? std::string("\\n") : std::string(1, c);
      }
      out += '"';
    };
    const std::string_view* value = label_values.begin();
    for (const abi::StringView& name : range<abi::StringView>(metric.labels)) {
      if (value == label_values.end()) break;
      add(text(name), *value++);
    }
    if ((metric.flags & abi::kMetricByFamily) != 0) {
      add("ip_family", family_ == abi::Family::kIpv6 ? "IPv6" : "IPv4");
    }
    return out;
  }

  abi::Host* host_;
  abi::Family family_;
  abi::HostMetrics* declared_;
};

}  // namespace sluice::sdk
