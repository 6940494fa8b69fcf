// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The backend with real sockets on the loopback and a fake kernel.
#pragma once

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>

#include <dirent.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "plugins/userspace/backend.hpp"
#include "sluice/abi/descriptors.hpp"
#include "test/unit/common/backend_rig.hpp"
#include "test/unit/common/fake_kernel.hpp"
#include "test/unit/common/log_line.hpp"
#include "test/unit/userspace/fake_descriptors.hpp"
#include "test/unit/userspace/sockets.hpp"

namespace sluice::test {

// A daemon that records all reports. Thread-safe.
class RelayHost final : public abi::Host, public abi::HostRelay {
 public:
  void log(abi::Severity severity, abi::StringView text) noexcept override {
    const std::lock_guard lock(mutex_);
    lines.emplace_back(severity, log_line(text));
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

// The descriptor of this process that listens at the port, TCP over IPv4.
inline int listener_at(std::uint16_t port) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc/self/fd"), closedir);
  CPPUNIT_ASSERT(folder != nullptr);
  while (const dirent* entry = readdir(folder.get())) {
    const int fd = std::atoi(entry->d_name);
    const userspace::SocketNeeds needs{abi::Family::kIpv4, abi::Protocol::kTcp, std::nullopt, port, true};
    if (fd != 0 && userspace::unfit_reason(fd, needs).empty()) return fd;
  }
  throw std::logic_error("no socket listens at the port");
}

class UserspaceRig final : public BackendRig<RelayHost> {
 public:
  explicit UserspaceRig(abi::Family family = abi::Family::kIpv4) : BackendRig(family) {
    settings.listen_address = loopback(family);
    settings.relay.threads = 2;
    settings.relay.dial_timeouts = {std::chrono::seconds(5)};
    settings.relay.stop_drain = std::chrono::milliseconds(0);  // no process outlives the test
  }
  ~UserspaceRig() { stop(); }

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

  // "KIND [NAME ]OBJECT[: [WANTED ][-> FOUND]]". Empty, with `error` set, if the call fails.
  std::vector<std::string> drift(const std::string& name = {}) {
    static constexpr std::array<const char*, 5> kKinds{"", "missing", "changed", "extra", "foreign"};
    std::vector<std::string> found;
    each_row<abi::InspectedDrift>(abi::InspectionKind::kInspectDrift, name, [&](const abi::InspectedDrift& row) {
      std::string line = kKinds.at(static_cast<std::size_t>(row.kind));
      if (row.key.service_name.size != 0) line.append(" ").append(sdk::service_port_name(row.key));
      line.append(" ").append(sdk::text(row.object));
      if (row.wanted.size != 0 || row.found.size != 0) line.append(":");
      if (row.wanted.size != 0) line.append(" ").append(sdk::text(row.wanted));
      if (row.found.size != 0) line.append(" -> ").append(sdk::text(row.found));
      CPPUNIT_ASSERT_EQUAL(std::uint32_t{1}, row.count);
      found.push_back(std::move(line));
    });
    return found;
  }

  // "OBJECT: EFFECT[, masqueraded][ -> TARGETS][ (REMARKS)][ = VERDICT]". Empty, with `error` set, if the call fails.
  std::vector<std::string> explain(const std::string& client, const std::string& address, std::uint16_t port,
                                   abi::Protocol protocol, std::uint32_t packet_flags) {
    static constexpr std::array<const char*, 5> kVerdicts{"", " = served", " = rejected", " = dropped",
                                                          " = not proxied"};
    abi::InspectedPacket packet{};
    packet.struct_size = sizeof(packet);
    packet.flags = packet_flags;
    packet.client = *sdk::parse_address(client, family_);
    packet.address = *sdk::parse_address(address, family_);
    packet.port = port;
    packet.protocol = protocol;
    std::vector<std::string> found;
    each_row<abi::InspectedStep>(
        abi::InspectionKind::kInspectExplanation, {},
        [&](const abi::InspectedStep& row) {
          std::string line = std::string(sdk::text(row.object)).append(": ").append(sdk::text(row.effect));
          if ((row.flags & abi::kStepMasquerades) != 0) line += ", masqueraded";
          if ((row.flags & abi::kStepCounted) != 0 && row.packets != 0) {
            line += " [" + std::to_string(row.packets) + ":" + std::to_string(row.bytes) + "]";
          }
          std::string separator = " -> ";
          for (const abi::InspectedTarget& one : sdk::range<abi::InspectedTarget>(row.targets)) {
            line += std::exchange(separator, ", ") + sdk::host_port(one.address, family_, one.port);
          }
          if (row.remarks.size != 0) line.append(" (").append(sdk::text(row.remarks)).append(")");
          found.push_back(line + kVerdicts.at(static_cast<std::size_t>(row.verdict)));
        },
        &packet);
    return found;
  }

