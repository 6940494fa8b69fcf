// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What random histories are made with: network namespaces, a daemon, a backend whose commits can go wrong, and others
// that change its table.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "plugins/nftables/backend.hpp"
#include "plugins/nftables/kernel/table_kernel.hpp"
#include "sluice/abi/backend.hpp"
#include "test/unit/iptables/world.hpp"
#include "test/unit/nftables/random_services.hpp"

namespace sluice::test {

// A new network namespace of this thread; it goes with the object, when nobody is in it.
class Namespace {
 public:
  Namespace();
  ~Namespace();
  Namespace(const Namespace&) = delete;
  Namespace& operator=(const Namespace&) = delete;
  void enter() const;

 private:
  int descriptor_ = -1;
};

// Called from threads of the backend, too.
class RandomHost final : public abi::Host {
 public:
  void log(abi::Severity severity, abi::StringView text) noexcept override;
  std::int32_t log_enabled(abi::Severity) noexcept override { return 1; }
  void metric(abi::MetricKind, abi::StringView, abi::StringView, double) noexcept override {}
  void event(abi::Severity, abi::StringView, abi::StringView, const abi::ServicePortKey*) noexcept override {}
  std::uint64_t now() noexcept override;
  void request_resync(abi::StringView reason) noexcept override;
  void report_unhealthy(abi::StringView) noexcept override {}
  void service_port_failed(const abi::ServicePortKey* key, const abi::Error* error) noexcept override;
  void* extension(abi::StringView) noexcept override { return nullptr; }

  void pass(std::chrono::nanoseconds time);
  void forget();
  unsigned resyncs();
  bool has_failed(const std::string& printed_name);
  std::string said();

 private:
  std::mutex mutex_;
  std::chrono::nanoseconds passed_{0};
  std::set<std::string> failed_;
  std::string said_;
  unsigned resyncs_ = 0;
};

// What becomes of the next commit that has elements of a service port.
enum class Trouble {
  kNone,
  kRefuse,      // the kernel refuses an element of one of them
  kLostBefore,  // it is not carried out, and nobody knows
  kLostAfter,   // it is
};

class Subject {
 public:
  explicit Subject(abi::Family family);
  ~Subject();
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  // The daemon is killed, and begins again.
  void restart();
  abi::Code full(const std::vector<ServiceSpec>& services, const NodeSpec& node);
  abi::Code delta(const std::vector<ServiceSpec>& changed, const std::vector<ServiceSpec>& removed,
                  const NodeSpec& node);
  abi::Code verify();
  // Waits until the backend has noticed that somebody else was at its table.
  bool notices();
  // Whether it has nothing to complain about.
  bool is_well();

  std::uint64_t writes() const { return result_.kernel_writes; }
  std::string said();
  std::string take_refused();

  RandomHost host;
  Trouble next_commit = Trouble::kNone;

 private:
  class Kernel;
  abi::Code apply(const abi::Transaction& transaction);

  const abi::Family family_;
  abi::Backend* backend_ = nullptr;
  abi::ApplyResult result_{};
  abi::Error error_{};
  std::uint64_t generation_ = 0;
  std::string refused_;
};

// A writer whose transactions are not those of the backends of this process.
std::unique_ptr<nftables::TableKernel> open_stranger(abi::Family family);

// Somebody else changes the table: elements, chains, rules, all of it. Says what.
std::string spoil(RandomServices& random, nftables::TableKernel& stranger, abi::Family family);

}  // namespace sluice::test
