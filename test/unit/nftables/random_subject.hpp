// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Parts of random histories: network namespaces, a daemon, a backend whose commits may fail, and processes that
// change its table.
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
#include "test/unit/common/world.hpp"
#include "test/unit/nftables/random_services.hpp"
#include "test/unit/temporary_folder.hpp"

namespace sluice::test {

// A new network namespace of this thread. It is deleted with the object, once no thread is in it.
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
  std::string errors();

 private:
  std::mutex mutex_;
  std::chrono::nanoseconds passed_{0};
  std::set<std::string> failed_;
  std::string log_;
  unsigned resyncs_ = 0;
};

// The fate of the next commit that has elements of a service port.
enum class Trouble {
  kNone,
  kRefuse,      // the kernel refuses an element of one service port
  kLostBefore,  // not committed, and the answer is lost
  kLostAfter,   // committed, and the answer is lost
};

class Subject {
 public:
  explicit Subject(abi::Family family);
  ~Subject();
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  // Stops the daemon, if it runs, and starts it. Returns faults: a saved listing that is not that of the kernel.
  std::string restart();
  unsigned saved_listings() const { return saved_; }  // found by restarts
  abi::Code full(const std::vector<ServiceSpec>& services, const NodeSpec& node);
  abi::Code delta(const std::vector<ServiceSpec>& changed, const std::vector<ServiceSpec>& removed,
                  const NodeSpec& node);
  abi::Code verify();
  // Waits until the backend has noticed a foreign change of its table.
  bool sees_foreign_change();
  // Whether verify succeeds.
  bool is_well();

  // The objects that the backend lists as drift, one per line. Nothing if the last apply() has failed.
  std::string drift();

  std::uint64_t writes() const { return result_.kernel_writes; }
  std::string errors();
  std::string take_refused();

  RandomHost host;
  Trouble next_commit = Trouble::kNone;

 private:
  class Kernel;
  abi::Code apply(const abi::Transaction& transaction);

  const abi::Family family_;
  const TemporaryFolder folder_;
  unsigned saved_ = 0;
  abi::Backend* backend_ = nullptr;
  abi::ApplyResult result_{};
  abi::Error error_{};
  std::uint64_t generation_ = 0;
  std::string refused_;
};

// A writer whose transactions do not count as those of this process.
std::unique_ptr<nftables::TableKernel> open_foreign_table(abi::Family family);

// Changes the table as another process would: elements, chains, rules, or all of it. Returns a description.
std::string make_drift(RandomServices& random, nftables::TableKernel& foreign, abi::Family family);

}  // namespace sluice::test
