// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The backend: one object per IP family, called from one thread. It decides between full and delta, in which order
// the four parts of the kernel change, and what is whose; the writers do the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/common/netfilter/left_out.hpp"
#include "plugins/ipvs/damage_watch.hpp"
#include "plugins/ipvs/inspection.hpp"
#include "plugins/ipvs/links/address_writer.hpp"
#include "plugins/ipvs/metrics.hpp"
#include "plugins/ipvs/node_kernels.hpp"
#include "plugins/ipvs/ownership.hpp"
#include "plugins/ipvs/plan.hpp"
#include "plugins/ipvs/port_clashes.hpp"
#include "plugins/ipvs/retirement.hpp"
#include "plugins/ipvs/rules/rule_writer.hpp"
#include "plugins/ipvs/servers/server_writer.hpp"
#include "plugins/ipvs/sets/set_writer.hpp"
#include "plugins/ipvs/settings.hpp"
#include "plugins/ipvs/wanted.hpp"
#include "sluice/abi/affinity.hpp"
#include "sluice/abi/inspection.hpp"
#include "sluice/abi/preparation.hpp"
#include "sluice/sdk/backend_base.hpp"

namespace sluice::ipvs {

class IpvsBackend final : public sdk::BackendBase {
 public:
  explicit IpvsBackend(const abi::CreateArgs& args);
  // With other kernels than those of this node.
  IpvsBackend(const abi::CreateArgs& args, NodeKernels kernels);

 private:
  // The first apply() does it as well; this is for who may write more than the daemon.
  class Prepared final : public abi::Preparation {
   public:
    explicit Prepared(IpvsBackend& backend) : backend_(backend) {}
    abi::Code prepare(const abi::NodeFacts* node, abi::Error* error) noexcept override;

   private:
    IpvsBackend& backend_;
  };
  // Session affinity for a successor.
  class BoundClients final : public abi::Affinity {
   public:
    explicit BoundClients(IpvsBackend& backend) : backend_(backend) {}
    abi::Code export_clients(abi::AffinitySink* sink, abi::Error* error) noexcept override;
    abi::Code import_clients(abi::ArrayView clients, abi::Error* error) noexcept override;

   private:
    IpvsBackend& backend_;
  };
  class Inspected final : public abi::Inspection {
   public:
    explicit Inspected(IpvsBackend& backend) : backend_(backend) {}
    abi::Code services(abi::StringView name, abi::StringSink* lines, abi::Error* error) noexcept override;

   private:
    IpvsBackend& backend_;
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

  void prepare();
  void warn(const char* reason, const std::string& sentence);
  void say_tools();
  void refresh();
  void plan(const abi::Transaction& transaction, Problems& problems);
  static void note_losers(const std::vector<Wanted::Conflict>& conflicts, std::set<PortId>& losers);
  void note_conflicts(const std::set<PortId>& losers, Problems& problems);
  void add_withheld(const PortId& id, Problems& problems) const;
  Changes all_changes();
  bool wants(const SetItem& item) const;
  void write(Changes changes, bool full, Problems& problems);
  void note_refused(const abi::Transaction& transaction, Problems& problems);
  void leave_alone(const std::string& name, ServicePlan& plan, Problems& problems) const;
  void add(const std::vector<SetItem>& items);
  // Returns what else changes by what the kernel has said.
  Changes put(const std::vector<WantedServer>& wanted, Problems& problems);
  // True when the rest is to be written after virtual servers and addresses.
  bool write_all_rules(RuleWriter::Wait wait);
  void change_rules(const Changes& changes);
  RulePlan rule_plan() const;
  template <class Write>
  void write_rules(const Write& write);
  Ownership::Shown shown() const { return {sets_, links_.held(), facts_.local_addresses}; }
  void drain_meanwhile();
  SeenNode read_node();
  void note_cost(std::uint64_t sent_before, std::uint64_t begin, abi::ApplyResult& result);
  void note_gained();
  void report(abi::ApplyResult& result);
  Messages all_messages() const;
  Messages messages() const;  // without those of probe(), of which nothing is left

  const Settings settings_;
  NodeKernels kernels_;
  RuleWriter rules_;
  SetWriter sets_;
  ServerWriter servers_;
  AddressWriter links_;
  Ownership ownership_;
  Wanted wanted_;
  std::set<PortId> gained_;  // service ports that no longer lack an external address
  NoLocalEndpoints no_local_;
  Metrics metrics_;
  DamageWatch damage_;
  PortClashes clashes_;
  Retirement retirement_;

  Prepared prepared_{*this};
  BoundClients bound_clients_{*this};
  Inspected inspected_{*this};

  Messages probing_;
  bool valid_ = false;  // the kernel has what the last transaction asked for
  std::uint64_t generation_ = 0;
  PlanFacts facts_;
  RuleFacts rule_facts_;
  std::uint32_t rules_for_ = 0;  // the sets that had entries when rules were written
  std::size_t lines_ = 0;        // of rules, in this apply
  netfilter::LeftOut left_out_{host()};
  bool predecessor_serves_ = false;  // until an apply() of ours is in the kernel
  bool said_tools_ = false;
  bool lacking_ = false;  // the kernel did not support something when it was last written to
};

}  // namespace sluice::ipvs
