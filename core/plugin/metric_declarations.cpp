// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/plugin/metric_declarations.hpp"

#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "sluice/sdk/views.hpp"

namespace sluice::plugin {
namespace {

constexpr std::size_t kMaxMetrics = 500;
constexpr std::size_t kMaxLabels = 16;
constexpr std::size_t kMaxBuckets = 200;
constexpr std::size_t kMaxText = 1000;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_text(std::string_view text) {
  return text.size() <= kMaxText && simdjson::validate_utf8(text.data(), text.size()) &&
         std::none_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; });
}

// The name in a message, however wrong it is.
std::string shown(std::string_view name) {
  std::string out(name.substr(0, kMaxMetricNameLength));
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) c = '?';
  }
  return "'" + out + "'";
}

std::string fault_of_labels(const abi::MetricSpec& spec, const std::vector<std::string>& labels) {
  for (const std::string& label : labels) {
    if (!is_label_name(label)) {
      return "the label " + shown(label) + " has other characters than letters, digits and _, or begins with __ or a digit";
    }
    if (std::count(labels.begin(), labels.end(), label) > 1) return "the label " + shown(label) + " occurs twice";
    if (label == "ip_family" && (spec.flags & abi::kMetricByFamily) != 0) {
      return "the daemon adds the label 'ip_family' (kMetricByFamily); remove it from the labels";
    }
    if (label == "le" && spec.metric_type == abi::MetricType::kHistogram) return "a histogram cannot have the label 'le'";
  }
  return {};
}

std::string fault_of_buckets(const abi::MetricSpec& spec, const std::vector<double>& buckets) {
  if (spec.metric_type != abi::MetricType::kHistogram) {
    return buckets.empty() ? std::string() : "only a histogram has buckets; remove them";
  }
  if (buckets.empty()) return "a histogram needs buckets";
  if (!std::all_of(buckets.begin(), buckets.end(), [](double bound) { return std::isfinite(bound); })) {
    return "a bucket is not finite; the daemon adds +Inf";
  }
  if (std::adjacent_find(buckets.begin(), buckets.end(), std::greater_equal<>()) != buckets.end()) {
    return "its buckets do not ascend";
  }
  return {};
}

}  // namespace

bool is_metric_name(std::string_view name) {
  const auto first = [](char c) { return is_letter(c) || c == ':'; };
  return !name.empty() && name.size() <= kMaxMetricNameLength && first(name.front()) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return first(c) || is_digit(c); });
}

bool is_label_name(std::string_view name) {
  return !name.empty() && is_letter(name.front()) && !name.starts_with("__") &&
         std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || is_digit(c); });
}

lib::Result<MetricDeclarations> read_metric_declarations(const abi::PluginEntry& entry) {
  MetricDeclarations out;
  const auto specs = sdk::range<abi::MetricSpec>(entry.metrics);
  const auto fault = [](const std::string& text) { return lib::Status{lib::StatusCode::invalid, text}; };
  if (specs.size() > kMaxMetrics) {
    return fault("it declares " + std::to_string(specs.size()) + " metrics; at most " + std::to_string(kMaxMetrics) +
                 " are allowed");
  }
  for (const abi::MetricSpec& spec : specs) {
    const std::string_view name = sdk::text(spec.name);
    const auto wrong = [&](const std::string& text) { return fault("metric " + shown(name) + ": " + text); };
    if (!is_metric_name(name)) {
      return wrong("a name has up to 200 letters, digits, _ and :, and does not begin with a digit");
    }
    const bool known = spec.metric_type >= abi::MetricType::kCounter && spec.metric_type <= abi::MetricType::kHistogram;
    if (!known && (entry.minor <= abi::kMinor || spec.metric_type == abi::MetricType{})) {
      return wrong("its type " + std::to_string(static_cast<std::uint32_t>(spec.metric_type)) +
                   " is unknown; use kCounter, kGauge or kHistogram");
    }
    const auto names = sdk::range<abi::StringView>(spec.labels);
    const auto bounds = sdk::range<double>(spec.buckets);
    if (names.size() > kMaxLabels) return wrong("it has more than " + std::to_string(kMaxLabels) + " labels");
    if (bounds.size() > kMaxBuckets) return wrong("it has more than " + std::to_string(kMaxBuckets) + " buckets");
    if (spec.help.size == 0) return wrong("it has no HELP text");
    if (!is_text(sdk::text(spec.help)) || !is_text(sdk::text(spec.note))) {
      return wrong("its HELP text or note is no line of UTF-8 with at most " + std::to_string(kMaxText) + " bytes");
    }
    DeclaredMetric metric;
    metric.type = spec.metric_type;
    metric.by_family = (spec.flags & abi::kMetricByFamily) != 0;
    metric.per_service = (spec.flags & abi::kMetricPerService) != 0;
    metric.help = sdk::text(spec.help);
    metric.note = sdk::text(spec.note);
    for (const abi::StringView& label : names) metric.labels.emplace_back(sdk::text(label));
    for (const double bound : bounds) metric.buckets.push_back(bound);
    if (std::string text = fault_of_labels(spec, metric.labels); !text.empty()) return wrong(text);
    if (known) {
      if (std::string text = fault_of_buckets(spec, metric.buckets); !text.empty()) return wrong(text);
    }
    if (out.contains(name)) return wrong("it is declared twice");
    if (known) out.emplace(name, std::move(metric));
  }
  return out;
}

}  // namespace sluice::plugin
