// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/metrics/plugin_metrics.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

#include "core/base/log_messages.hpp"
#include "core/observe/metrics/catalogue.hpp"
#include "core/observe/metrics/label_text.hpp"
#include "core/plugin/host_services.hpp"

namespace sluice::observe {
namespace {

using prometheus::MetricType;

constexpr std::string_view kOfKubeProxy = "kubeproxy_";
constexpr auto kReservedPrefixes = std::to_array<std::string_view>(
    {"aggregator_", "apiserver_", "cardinality_enforcement_", "disabled_metrics_", "go_", "hidden_metrics_",
     "informer_", kOfKubeProxy, "kubernetes_", "leader_election_", "process_", "registered_metrics_", "rest_client_",
     "workqueue_"});

bool is_reserved(std::string_view name, bool declared) {
  return std::any_of(kReservedPrefixes.begin(), kReservedPrefixes.end(), [&](std::string_view prefix) {
    return name.starts_with(prefix) && !(declared && prefix == kOfKubeProxy);
  });
}

std::optional<MetricType> type_of(abi::MetricKind kind) {
  switch (kind) {
    case abi::MetricKind::kCounterAdd:
    case abi::MetricKind::kCounterSet:
      return MetricType::Counter;
    case abi::MetricKind::kGaugeSet:
      return MetricType::Gauge;
    case abi::MetricKind::kHistogramObserve:
      return MetricType::Histogram;
  }
  return std::nullopt;
}

MetricType type_of(const plugin::DeclaredMetric& metric) {
  switch (metric.type) {
    case abi::MetricType::kCounter:
      return MetricType::Counter;
    case abi::MetricType::kGauge:
      return MetricType::Gauge;
    case abi::MetricType::kHistogram:
      break;
  }
  return MetricType::Histogram;
}

// Suffixes of histogram series, which must not collide with other metrics.
std::string_view without_suffix(std::string_view name) {
  for (const std::string_view suffix : {"_bucket", "_count", "_sum"}) {
    if (name.ends_with(suffix)) return name.substr(0, name.size() - suffix.size());
  }
  return {};
}

constexpr const char* kOtherType = "it is of another type than that name has";

}  // namespace

std::span<const std::string_view> reserved_metric_prefixes() { return kReservedPrefixes; }

// The metrics of one backend object.
class PluginMetrics::Backend final : public plugin::BackendMetrics {
 public:
  Backend(PluginMetrics& to, Plugin& of, lib::Family family, std::shared_ptr<const plugin::MetricDeclarations> declared)
      : owner(of), family_label("ip_family", lib::family_name(family)), registry_(to), declared_(std::move(declared)) {}
  ~Backend() override { registry_.close(*this); }

  void record(abi::MetricKind kind, std::string_view name, std::string_view labels, double value) override {
    registry_.record(*this, kind, name, labels, value);
  }
  abi::MetricSeries* series(std::string_view name, const std::vector<std::string_view>& label_values,
                            std::string& reason) override {
    return registry_.series(*this, name, label_values, reason);
  }
  void remove(abi::MetricSeries* series) override { registry_.remove(*this, series); }

  const plugin::DeclaredMetric* declared(std::string_view name) const {
    if (declared_ == nullptr) return nullptr;
    const auto found = declared_->find(name);
    return found == declared_->end() ? nullptr : &found->second;
  }

  Plugin& owner;
  const std::pair<std::string, std::string> family_label;
  std::unordered_set<abi::MetricSeries*> handles;  // guarded by the mutex of the registry

 private:
  PluginMetrics& registry_;
  const std::shared_ptr<const plugin::MetricDeclarations> declared_;
};

// A series as one backend object uses it: what it drops counts for its plugin.
class PluginMetrics::Handle final : public abi::MetricSeries {
 public:
  Handle(Backend& used_by, const Place& of) : user(used_by), place(of), value_(of.series->second.value) {}
  ~Handle() = default;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  void add(double value) noexcept override { note(value_.add(value)); }
  void set(double value) noexcept override { note(value_.set(value)); }
  void observe(double value) noexcept override { note(value_.observe(value)); }
  bool has(std::size_t fault) const noexcept { return (faults_.load(std::memory_order_relaxed) >> fault & 1) != 0; }

  Backend& user;
  const Place place;

