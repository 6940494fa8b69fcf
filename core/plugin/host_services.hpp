// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Implements abi::Host for one plugin in one address family. Any thread of the plugin may call each method, which
// returns at once. Reports go to the observer, which posts them to the owner of the backend.
#pragma once

#include <compare>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/log.hpp"
#include "core/plugin/metric_sink.hpp"
#include "core/plugin/status_facts.hpp"
#include "lib/clock.hpp"
#include "lib/mutex.hpp"
#include "lib/status.hpp"
#include "sluice/abi/descriptors.hpp"
#include "sluice/abi/host.hpp"
#include "sluice/abi/metrics.hpp"
#include "sluice/abi/relay.hpp"

namespace sluice::plugin {

// A copy of an abi::ServicePortKey that owns its strings.
struct ServicePortName {
  std::string name_space;
  std::string service;
  std::string port_name;
  abi::Protocol protocol = abi::Protocol::kTcp;

  // "shop/cart:http"; without the protocol.
  std::string printed() const { return name_space + "/" + service + (port_name.empty() ? "" : ":" + port_name); }
  auto operator<=>(const ServicePortName&) const = default;
};

// The UDP ports at which a backend relays the packets of a service port itself.
struct RelayedPort {
  std::string name_space;
  std::string service;
  std::string port_name;
  std::vector<std::uint16_t> ports;  // sorted, without duplicates; empty: the relay has ended
};

// Keeps file descriptors that outlive a backend, for one backend id and address family. Any thread.
// abi::HostDescriptors documents valid names.
class BackendDescriptors {
 public:
  virtual ~BackendDescriptors() = default;
  // As in abi::HostDescriptors: keep() and take() duplicate.
  virtual lib::Status keep(std::string_view name, int fd) = 0;
  virtual int take(std::string_view name) = 0;
  virtual void drop(std::string_view name) = 0;
  virtual std::vector<std::string> names() = 0;
};

// Receives the reports of a backend, on threads of the plugin and possibly during a call of the backend. Its functions
// must therefore neither block nor call the backend.
class HostObserver {
 public:
  virtual ~HostObserver() = default;
  virtual void resync_requested(std::string /*reason*/) {}
  virtual void health_reported(std::string /*reason*/) {}  // an empty reason: healthy again
  // `regarding`: the service port of the event; without it the event is about the node.
  virtual void event_reported(abi::Severity, const std::string& /*reason*/, const std::string& /*note*/,
                              const std::optional<ServicePortName>& /*regarding*/) {}
  // Called during apply(), on the apply thread, and during retire(). abi::HostRelay forbids other calls; the core does
  // not prevent them.
  virtual void relayed(RelayedPort) {}
};

// A service port that one apply() did not program.
struct FailedServicePort {
  ServicePortName port;
  std::string message;
  int os_errno = 0;
  bool withheld = false;  // withheld by the core, so that a retry cannot succeed
};

// The reports of one apply(). Each service port occurs at most once.
struct ServicePortReports {
  std::vector<FailedServicePort> failed;  // sorted
  std::vector<ServicePortName> served;    // programmed now, after an earlier failure
};

class HostServices final : public abi::Host,
                           public abi::HostRelay,
                           public abi::HostDescriptors,
                           public abi::HostMetrics {
 public:
  // All pointers may be null; without `metrics` or `descriptors`, abi::HostMetrics or abi::HostDescriptors is not offered.
  // Observer and clock must outlive this object.
  HostServices(const std::string& plugin_id, HostObserver* observer, std::unique_ptr<BackendMetrics> metrics,
               const lib::Clock& clock, std::shared_ptr<BackendDescriptors> descriptors = nullptr);
  ~HostServices() = default;
  HostServices(const HostServices&) = delete;
  HostServices& operator=(const HostServices&) = delete;

  void log(abi::Severity severity, abi::StringView text) noexcept override;
  std::int32_t log_enabled(abi::Severity severity) noexcept override;
  void metric(abi::MetricKind kind, abi::StringView name, abi::StringView labels, double value) noexcept override;
  void event(abi::Severity severity, abi::StringView reason, abi::StringView note,
             const abi::ServicePortKey* regarding) noexcept override;
  std::uint64_t now() noexcept override;
  void request_resync(abi::StringView reason) noexcept override;
  void report_unhealthy(abi::StringView reason) noexcept override;
  void service_port_failed(const abi::ServicePortKey* key, const abi::Error* error) noexcept override;
  void* extension(abi::StringView id) noexcept override;
  void set_relay_ports(const abi::ServicePortKey* key, abi::ArrayView ports) noexcept override;

  abi::Code keep(abi::StringView name, std::int32_t fd, abi::Error* error) noexcept override;
  std::int32_t take(abi::StringView name) noexcept override;
  void drop(abi::StringView name) noexcept override;
  void names(abi::StringSink* sink) noexcept override;

  abi::MetricSeries* series(abi::StringView name, abi::ArrayView label_values, abi::Error* error) noexcept override;
  void remove(abi::MetricSeries* series) noexcept override;

  // The facts of the backend for the status. Any thread.
  std::vector<StatusFact> facts() const { return facts_.all(); }

  // The calls of service_port_failed() since the last take_reports().
  ServicePortReports take_reports();

 private:
  const std::string plugin_id_;
  const std::string component_;  // of the log
  HostObserver* const observer_;
  const std::unique_ptr<BackendMetrics> metrics_;
  const lib::Clock& clock_;
  const std::shared_ptr<BackendDescriptors> descriptors_;
  StatusFacts facts_;
  lib::Mutex mutex_;
  struct Report {
    bool failed = false;
    std::string message;
    int os_errno = 0;
  };
  std::map<ServicePortName, Report> reports_ SLUICE_GUARDED_BY(mutex_);
};

// Text of a plugin as one printable line.
std::string one_line(std::string_view text);

// The id and the line of a text "[id] line"; an empty id and the text if it does not begin with an id.
std::pair<std::string_view, std::string_view> split_message_id(std::string_view text);

// The text of a fixed array in which the terminating NUL may be missing.
std::string_view bounded_text(const char* text, std::size_t capacity);

}  // namespace sluice::plugin
