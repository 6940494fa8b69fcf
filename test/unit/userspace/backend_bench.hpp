// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The backend with real sockets on the loopback and a fake kernel, and the calls of the daemon.
#pragma once

#include <cppunit/TestAssert.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "plugins/userspace/backend.hpp"
#include "sluice/abi/descriptors.hpp"
#include "test/unit/common/fake_kernel.hpp"
#include "test/unit/common/world.hpp"
#include "test/unit/userspace/fake_descriptors.hpp"
#include "test/unit/userspace/sockets.hpp"

namespace sluice::test {

// A daemon that records all reports. Thread-safe.
class RelayHost final : public abi::Host, public abi::HostRelay {
 public:
  void log(abi::Severity severity, abi::StringView text) noexcept override {
    const std::lock_guard lock(mutex_);
    lines.emplace_back(severity, sdk::text(text));
  }
  std::int32_t log_enabled(abi::Severity) noexcept override { return 1; }
  void metric(abi::MetricKind kind, abi::StringView name, abi::StringView labels, double value) noexcept override {
    const std::lock_guard lock(mutex_);
    double& held = metrics[std::string(sdk::text(name)) + "{" + std::string(sdk::text(labels)) + "}"];
    held = kind == abi::MetricKind::kCounterAdd ? held + value : value;
  }
  void event(abi::Severity, abi::StringView reason, abi::StringView, const abi::ServicePortKey*) noexcept override {
    const std::lock_guard lock(mutex_);
    events.emplace_back(sdk::text(reason));
  }
  std::uint64_t now() noexcept override {
    const std::lock_guard lock(mutex_);
    return ++clock;
  }
  void request_resync(abi::StringView reason) noexcept override { resyncs.emplace_back(sdk::text(reason)); }
  void report_unhealthy(abi::StringView) noexcept override {}
  void service_port_failed(const abi::ServicePortKey* key, const abi::Error* error) noexcept override {
    if (error == nullptr) {
      by_now_served.push_back(sdk::service_port_id(*key));
      return;
    }
    failed[sdk::service_port_name(*key)] = error->message;
  }
  void* extension(abi::StringView id) noexcept override {
    if (sdk::text(id) == abi::kHostDescriptors) return static_cast<abi::HostDescriptors*>(descriptors.get());
    return relays_known && sdk::text(id) == abi::kHostRelay ? static_cast<abi::HostRelay*>(this) : nullptr;
  }
  void set_relay_ports(const abi::ServicePortKey* key, abi::ArrayView ports) noexcept override {
    const auto range = sdk::range<std::uint16_t>(ports);
    relayed[sdk::service_port_name(*key)] = std::vector<std::uint16_t>(range.begin(), range.end());
  }
  std::map<std::string, double> served() {
    const std::lock_guard lock(mutex_);
    return metrics;
  }
  void pass(std::uint64_t seconds) {
    const std::lock_guard lock(mutex_);
    clock += seconds * 1'000'000'000;
  }

  std::vector<std::pair<abi::Severity, std::string>> lines;
  bool has_line(abi::Severity severity, const std::string& text) {
    const std::lock_guard lock(mutex_);
    return std::find(lines.begin(), lines.end(), std::pair(severity, text)) != lines.end();
  }

  std::vector<std::string> events;
  std::unique_ptr<FakeDescriptors> descriptors;  // null: the daemon keeps no descriptors
  std::vector<std::string> resyncs;
  std::map<std::string, std::string> failed;
  std::vector<std::string> by_now_served;
  std::map<std::string, std::vector<std::uint16_t>> relayed;
  bool relays_known = true;

 private:
  std::mutex mutex_;
  std::map<std::string, double> metrics;
  std::uint64_t clock = 0;
};

class BackendBench {
 public:
  explicit BackendBench(abi::Family family = abi::Family::kIpv4) : family_(family) {
    settings.listen_address = loopback(family);
    settings.relay.threads = 2;
    settings.relay.dial_timeouts = {std::chrono::seconds(5)};
  }
  ~BackendBench() { stop(); }
  BackendBench(const BackendBench&) = delete;
  BackendBench& operator=(const BackendBench&) = delete;

  // Releases the backend but keeps the kernel, as when the daemon ends.
  void stop() {
    if (backend_ != nullptr) std::exchange(backend_, nullptr)->release();
  }
  abi::Backend& backend() {
    if (backend_ == nullptr) {
      abi::CreateArgs args{};
      args.struct_size = sizeof(args);
      args.family = family_;
      args.host = &host;
      args.state_dir = sdk::view(state_dir);
      args.flags = flags;
      backend_ = new userspace::UserspaceBackend(args, settings, std::make_unique<Shared>(*this));
    }
    return *backend_;
  }

