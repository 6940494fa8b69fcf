// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One backend in one address family, with its library: calls it, measures the calls, and converts the results.
// Threads: any thread may create it. Afterwards all calls, including the destructor, must come from one thread, which
// debug builds assert. Functions marked "any thread" are exceptions.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/plugin/host_services.hpp"
#include "core/plugin/inspected_frontend.hpp"
#include "core/plugin/inspected_rows.hpp"
#include "core/plugin/loader.hpp"
#include "lib/clock.hpp"
#include "lib/status.hpp"
#include "sluice/abi/affinity.hpp"
#include "sluice/abi/inspection.hpp"

namespace sluice::plugin {

// The result of a call. The code selects the next action; the rest is for messages.
struct Outcome {
  abi::Code code = abi::Code::kOk;
  std::string object;   // the object that failed, for example "shop/cart:http"; may be empty
  std::string message;  // empty when ok()
  int os_errno = 0;

  bool ok() const { return code == abi::Code::kOk; }
  // The status of the core, whose message begins with backend, call and object.
  lib::Status status(std::string_view backend, std::string_view call) const;
};

struct ApplyOutcome : Outcome {
  std::uint64_t kernel_writes = 0;
  std::uint64_t objects_owned = 0;
  std::chrono::nanoseconds kernel_time{0};  // 0: not measured
  ServicePortReports reports;               // service ports that were not programmed, and those that are again
};

struct ClaimsOutcome : Outcome {
  std::vector<std::string> claims;  // sorted, without duplicates
};

// A question to abi::Inspection or abi::InspectionRows.
struct InspectionRequest {
  std::string name{};  // "shop/cart" or "shop/cart:http"; empty: everything
  // kInspectFrontends: whether rows are wanted beside the lines.
  bool rows = false;
  abi::InspectionKind kind = abi::InspectionKind::kInspectFrontends;
  abi::InspectedPacket packet{};  // with kInspectExplanation
  // Selects rows by namespace and name of their Service, which are empty for rows of none; null: all rows.
  std::function<bool(const InspectedKey&)> wants{};
};

// Empty but for the kind that was requested.
struct InspectionOutcome : Outcome {
  std::vector<std::string> lines;  // of frontends: readable text, in the order of the backend
  // With the same indexes as `lines`, if they were requested and the backend has abi::InspectionRows; otherwise empty.
  std::vector<InspectedFrontend> rows;
  std::vector<InspectedCounters> counters;
  std::vector<InspectedDrift> drift;
  std::vector<InspectedStep> steps;  // the last one has a verdict
};

struct BackendSettings {
  lib::Family family = lib::Family::ipv4;
  std::vector<std::pair<std::string, std::string>> options;  // the section of this backend, flattened
  std::string state_dir;
  bool predecessor_serves = false;  // abi::kCreatePredecessorServes
  // Where options are set, by key, for errors: "/etc/sluice/config.yaml:12: backends.nftables.counters".
  std::map<std::string, std::string> option_places{};
};

// A copy of an abi::AffinityClient that owns its strings.
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
  // As HostServices: which pointers may be null, and what must outlive the handle.
  static lib::Result<std::unique_ptr<BackendHandle>> create(std::shared_ptr<const Plugin> plugin,
                                                            const BackendSettings& settings, HostObserver* observer,
                                                            MetricSink* metrics, const lib::Clock& clock,
                                                            std::shared_ptr<BackendDescriptors> descriptors = nullptr);
  ~BackendHandle();  // release()
  BackendHandle(const BackendHandle&) = delete;
  BackendHandle& operator=(const BackendHandle&) = delete;

  Outcome probe();
  // Returns ok, too, if the backend has no abi::Preparation, which documents `node`.
  Outcome prepare(const abi::NodeFacts& node);
  // Rejects a delta with kInvalid if the plugin does not have kFeatureDelta. Sets the deadline of the transaction.
  // `cancelled` is abi::Transaction::cancelled; may be null.
  ApplyOutcome apply(const abi::Transaction& transaction, const std::uint32_t* cancelled = nullptr);
  Outcome verify();
  ClaimsOutcome claims();
  // Whether the backend supports inspect(). Any thread.
  bool inspectable() const { return inspection_ != nullptr || rows_ != nullptr; }
  // Reads back the kernel state. kUnsupported: the backend cannot answer this kind. After the first retire(), the answer
  // is kRetry without a call of the backend. REQUIRES: inspectable()
  InspectionOutcome inspect(const InspectionRequest& request);
  // kRetry: the backend drains, or failed temporarily; call again within a second. `drain` is the remaining drain time.
  // A backend may return kRetry forever, even if `drain` is 0, so the caller must give up eventually.
  Outcome retire(const std::vector<std::string>& claims_of_successor, std::chrono::seconds drain);
  // kUnsupported if the backend has no abi::Affinity.
  BoundClientsOutcome export_clients();
  Outcome import_clients(const std::vector<BoundClient>& clients);
  Outcome cleanup();

  const Plugin& plugin() const { return *plugin_; }
  // "iptables (IPv4)", as log lines and errors name it.
  const std::string& name() const { return name_; }
  // The facts that the backend shows in the status. Any thread.
  std::vector<StatusFact> facts() const { return host_.facts(); }
  // The call in progress, or empty. Any thread.
  std::string_view in_progress() const;
  // The call in progress that exceeds its timeout, or empty. The daemon is unhealthy then. Any thread.
  std::string_view overdue() const;

 private:
  struct Call;
  class CallTimer;
  BackendHandle(std::shared_ptr<const Plugin> plugin, lib::Family family, HostObserver* observer, MetricSink* metrics,
                const lib::Clock& clock, std::shared_ptr<BackendDescriptors> descriptors);
  void inspect_lines(const InspectionRequest& request, InspectionOutcome& out);
  // Returns out.ok().
  template <class Sink>
  bool inspect_rows(const InspectionRequest& request, Sink& sink, InspectionOutcome& out);
  static lib::Status rejection(const Outcome& failed, const BackendSettings& settings, std::string_view name);
  template <class F>
  Outcome timed_call(const Call& call, F&& body);
  void assert_thread();

  // The order matters: the library must be released after host and backend.
  const std::shared_ptr<const Plugin> plugin_;
  const abi::Family family_;
  const std::string name_;
  const lib::Clock& clock_;
  HostServices host_;
  abi::Backend* backend_ = nullptr;  // ours until release()
  abi::Inspection* inspection_ = nullptr;  // of backend_; may be null
  abi::InspectionRows* rows_ = nullptr;    // of backend_; may be null
  abi::Affinity* affinity_ = nullptr;      // of backend_; may be null
  std::thread::id thread_;           // of the first call
  bool retires_ = false;             // retire() was called; abi::Backend allows no other calls then
  std::atomic<const Call*> current_{nullptr};
  std::atomic<lib::Clock::Time> started_{};
};

}  // namespace sluice::plugin
