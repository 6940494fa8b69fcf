// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/plugin/host_services.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/plugin/codes.hpp"
#include "lib/text.hpp"
#include "sluice/sdk/error.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::plugin {
namespace {

base::LogLevel log_level(abi::Severity severity) {
  switch (severity) {
    case abi::Severity::kError: return base::LogLevel::error;
    case abi::Severity::kWarning: return base::LogLevel::warning;
    case abi::Severity::kInfo: return base::LogLevel::info;
    case abi::Severity::kDebug: return base::LogLevel::debug;
  }
  return base::LogLevel::info;
}

// No exception of the core may reach the plugin. Losing a report when out of memory is better than terminating.
template <class F>
void catch_all(F&& body) noexcept {
  try {
    body();
  } catch (...) {
  }
}

ServicePortName name_of(const abi::ServicePortKey& key) {
  return {one_line(sdk::text(key.service_namespace)), one_line(sdk::text(key.service_name)),
          one_line(sdk::text(key.port_name)), key.protocol};
}

constexpr std::size_t kMaxDescriptorName = 200;

bool is_descriptor_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxDescriptorName && std::all_of(name.begin(), name.end(), [](char c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return letter || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  });
}

}  // namespace

std::string one_line(std::string_view text) {
  std::string line(text);
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return line;
}

