// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The backend: one object per IP family, called from one thread. It decides between
// full and delta, keeps what was written, and watches over it; the work is done in
// plan, full, delta and cleanup.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/common/netfilter/kernel.hpp"
#include "plugins/common/netfilter/kernel_session.hpp"
#include "plugins/common/netfilter/retirement.hpp"
#include "plugins/iptables/affinity.hpp"
#include "plugins/iptables/apply.hpp"
#include "plugins/iptables/cleanup.hpp"
#include "plugins/iptables/counters.hpp"
#include "plugins/iptables/plan.hpp"
#include "plugins/iptables/recent_lists.hpp"
#include "plugins/iptables/reporter.hpp"
#include "plugins/iptables/service_names.hpp"
#include "plugins/iptables/state.hpp"
#include "sluice/abi/affinity.hpp"
#include "sluice/abi/inspection.hpp"
#include "sluice/abi/preparation.hpp"
#include "sluice/sdk/backend_base.hpp"

namespace sluice::iptables {

class IptablesBackend final : public sdk::BackendBase {
 public:
  explicit IptablesBackend(const abi::CreateArgs& args);
  // With another kernel than that of this node.
  IptablesBackend(const abi::CreateArgs& args, std::unique_ptr<netfilter::Kernel> kernel,
                  std::unique_ptr<RecentLists> recent = std::make_unique<KernelRecentLists>());

 private:
  // The first apply() does it as well; this is for who may write more than the daemon.
  class Prepared final : public abi::Preparation {
   public:
    explicit Prepared(IptablesBackend& backend) : backend_(backend) {}
    abi::Code prepare(const abi::NodeFacts* node, abi::Error* error) noexcept override;

   private:
    IptablesBackend& backend_;
  };
  class BoundClients final : public abi::Affinity {
   public:
    explicit BoundClients(IptablesBackend& backend) : backend_(backend) {}
    abi::Code export_clients(abi::AffinitySink* sink, abi::Error* error) noexcept override;
    abi::Code import_clients(abi::ArrayView clients, abi::Error* error) noexcept override;

   private:
    IptablesBackend& backend_;
  };

  class Inspected final : public abi::Inspection {
   public:
    explicit Inspected(IptablesBackend& backend) : backend_(backend) {}
    abi::Code services(abi::StringView name, abi::StringSink* lines, abi::Error* error) noexcept override;

   private:
    IptablesBackend& backend_;
  };

  // Node facts every rule may depend on: other values take a full transaction.
  struct Facts {
    PlanFacts plan;
    std::uint32_t flags = 0;
    std::uint32_t mark = 0;
    bool operator==(const Facts&) const = default;
  };

  abi::Code do_probe(abi::Error* error) override;
  abi::Code do_apply(const abi::Transaction& transaction, const abi::NodeFacts& node, abi::ApplyResult& result,
                     abi::Error* error) override;
  abi::Code do_verify(abi::Error* error) override;
  abi::Code do_claims(abi::StringSink& sink, abi::Error* error) override;
  abi::Code do_retire(const abi::Handover& handover, abi::Error* error) override;
  abi::Code do_cleanup(abi::Error* error) override;
  void* do_extension(std::string_view id) override;

  void write(const abi::Transaction& transaction, const abi::NodeFacts& node, const Facts& facts,
             netfilter::Submitter& submitter);
  void note_cost(abi::ApplyResult& result) const;
  void write_full(ApplyContext& context, const abi::Transaction& transaction, const abi::NodeFacts& node,
                  const Facts& facts);
  void write_full_once(const ApplyContext& context, const abi::Transaction& transaction, const abi::NodeFacts& node);
  PlanChoices choices(const abi::Transaction& transaction, const Facts& facts) const;
  void prepare_node(const abi::NodeFacts& node);
  void route_localhost(const abi::NodeFacts& node);
  bool may_be_damaged(std::uint64_t now);
  bool is_nft();
  bool has_canary();
  std::string claim(Table table, std::string_view chain) const;
  std::vector<std::string> claimed() const;
  KeepChain kept_for(std::vector<std::string> claims) const;
  bool go_on(std::uint32_t drain_seconds);
  void bind_clients();

  std::unique_ptr<netfilter::Kernel> kernel_;
  netfilter::KernelSession session_;
  Reporter reporter_;
  Counters counters_;
  std::unique_ptr<RecentLists> recent_;
  AffinityBook affinity_;
  ServiceNames names_;
  Prepared prepared_{*this};
  BoundClients bound_clients_{*this};
  Inspected inspected_{*this};

  bool valid_ = false;  // state_ is what the kernel holds, as far as it depends on us
  std::uint64_t generation_ = 0;
  Facts facts_;
  std::uint64_t node_version_ = 0;
  State state_;
  // Service ports whose rules the kernel refuses, by printed name, which were found in an apply that failed nevertheless:
  // not tried in the next one that is full.
  std::set<std::string> skipped_;

  std::uint64_t next_look_ = 0;  // verify() does not read the kernel before this time
  // Another backend serves until the first apply() is done.
  bool predecessor_serves_;
  netfilter::Retirement retirement_;
  std::unique_ptr<Removal> removal_;  // under way since the last retire()
  std::vector<std::string> removal_claims_;  // what it keeps

  bool said_tools_ = false;
  bool warned_of_sysctl_ = false;
};

}  // namespace sluice::iptables