  // Returns the current backend, which continues to run; the next call creates a new backend beside it.
  abi::Backend* detach() { return std::exchange(backend_, nullptr); }
  abi::Code retire(abi::Backend& which, std::uint32_t seconds, const std::vector<std::string>& claims = {}) {
    std::vector<abi::StringView> views;
    for (const std::string& claim : claims) views.push_back(sdk::view(claim));
    abi::Handover handover{};
    handover.struct_size = sizeof(handover);
    handover.drain_seconds = seconds;
    handover.claims = sdk::array(views.data(), views.size());
    error = {};
    error.struct_size = sizeof(error);
    kernel.restores.clear();
    return which.retire(&handover, &error);
  }

  abi::Code full(const std::vector<ServiceSpec>& services, const NodeSpec& node = {}) {
    World world(family_);
    return apply(world.full(services, ++generation, node));
  }
  abi::Code delta(const std::vector<ServiceSpec>& changed, const std::vector<ServiceSpec>& removed = {},
                  const NodeSpec& node = {}) {
    World world(family_);
    return apply(world.delta(changed, removed, ++generation, node));
  }
  abi::Code apply(const abi::Transaction& transaction) {
    result = {};
    result.struct_size = sizeof(result);
    error = {};
    error.struct_size = sizeof(error);
    host.failed.clear();
    kernel.restores.clear();
    return backend().apply(&transaction, &result, &error);
  }
  abi::Code verify() {
    error = {};
    error.struct_size = sizeof(error);
    return backend().verify(&error);
  }

  // Empty with an `error` if the call fails.
  std::vector<std::string> inspect(const std::string& name = {}) {
    struct Sink final : abi::StringSink {
      void add(abi::StringView text) noexcept override { found.emplace_back(sdk::text(text)); }
      std::vector<std::string> found;
    } sink;
    error = {};
    error.struct_size = sizeof(error);
    auto* const inspection = static_cast<abi::Inspection*>(backend().extension(sdk::view(abi::kInspection)));
    inspected = inspection->services(sdk::view(name), &sink, &error);
    return sink.found;
  }

  // The proxy ports to which rules for `name` in `text` redirect.
  static std::set<std::uint16_t> ports_in(const std::string& text, const std::string& name) {
    std::set<std::uint16_t> found;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t target = line.find("--to-destination ");
      if (target == std::string::npos || line.find(name) == std::string::npos) continue;
      found.insert(static_cast<std::uint16_t>(std::stoi(line.substr(line.rfind(':') + 1))));
    }
    return found;
  }
  std::set<std::uint16_t> ports(const std::string& name) const { return ports_in(kernel.text(), name); }
  std::uint16_t port(const std::string& name) const {
    const auto found = ports(name);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, found.size());
    return *found.begin();
  }
  // The number of rules for `name` that contain `text`.
  std::size_t rules(const std::string& name, const std::string& text) const {
    std::size_t count = 0;
    for (const auto& [table, chains] : kernel.tables) {
      for (const auto& [chain, list] : chains) {
        for (const std::string& rule : list) {
          count += rule.find(name) != std::string::npos && rule.find(text) != std::string::npos ? 1 : 0;
        }
      }
    }
    return count;
  }

  userspace::Settings settings;
  std::string state_dir;    // of new backends
  std::uint32_t flags = 0;  // CreateFlag of new backends
  FakeKernel kernel;
  RelayHost host;
  std::function<void(const std::string& input)> on_restore;  // before it
  abi::ApplyResult result{};
  abi::Error error{};
  std::uint64_t generation = 0;
  abi::Code inspected = abi::Code::kOk;

 private:
  class Shared final : public netfilter::Kernel {
   public:
    explicit Shared(BackendBench& bench) : bench_(bench), kernel_(bench.kernel) {}
    const netfilter::Tools& tools() override { return kernel_.tools(); }
    lib::ProgramResult save(std::optional<netfilter::Table> only,
                            const std::function<void(std::string_view)>& sink) override {
      return kernel_.save(only, sink);
    }
    netfilter::Restored restore(std::string_view input) override {
      if (bench_.on_restore) bench_.on_restore(std::string(input));
      return kernel_.restore(input);
    }
    lib::ProgramResult try_restore(std::string_view input) override { return kernel_.try_restore(input); }
    std::optional<std::uint32_t> generation() override { return kernel_.generation(); }
    netfilter::ForeignChanges& foreign_changes() override { return kernel_.foreign_changes(); }
    int allow_localnet_routing() override { return kernel_.allow_localnet_routing(); }
    int ensure_counter(const std::string& name) override { return kernel_.ensure_counter(name); }
    std::optional<std::uint64_t> counted_packets(const std::string& name) override {
      return kernel_.counted_packets(name);
    }

   private:
    BackendBench& bench_;
    FakeKernel& kernel_;
  };

  abi::Family family_;
  abi::Backend* backend_ = nullptr;
};

}  // namespace sluice::test