 private:
  void note(ValueFault fault) noexcept {
    if (fault == ValueFault::none) return;
    faults_.fetch_or(std::uint8_t(1u << static_cast<unsigned>(fault)), std::memory_order_relaxed);
    user.owner.faults[static_cast<std::size_t>(fault)].fetch_add(1, std::memory_order_release);
  }

  SeriesValue& value_;
  std::atomic<std::uint8_t> faults_{0};
};

PluginMetrics::Series::Series(MetricType type, const std::vector<double>& bounds, std::size_t& in)
    : value(type, bounds), counted_in(in) {}
PluginMetrics::Series::~Series() = default;

PluginMetrics::PluginMetrics() = default;
PluginMetrics::~PluginMetrics() = default;

std::unique_ptr<plugin::BackendMetrics> PluginMetrics::open(
    const std::string& plugin, lib::Family family, std::shared_ptr<const plugin::MetricDeclarations> declared) {
  const lib::Lock lock(mutex_);
  const auto [of_plugin, is_new] = plugins_.try_emplace(plugin);
  Plugin& of = of_plugin->second;
  if (is_new) of.id = plugin;
  return std::make_unique<Backend>(*this, of, family, std::move(declared));
}

void PluginMetrics::record(Backend& from, abi::MetricKind kind, std::string_view name, std::string_view labels,
                           double value) {
  std::string reason;
  {
    const lib::Lock lock(mutex_);
    reason = try_record(from, kind, name, labels, value);
    if (reason.empty()) return;
    ++from.owner.dropped;
    if (!first_time(from.owner, reason)) return;
  }
  log({{from.owner.id, std::string(name.substr(0, kMaxLabelTextLength)), std::move(reason)}});
}

// Returns the reason for a rejection, or an empty string.
std::string PluginMetrics::try_record(Backend& from, abi::MetricKind kind, std::string_view name,
                                      std::string_view labels, double value) {
  const auto type = type_of(kind);
  if (!type) return "its kind is unknown to this daemon";
  const plugin::DeclaredMetric* const declared = from.declared(name);
  if (declared != nullptr && type_of(*declared) != *type) return kOtherType;
  const Shape shape{*type, declared};
  if (std::string reason = check(name, shape); !reason.empty()) return reason;
  if (std::isnan(value)) return std::string(value_fault_text(ValueFault::not_a_number));
  if (*type == MetricType::Counter && value < 0) return std::string(value_fault_text(ValueFault::decreases));

  auto parsed = parse_labels(labels);
  if (!parsed) return "its labels are not name=\"value\",… with each name once";
  const auto has = [&](std::string_view label) {
    return std::any_of(parsed->begin(), parsed->end(), [&](const auto& one) { return one.first == label; });
  };
  if (*type == MetricType::Histogram && has("le")) return "a histogram cannot have the label le";
  if (declared != nullptr) {
    if (declared->by_family && !has(from.family_label.first)) {
      parsed->insert(std::upper_bound(parsed->begin(), parsed->end(), from.family_label), from.family_label);
    }
    for (const auto& [label, text] : *parsed) {
      if (declared->by_family && label == from.family_label.first) continue;
      if (std::find(declared->labels.begin(), declared->labels.end(), label) == declared->labels.end()) {
        return "it has labels that are not declared";
      }
    }
  }
  Place place;
  if (std::string reason = find_or_make(from.owner, name, shape, std::move(*parsed), place); !reason.empty()) {
    return reason;
  }
  SeriesValue& to = place.series->second.value;
  switch (kind) {
    case abi::MetricKind::kCounterAdd:
      to.add(value);
      break;
    case abi::MetricKind::kCounterSet:
    case abi::MetricKind::kGaugeSet:
      to.set(value);
      break;
    case abi::MetricKind::kHistogramObserve:
      to.observe(value);
      break;
  }
  return {};
}

abi::MetricSeries* PluginMetrics::series(Backend& from, std::string_view name,
                                         const std::vector<std::string_view>& label_values, std::string& reason) {
  std::vector<Dropped> to_log;
  Handle* out = nullptr;
  {
    const lib::Lock lock(mutex_);
    note_faults(from.owner, to_log);
    reason = try_series(from, name, label_values, out);
    if (!reason.empty()) {
      ++from.owner.dropped;
      if (first_time(from.owner, reason)) {
        to_log.push_back({from.owner.id, std::string(name.substr(0, kMaxLabelTextLength)), reason});
      }
    }
  }
  log(to_log);
  return out;
}

std::string PluginMetrics::try_series(Backend& from, std::string_view name,
                                      const std::vector<std::string_view>& label_values, Handle*& out) {
  const plugin::DeclaredMetric* const declared = from.declared(name);
  if (declared == nullptr) return "the plugin does not declare it";
  if (label_values.size() != declared->labels.size()) {
    return "it has " + std::to_string(declared->labels.size()) + " labels, not " + std::to_string(label_values.size());
  }
  Labels labels;
  std::size_t size = 0;
  for (std::size_t i = 0; i < label_values.size(); ++i) {
    if (!is_label_value(label_values[i])) return "the value of a label is no UTF-8, or too long";
    if (label_values[i].empty()) continue;
    labels.emplace_back(declared->labels[i], label_values[i]);
    size += labels.back().first.size() + labels.back().second.size();
  }
  if (size > kMaxLabelTextLength) return "its labels are too long";
  if (declared->by_family) labels.push_back(from.family_label);
  std::sort(labels.begin(), labels.end());
  const Shape shape{type_of(*declared), declared};
  if (std::string reason = check(name, shape); !reason.empty()) return reason;
  Place place;
  if (std::string reason = find_or_make(from.owner, name, shape, std::move(labels), place); !reason.empty()) {
    return reason;
  }
  out = &handle(from, place);
  return {};
}

void PluginMetrics::remove(Backend& from, abi::MetricSeries* series) {
  std::vector<Dropped> to_log;
  {
    const lib::Lock lock(mutex_);
    if (from.handles.erase(series) == 0) return;
    note_faults(from.owner, to_log);
    let_go(static_cast<Handle&>(*series), true);
  }
  log(to_log);
}

void PluginMetrics::close(Backend& from) {
  std::vector<Dropped> to_log;
  {
    const lib::Lock lock(mutex_);
    note_faults(from.owner, to_log);
    for (abi::MetricSeries* const series : from.handles) let_go(static_cast<Handle&>(*series), false);
    from.handles.clear();
  }
  log(to_log);
}

// Returns why a metric cannot have this name and shape, or an empty string.
std::string PluginMetrics::check(std::string_view name, const Shape& shape) const {
  if (const auto metric = metrics_.find(name); metric != metrics_.end()) {
    return metric->second.type == shape.type ? std::string() : kOtherType;
  }
  if (!plugin::is_metric_name(name)) return "a name has letters, digits, _ and :, and does not begin with a digit";
  if (find_metric(name) != nullptr) return "the daemon has one of that name";
  if (is_reserved(name, shape.declared != nullptr)) return "the beginning of its name is reserved";
  const std::string_view base_name = without_suffix(name);
  if (!base_name.empty() && (find_metric(base_name) != nullptr || metrics_.contains(base_name))) {
    return "its name is that of a part of another metric";
  }
  if (shape.type == MetricType::Histogram && std::any_of(metrics_.begin(), metrics_.end(), [&](const auto& other) {
        return without_suffix(other.first) == name;
      })) {
    return "a part of it would have the name of another metric";
  }
  return {};
}

// REQUIRES: check() has no objection. Returns why there can be no further series, or an empty string.
std::string PluginMetrics::find_or_make(Plugin& plugin, std::string_view name, const Shape& shape, Labels labels,
                                        Place& place) {
  place.metric = metrics_.find(name);
  if (place.metric != metrics_.end()) {
    place.series = place.metric->second.series.find(labels);
    if (place.series != place.metric->second.series.end()) return {};
  }
  const bool per_service = shape.declared != nullptr && shape.declared->per_service;
  const std::size_t most = per_service ? kMaxServiceSeries : kMaxSeries;
  std::size_t& count = per_service ? plugin.service_series : plugin.series;
  if (count >= most) return "the plugin has " + std::to_string(most) + " series already";
  // Made only now, so that a dropped value leaves no empty metric.
  if (place.metric == metrics_.end()) {
    Metric made{shape.type, shape.declared != nullptr ? shape.declared->help : "Reported by plugin " + plugin.id + ".",
                {}};
    if (shape.type == MetricType::Histogram) {
      made.bounds = shape.declared != nullptr ? shape.declared->buckets : bucket_bounds(Buckets::sync);
    }
    place.metric = metrics_.emplace(name, std::move(made)).first;
  }
  Metric& metric = place.metric->second;
  place.series = metric.series
                     .emplace(std::piecewise_construct, std::forward_as_tuple(std::move(labels)),
                              std::forward_as_tuple(metric.type, metric.bounds, count))
                     .first;
  ++count;
  return {};
}

PluginMetrics::Handle& PluginMetrics::handle(Backend& from, const Place& place) {
  Series& series = place.series->second;
  series.removed = false;
  for (const auto& handle : series.handles) {
    if (&handle->user == &from) return *handle;
  }
  auto made = std::make_unique<Handle>(from, place);
  from.handles.insert(made.get());
  series.handles.push_back(std::move(made));
  return *series.handles.back();
}

// One user of a series ends.
void PluginMetrics::let_go(Handle& handle, bool remove) {
  const Place place = handle.place;
  Series& series = place.series->second;
  series.removed = series.removed || remove;
  std::erase_if(series.handles, [&](const auto& one) { return one.get() == &handle; });
  if (!series.handles.empty() || !series.removed) return;
  --series.counted_in;
  Metric& metric = place.metric->second;
  metric.series.erase(place.series);
  if (metric.series.empty()) metrics_.erase(place.metric);
}

bool PluginMetrics::first_time(Plugin& plugin, std::string_view reason) {
  if (plugin.logged.contains(reason)) return false;
  plugin.logged.emplace(reason);
  return true;
}

// Adds the lines about values that updates of its series have dropped.
void PluginMetrics::note_faults(Plugin& plugin, std::vector<Dropped>& to_log) const {
  for (std::size_t fault = 1; fault < kValueFaults; ++fault) {
    if (plugin.faults[fault].load(std::memory_order_acquire) == 0) continue;
    const std::string_view reason = value_fault_text(static_cast<ValueFault>(fault));
    if (!first_time(plugin, reason)) continue;
    const auto has_it = [&](const auto& series) {
      return std::any_of(series.second.handles.begin(), series.second.handles.end(), [&](const auto& handle) {
        return &handle->user.owner == &plugin && handle->has(fault);
      });
    };
    const auto metric = std::find_if(metrics_.begin(), metrics_.end(), [&](const auto& one) {
      return std::any_of(one.second.series.begin(), one.second.series.end(), has_it);
    });
    if (metric != metrics_.end()) to_log.push_back({plugin.id, metric->first, std::string(reason)});
  }
}

void PluginMetrics::log(const std::vector<Dropped>& dropped) {
  for (const Dropped& one : dropped) {
    const std::string name = plugin::one_line(one.name);
    base::log(base::message::kPluginMetricDropped,
              "backend " + std::string(one.plugin) + ": metric \"" + name + "\" dropped: " + one.reason +
                  "; later ones with this reason are only counted in sluice_plugin_metrics_dropped_total",
              {{"backend", one.plugin}, {"name", name}, {"error", one.reason}});
  }
}

std::vector<prometheus::MetricFamily> PluginMetrics::Collect() const {
  const auto client_metric = [](const Labels& labels) {
    prometheus::ClientMetric out;
    for (const auto& [name, value] : labels) out.label.push_back({name, value});
    return out;
  };
  std::vector<prometheus::MetricFamily> out;
  std::vector<Dropped> to_log;
  {
    const lib::Lock lock(mutex_);
    for (const auto& [name, metric] : metrics_) {
      prometheus::MetricFamily family{name, metric.help, metric.type, {}};
      for (const auto& [labels, series] : metric.series) {
        family.metric.push_back(client_metric(labels));
        series.value.read(family.metric.back());
      }
      out.push_back(std::move(family));
    }
    const MetricDefinition* definition = find_metric("sluice_plugin_metrics_dropped_total");
    prometheus::MetricFamily family{std::string(definition->name), std::string(definition->help), definition->type, {}};
    for (auto& [id, plugin] : plugins_) {
      note_faults(plugin, to_log);
      std::uint64_t count = plugin.dropped;
      for (const auto& fault : plugin.faults) count += fault.load(std::memory_order_relaxed);
      if (count == 0) continue;
      prometheus::ClientMetric one = client_metric({{"plugin", id}});
      one.counter.value = static_cast<double>(count);
      family.metric.push_back(std::move(one));
    }
    if (!family.metric.empty()) out.push_back(std::move(family));
  }
  log(to_log);
  return out;
}

}  // namespace sluice::observe