  // "NAME/PROTOCOL[ -> TARGET]: N connections, N active[, …]" with the values that are known. Empty, with `error` set,
  // if the call fails.
  std::vector<std::string> counters(const std::string& name = {}) {
    using Row = abi::InspectedCounters;
    struct Value {
      abi::InspectedCountersFlag flag;
      std::uint64_t Row::*count;
      const char* name;
    };
    static constexpr std::array<Value, 7> kValues{{{abi::kKnownConnections, &Row::connections, " connections"},
                                                   {abi::kKnownActive, &Row::active_connections, " active"},
                                                   {abi::kKnownPackets, &Row::packets, " packets"},
                                                   {abi::kKnownBytes, &Row::bytes, " bytes"},
                                                   {abi::kKnownReplyPackets, &Row::reply_packets, " reply packets"},
                                                   {abi::kKnownReplyBytes, &Row::reply_bytes, " reply bytes"},
                                                   {abi::kKnownRefused, &Row::refused, " refused"}}};
    std::vector<std::string> found;
    each_row<Row>(abi::InspectionKind::kInspectCounters, name, [&](const Row& row) {
      std::string line = sdk::service_port_name(row.key).append("/").append(sdk::protocol_name(row.key.protocol));
      if ((row.flags & abi::kCountedTarget) != 0) line += " -> " + sdk::host_port(row.target, family_, row.target_port);
      std::string separator = ": ";
      for (const Value& value : kValues) {
        if ((row.flags & value.flag) == 0) continue;
        line += std::exchange(separator, ", ") + std::to_string(row.*value.count) + value.name;
      }
      found.push_back(std::move(line));
    });
    return found;
  }

  userspace::Settings settings;
  FakeKernel kernel;

 private:
  template <class Row>
  struct Sink final : abi::InspectionSink {
    explicit Sink(const std::function<void(const Row&)>& visit) : visit_row(visit) {}
    std::int32_t add(abi::ArrayView rows) noexcept override {
      for (const Row& row : sdk::range<Row>(rows)) visit_row(row);
      return 1;
    }
    const std::function<void(const Row&)>& visit_row;
  };

  template <class Row>
  void each_row(abi::InspectionKind kind, const std::string& name, const std::function<void(const Row&)>& visit,
                const abi::InspectedPacket* packet = nullptr) {
    abi::InspectionQuery query{sizeof(query), kind, sdk::view(name), packet};
    Sink<Row> sink(visit);
    clear_error();
    auto* const rows = static_cast<abi::InspectionRows*>(backend().extension(sdk::view(abi::kInspectionRows)));
    inspected = rows->inspect(&query, &sink, &error);
  }

  abi::Backend* create(const abi::CreateArgs& args) override {
    return new userspace::UserspaceBackend(args, settings, kernel.open());
  }
  void forget_writes() override { kernel.restores.clear(); }
};

// CppUnit keeps fixtures until all tests have run; tearDown() releases the backend earlier.
class UserspaceFixture : public CppUnit::TestFixture {
 public:
  void setUp() override { rig_ = std::make_unique<UserspaceRig>(); }
  void tearDown() override { rig_ = nullptr; }

 protected:
  UserspaceRig& rig() const { return *rig_; }

  std::unique_ptr<UserspaceRig> rig_;
};

}  // namespace sluice::test
