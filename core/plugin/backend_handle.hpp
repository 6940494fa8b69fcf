// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One backend in one family, with the library it lives in: calls it, measures it,
// turns what it answers into values.
// Threads: made anywhere; afterwards all calls, the destructor included, come from
// one thread, which debug builds assert. What is said otherwise is for any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/clock.hpp"
#include "core/base/status.hpp"
#include "core/plugin/host_services.hpp"
#include "core/plugin/loader.hpp"
#include "sluice/abi/affinity.hpp"
#include "sluice/abi/inspection.hpp"

namespace sluice::plugin {

// How a call ended. The code says what to do next, the rest is for people.
struct Outcome {
  abi::Code code = abi::Code::kOk;
  std::string object;   // whose failure it is, e.g. "shop/cart:http"; may be empty
  std::string message;  // empty when ok()
  int os_errno = 0;

  bool ok() const { return code == abi::Code::kOk; }
  // The sentence with backend, call and object in front, under the code of the core.
  base::Status status(std::string_view backend, std::string_view call) const;
};

struct ApplyOutcome : Outcome {
  std::uint64_t kernel_writes = 0;
  std::uint64_t objects_owned = 0;
  std::chrono::nanoseconds kernel_time{0};  // 0: not measured
  ServicePortReports reports;  // what was left out, the rest is in place; and what is so no longer
};

struct ClaimsOutcome : Outcome {
  std::vector<std::string> claims;  // sorted, each once
};

struct InspectionOutcome : Outcome {
  std::vector<std::string> lines;  // for people, in the order of the backend
};

struct BackendSettings {
  abi::Family family = abi::Family::kIpv4;
  std::vector<std::pair<std::string, std::string>> options;  // its own section, flattened
  std::string state_dir;
  bool predecessor_serves = false;  // abi::kCreatePredecessorServes
};

// abi::AffinityClient as a value.
struct BoundClient {
  std::string name_space;
  std::string service;
  std::string port_name;
  abi::Protocol protocol = abi::Protocol::kTcp;
  abi::Address client{};
  abi::Address endpoint{};
  std::uint16_t endpoint_port = 0;
  std::uint32_t remaining_seconds = 0;
};

struct BoundClientsOutcome : Outcome {
  std::vector<BoundClient> clients;
};

class BackendHandle {
 public:
  // `metrics` may be null; it and `clock` outlive the handle.
  static base::Result<std::unique_ptr<BackendHandle>> create(std::shared_ptr<const Plugin> plugin,
                                                             const BackendSettings& settings, HostCallbacks callbacks,
                                                             MetricSink* metrics, const base::Clock& clock);
  ~BackendHandle();  // release()
  BackendHandle(const BackendHandle&) = delete;
  BackendHandle& operator=(const BackendHandle&) = delete;

  Outcome probe();
  // Ok, too, where the backend has nothing to prepare. `node`: as abi::Preparation has it.
  Outcome prepare(const abi::NodeFacts& node);
  // A delta is refused with kInvalid where the plugin lacks kFeatureDelta.
  ApplyOutcome apply(const abi::Transaction& transaction);
  Outcome verify();
  ClaimsOutcome claims();
  // Whether services() can tell anything. Any thread.
  bool inspectable() const { return inspection_ != nullptr; }
  // What the kernel has of this service ("shop/cart") or service port ("shop/cart:http"); of all where `name` is empty.
  // REQUIRES: inspectable()
  InspectionOutcome services(const std::string& name);
  // kRetry: it drains, or something passing hinders it; to be called again within a second. `drain` is what remains of
  // the time. A backend may answer kRetry for ever, also at 0: it is the caller who gives up.
  Outcome retire(const std::vector<std::string>& claims_of_successor, std::chrono::seconds drain);
  // kUnsupported where the backend cannot.
  BoundClientsOutcome export_clients();
  Outcome import_clients(const std::vector<BoundClient>& clients);
  Outcome cleanup();

  const Plugin& plugin() const { return *plugin_; }
  abi::Family family() const { return family_; }
  // "iptables (IPv4)", as log lines and errors name it.
  const std::string& name() const { return name_; }
  // The call in progress, or empty.
  std::string_view in_progress() const;
  // The call in progress that is past its limit, or empty. Health turns red on it.
  std::string_view overdue() const;

 private:
  struct Call;
  class Timed;
  BackendHandle(std::shared_ptr<const Plugin> plugin, abi::Family family, HostCallbacks callbacks, MetricSink* metrics,
                const base::Clock& clock);
  template <class F>
  Outcome called(const Call& call, F&& body);
  void assert_thread();

  // Order matters: the library is let go of last, after host and backend are gone.
  const std::shared_ptr<const Plugin> plugin_;
  const abi::Family family_;
  const std::string name_;
  const base::Clock& clock_;
  HostServices host_;
  abi::Backend* backend_ = nullptr;  // ours until release()
  abi::Inspection* inspection_ = nullptr;  // of backend_, where it has one
  abi::Affinity* affinity_ = nullptr;            // of backend_, where it has one
  std::thread::id thread_;           // of the first call
  std::atomic<const Call*> current_{nullptr};
  std::atomic<base::Clock::Time> started_{};
};

}  // namespace sluice::plugin