std::pair<std::string_view, std::string_view> split_message_id(std::string_view text) {
  constexpr std::size_t kMaxId = 60;
  const std::size_t end = text.find("] ");
  if (!text.starts_with('[') || end == std::string_view::npos || end < 2 || end > kMaxId) return {{}, text};
  const std::string_view id = text.substr(1, end - 1);
  const bool valid = std::all_of(id.begin(), id.end(),
                                 [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
  return valid ? std::pair{id, text.substr(end + 2)} : std::pair{std::string_view(), text};
}

std::string_view bounded_text(const char* text, std::size_t capacity) { return {text, strnlen(text, capacity)}; }

HostServices::HostServices(const std::string& plugin_id, HostObserver* observer,
                           std::unique_ptr<BackendMetrics> metrics, const lib::Clock& clock,
                           std::shared_ptr<BackendDescriptors> descriptors)
    : plugin_id_(plugin_id), component_("plugin." + plugin_id), observer_(observer), metrics_(std::move(metrics)),
      clock_(clock), descriptors_(std::move(descriptors)) {}

void HostServices::log(abi::Severity severity, abi::StringView text) noexcept {
  catch_all([&] {
    const base::LogLevel level = log_level(severity);
    if (!base::log_enabled(level, component_)) return;
    const auto [id, line] = split_message_id(sdk::text(text));
    base::log(level, component_, one_line(line), {id, {{"backend", plugin_id_}}, {}});
  });
}

std::int32_t HostServices::log_enabled(abi::Severity severity) noexcept {
  bool enabled = true;
  catch_all([&] { enabled = base::log_enabled(log_level(severity), component_); });
  return enabled ? 1 : 0;
}

void HostServices::metric(abi::MetricKind kind, abi::StringView name, abi::StringView labels, double value) noexcept {
  catch_all([&] {
    if (metrics_ != nullptr) metrics_->record(kind, sdk::text(name), sdk::text(labels), value);
  });
}

void HostServices::event(abi::Severity severity, abi::StringView reason, abi::StringView note,
                         const abi::ServicePortKey* regarding) noexcept {
  catch_all([&] {
    if (observer_ == nullptr) return;
    std::optional<ServicePortName> about;
    if (regarding != nullptr) about = name_of(*regarding);
    observer_->event_reported(severity, one_line(sdk::text(reason)), one_line(sdk::text(note)), about);
  });
}

std::uint64_t HostServices::now() noexcept {
  return static_cast<std::uint64_t>(clock_.now().time_since_epoch().count());
}

void HostServices::request_resync(abi::StringView reason) noexcept {
  catch_all([&] {
    if (observer_ != nullptr) observer_->resync_requested(one_line(sdk::text(reason)));
  });
}

void HostServices::report_unhealthy(abi::StringView reason) noexcept {
  catch_all([&] {
    if (observer_ != nullptr) observer_->health_reported(one_line(sdk::text(reason)));
  });
}

void HostServices::service_port_failed(const abi::ServicePortKey* key, const abi::Error* error) noexcept {
  catch_all([&] {
    if (key == nullptr) return;
    Report report;
    if (error != nullptr) {
      const abi::Error copy = sdk::read(error);
      report = {true, one_line(bounded_text(copy.message, sizeof(copy.message))), copy.os_errno};
    }
    ServicePortName name = name_of(*key);
    const lib::Lock lock(mutex_);
    reports_[std::move(name)] = std::move(report);
  });
}

void* HostServices::extension(abi::StringView id) noexcept {
  const std::string_view wanted = sdk::text(id);
  if (wanted == abi::kHostRelay) return static_cast<abi::HostRelay*>(this);
  if (wanted == abi::kHostDescriptors && descriptors_) return static_cast<abi::HostDescriptors*>(this);
  if (wanted == abi::kHostStatus) return static_cast<abi::HostStatus*>(&facts_);
  if (wanted == abi::kHostMetrics && metrics_) return static_cast<abi::HostMetrics*>(this);
  return nullptr;
}

void HostServices::set_relay_ports(const abi::ServicePortKey* key, abi::ArrayView ports) noexcept {
  catch_all([&] {
    if (observer_ == nullptr || key == nullptr || key->protocol != abi::Protocol::kUdp) return;
    RelayedPort relayed{std::string(sdk::text(key->service_namespace)), std::string(sdk::text(key->service_name)),
                        std::string(sdk::text(key->port_name)), {}};
    for (const std::uint16_t port : sdk::range<std::uint16_t>(ports)) relayed.ports.push_back(port);
    lib::sort_unique(relayed.ports);
    observer_->relayed(std::move(relayed));
  });
}

abi::Code HostServices::keep(abi::StringView name, std::int32_t fd, abi::Error* error) noexcept {
  return sdk::guarded(error, [&] {
    const std::string_view text = sdk::text(name);
    if (!is_descriptor_name(text)) {
      return sdk::fail(error, abi::Code::kInvalid, one_line(text),
                       "a descriptor is kept under 1 to 200 letters, digits and \"-_.\"");
    }
    const lib::Status status = descriptors_->keep(text, fd);
    if (status.ok()) return abi::Code::kOk;
    return sdk::fail(error, abi_code(status.code()), text, status.message(), status.os_errno());
  });
}

std::int32_t HostServices::take(abi::StringView name) noexcept {
  std::int32_t fd = -1;
  catch_all([&] {
    if (is_descriptor_name(sdk::text(name))) fd = descriptors_->take(sdk::text(name));
  });
  return fd;
}

void HostServices::drop(abi::StringView name) noexcept {
  catch_all([&] {
    if (is_descriptor_name(sdk::text(name))) descriptors_->drop(sdk::text(name));
  });
}

void HostServices::names(abi::StringSink* sink) noexcept {
  catch_all([&] {
    if (sink == nullptr) return;
    for (const std::string& name : descriptors_->names()) sink->add(sdk::view(name));
  });
}

abi::MetricSeries* HostServices::series(abi::StringView name, abi::ArrayView label_values, abi::Error* error) noexcept {
  abi::MetricSeries* out = nullptr;
  sdk::guarded(error, [&] {
    std::vector<std::string_view> labels;
    for (const abi::StringView& value : sdk::range<abi::StringView>(label_values)) labels.push_back(sdk::text(value));
    std::string reason;
    out = metrics_->series(sdk::text(name), labels, reason);
    if (out == nullptr) sdk::set_error(error, one_line(sdk::text(name)), reason);
  });
  return out;
}

void HostServices::remove(abi::MetricSeries* series) noexcept {
  catch_all([&] {
    if (series != nullptr) metrics_->remove(series);
  });
}

ServicePortReports HostServices::take_reports() {
  std::map<ServicePortName, Report> taken;
  {
    const lib::Lock lock(mutex_);
    taken.swap(reports_);
  }
  ServicePortReports out;
  for (auto& [name, report] : taken) {
    if (report.failed) {
      out.failed.push_back({name, std::move(report.message), report.os_errno});
    } else {
      out.served.push_back(name);
    }
  }
  return out;
}

}  // namespace sluice::plugin
