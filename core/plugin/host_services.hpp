// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The daemon as one backend sees it: abi::Host of one plugin in one family.
// Every method may be called by any thread of the plugin and returns at once; what
// it reports is handed to callbacks that post it to its owner.
#pragma once

#include <compare>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/clock.hpp"
#include "core/base/log.hpp"
#include "core/base/status.hpp"
#include "sluice/abi/descriptors.hpp"
#include "sluice/abi/host.hpp"
#include "sluice/abi/relay.hpp"

namespace sluice::plugin {

// Where metrics of backends go. Any thread; does not block.
class MetricSink {
 public:
  virtual ~MetricSink() = default;
  // `labels` is as the plugin gave it: name="value",… or empty.
  virtual void record(std::string_view plugin, abi::MetricKind kind, std::string_view name, std::string_view labels,
                      double value) = 0;
};

// abi::ServicePortKey as a value.
struct ServicePortName {
  std::string name_space;
  std::string service;
  std::string port_name;
  abi::Protocol protocol = abi::Protocol::kTcp;

  // "shop/cart:http"; without the protocol.
  std::string printed() const { return name_space + "/" + service + (port_name.empty() ? "" : ":" + port_name); }
  auto operator<=>(const ServicePortName&) const = default;
};

// The UDP ports at which a backend itself receives what is sent to a service port.
struct RelayedPort {
  std::string name_space;
  std::string service;
  std::string port_name;
  std::vector<std::uint16_t> ports;  // sorted, each once; empty: none any more
};

// Where descriptors outlive a backend: of one backend id and family. Any thread. Names are as
// abi::HostDescriptors allows them.
class DescriptorStore {
 public:
  virtual ~DescriptorStore() = default;
  // As abi::HostDescriptors has it; `fd` stays the caller's.
  virtual base::Status keep(std::string_view name, int fd) = 0;
  virtual int take(std::string_view name) = 0;
  virtual void drop(std::string_view name) = 0;
  virtual std::vector<std::string> names() = 0;
};

// Called on a thread of the plugin, perhaps in the middle of a call of the backend:
// they post to a queue and return. An empty function ignores the report.
struct HostCallbacks {
  std::function<void(std::string reason)> request_resync;
  std::function<void(std::string reason)> report_unhealthy;  // an empty reason takes it back
  // `regarding`: whose Service it is about; without: the node.
  std::function<void(abi::Severity severity, std::string reason, std::string note,
                     std::optional<ServicePortName> regarding)>
      event;
  std::function<void(RelayedPort relayed)> relays;  // the one that comes on the apply thread only, during apply()
  std::shared_ptr<DescriptorStore> descriptors;  // null: the backend has no such extension
};

// A service port that one apply() left out.
struct FailedServicePort {
  ServicePortName port;
  std::string message;
  int os_errno = 0;
  bool withheld = false;  // by the core, before the backend; a retry cannot succeed
};

// What the reports of one apply() come to; each service port is in one of them, once.
struct ServicePortReports {
  std::vector<FailedServicePort> failed;  // sorted
  std::vector<ServicePortName> served;    // by now, although they were left out before
};

class HostServices final : public abi::Host, public abi::HostRelay, public abi::HostDescriptors {
 public:
  // `metrics` may be null; it and `clock` outlive this.
  HostServices(const std::string& plugin_id, HostCallbacks callbacks, MetricSink* metrics, const base::Clock& clock);
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

  // What service_port_failed() collected since the last time.
  ServicePortReports take_reports();

 private:
  const std::string plugin_id_;
  const std::string component_;  // of the log
  const HostCallbacks callbacks_;
  MetricSink* const metrics_;
  const base::Clock& clock_;
  std::mutex mutex_;
  struct Report {
    bool failed = false;
    std::string message;
    int os_errno = 0;
  };
  std::map<ServicePortName, Report> reports_;  // under mutex_
};

// Text from a plugin as one printable line.
std::string one_line(std::string_view text);

// The text of a fixed array that a plugin may have left without its NUL.
std::string_view bounded_text(const char* text, std::size_t capacity);

}  // namespace sluice::plugin
