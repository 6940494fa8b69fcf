// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The backend: one object per IP family, called from one thread. It decides between full and
// delta transactions and orders the changes of sockets, endpoints, claims and rules. service_table
// and portal/ make these changes; relay/ carries the connections.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/common/extensions.hpp"
#include "plugins/common/netfilter/kernel.hpp"
#include "plugins/common/netfilter/lock_metrics.hpp"
#include "plugins/common/netfilter/not_programmed.hpp"
#include "plugins/userspace/affinity_exchange.hpp"
#include "plugins/userspace/metrics_reporter.hpp"
#include "plugins/userspace/portal/kept_sockets.hpp"
#include "plugins/userspace/portal/portal_writer.hpp"
#include "plugins/userspace/relay/engine.hpp"
#include "plugins/userspace/relay/relayed_count.hpp"
#include "plugins/userspace/retirement.hpp"
#include "plugins/userspace/service_table.hpp"
#include "plugins/userspace/settings.hpp"
#include "sluice/abi/relay.hpp"
#include "sluice/abi/status.hpp"
#include "sluice/sdk/backend_base.hpp"

namespace sluice::userspace {

class UserspaceBackend final : public sdk::BackendBase, private common::InspectionBase {
 public:
  explicit UserspaceBackend(const abi::CreateArgs& args);
  // For tests: with an injected kernel; resource limits of the process are not raised.
  UserspaceBackend(const abi::CreateArgs& args, Settings settings, std::unique_ptr<netfilter::Kernel> kernel);
  ~UserspaceBackend() override;

 private:
  using Problems = netfilter::Problems;

  abi::Code do_probe(abi::Error* error) override;
  abi::Code do_apply(const abi::Transaction& transaction, const abi::NodeFacts& node, abi::ApplyResult& result,
                     abi::Error* error) override;
  abi::Code do_verify(abi::Error* error) override;
  abi::Code do_claims(abi::StringSink& sink, abi::Error* error) override;
  abi::Code do_retire(const abi::Handover& handover, abi::Error* error) override;
  abi::Code do_cleanup(abi::Error* error) override;
  void* do_extension(std::string_view id) override;
  void do_inspect(inspection::Answer& answer) override;
  void do_count(inspection::CounterRows& rows) override;
  void do_find_drift(inspection::DriftRows& rows) override;
  void do_explain(inspection::Explanation& explanation) override;

  UserspaceBackend(const abi::CreateArgs& args, Settings settings, std::unique_ptr<netfilter::Kernel> kernel,
                   bool owns_node);
  void start();
  void start_engine();
  void probe_client_addresses();
  void show_client_addresses(std::string_view missing);
  void report_lost();
  void continue_connections(RelayedNow& now);
  void report_affinity_file();
  void retire_leftovers(const std::vector<std::string>& claims);
  void log_tools();
  // Applies the transaction to the service table and returns the rules to write.
  std::vector<Portal> serve(const abi::Transaction& transaction, std::vector<PortalId>& removed, Problems& problems);
  std::vector<abi::ServicePort> update(const abi::Transaction& transaction, Problems& problems);
  void plan(const abi::ServicePort& port, std::vector<Portal>& portals, std::vector<PortalId>& removed,
            Problems& problems);
  void write(const abi::Transaction& transaction, const std::vector<Portal>& portals,
             const std::vector<PortalId>& removed, Problems& problems, abi::ApplyResult& result);
  void note_tool_cost(bool given_up, abi::ApplyResult& result);
  void report_relay_ports(const abi::Transaction& transaction);

  const Settings settings_;
  const std::string state_dir_;
  const bool beside_old_backend_;
  const bool owns_node_;  // false in tests: do not change limits and sysctls, nor check privileges
  std::unique_ptr<netfilter::Kernel> kernel_;
  PortalWriter writer_;
  netfilter::LockMetrics lock_metrics_{metrics()};

  // Created by the first apply(): --cleanup and probing start neither threads nor sockets.
  std::shared_ptr<Engine> engine_;
  std::unique_ptr<MetricsReporter> metrics_;
  std::shared_ptr<RelayedCount> relayed_;
  std::shared_ptr<AffinityFile> affinity_file_;
  const std::shared_ptr<RelayMark> relay_mark_ = std::make_shared<RelayMark>(0);
  const std::shared_ptr<ClientPolicy> client_policy_ = std::make_shared<ClientPolicy>();
  bool keeps_clients_ = true;  // this node can give connections the addresses of clients
  KeptSockets kept_;
  std::unique_ptr<ServiceTable> table_;
  std::unique_ptr<Retirement> retirement_;
  AffinityExchange affinity_;
  std::unique_ptr<SavedAffinity> saved_affinity_;  // until there is a table
  std::uint64_t report_ = 0;
  abi::HostRelay* host_relay_ = nullptr;

  bool valid_ = false;  // the kernel holds the state of the last transaction
  std::uint64_t generation_ = 0;
  PortalFacts facts_;
  ClaimFacts claim_facts_;
  netfilter::NotProgrammed not_programmed_{host()};
  std::vector<std::string> gained_;  // service ports not in the delta that received a port they waited for
  bool tools_logged_ = false;
  bool affinity_unwritable_logged_ = false;
  std::set<std::string> reported_unusable_;
};

}  // namespace sluice::userspace
