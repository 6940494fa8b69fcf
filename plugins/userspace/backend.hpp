// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The backend: one object per IP family, called from one thread. It decides between full
// and delta, and in which order sockets, endpoints, claims and rules change; the work is done in
// service_table, portal/ and, for connections, in relay/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/common/netfilter/kernel.hpp"
#include "plugins/common/netfilter/left_out.hpp"
#include "plugins/userspace/affinity_exchange.hpp"
#include "plugins/userspace/metrics_reporter.hpp"
#include "plugins/userspace/portal/kept_sockets.hpp"
#include "plugins/userspace/portal/portal_writer.hpp"
#include "plugins/userspace/relay/engine.hpp"
#include "plugins/userspace/relay/relayed_count.hpp"
#include "plugins/userspace/retirement.hpp"
#include "plugins/userspace/service_table.hpp"
#include "plugins/userspace/settings.hpp"
#include "sluice/abi/inspection.hpp"
#include "sluice/abi/relay.hpp"
#include "sluice/sdk/backend_base.hpp"

namespace sluice::userspace {

class UserspaceBackend final : public sdk::BackendBase {
 public:
  explicit UserspaceBackend(const abi::CreateArgs& args);
  // With another kernel than that of this node, settings as given, and limits left alone.
  UserspaceBackend(const abi::CreateArgs& args, Settings settings, std::unique_ptr<netfilter::Kernel> kernel);
  ~UserspaceBackend() override;

 private:
  class Inspected final : public abi::Inspection {
   public:
    explicit Inspected(UserspaceBackend& backend) : backend_(backend) {}
    abi::Code services(abi::StringView name, abi::StringSink* lines, abi::Error* error) noexcept override;

   private:
    UserspaceBackend& backend_;
  };
  using Problems = netfilter::Problems;

  abi::Code do_probe(abi::Error* error) override;
  abi::Code do_apply(const abi::Transaction& transaction, const abi::NodeFacts& node, abi::ApplyResult& result,
                     abi::Error* error) override;
  abi::Code do_verify(abi::Error* error) override;
  abi::Code do_claims(abi::StringSink& sink, abi::Error* error) override;
  abi::Code do_retire(const abi::Handover& handover, abi::Error* error) override;
  abi::Code do_cleanup(abi::Error* error) override;
  void* do_extension(std::string_view id) override;

  UserspaceBackend(const abi::CreateArgs& args, Settings settings, std::unique_ptr<netfilter::Kernel> kernel,
                   bool owns_node);
  void start();
  void start_engine();
  void report_lost();
  void retire_leftovers(const std::vector<std::string>& claims);
  void say_tools();
  // What the transaction asks for, served; the rules that lead there.
  std::vector<Portal> serve(const abi::Transaction& transaction, std::vector<PortalId>& removed, Problems& problems);
  std::vector<abi::ServicePort> update(const abi::Transaction& transaction, Problems& problems);
  void plan(const abi::ServicePort& port, std::vector<Portal>& portals, std::vector<PortalId>& removed,
            Problems& problems);
  void write(const abi::Transaction& transaction, const std::vector<Portal>& portals,
             const std::vector<PortalId>& removed, Problems& problems, abi::ApplyResult& result);
  void note_tools(bool given_up, abi::ApplyResult& result);
  void tell_relays(const abi::Transaction& transaction);

  const Settings settings_;
  const std::string state_dir_;
  const bool beside_predecessor_;
  const bool owns_node_;  // limits and privileges of the process and settings of the kernel matter
  std::unique_ptr<netfilter::Kernel> kernel_;
  PortalWriter writer_;

  // From the first apply() on: --cleanup and trying modes take neither threads nor sockets.
  std::shared_ptr<Engine> engine_;
  std::unique_ptr<MetricsReporter> metrics_;
  std::shared_ptr<RelayedCount> relayed_;
  const std::shared_ptr<RelayMark> relay_mark_ = std::make_shared<RelayMark>(0);
  KeptSockets kept_;
  std::unique_ptr<ServiceTable> table_;
  std::unique_ptr<Retirement> retirement_;
  AffinityExchange affinity_;
  Inspected inspected_{*this};
  std::uint64_t report_ = 0;
  abi::HostRelay* host_relay_ = nullptr;

  bool valid_ = false;  // the kernel has what the last transaction asked for
  std::uint64_t generation_ = 0;
  PortalFacts facts_;
  ClaimFacts claim_facts_;
  netfilter::LeftOut left_out_{host()};
  std::vector<std::string> gained_;  // by this transaction, which does not name them
  bool said_tools_ = false;
  std::set<std::string> said_unusable_;
};

}  // namespace sluice::userspace
