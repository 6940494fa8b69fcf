// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The backend: one object per IP family, called from one thread. It decides between full and delta, and what is
// reported; the model says what is wanted, the writer brings it into the kernel.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/common/netfilter/left_out.hpp"
#include "plugins/common/netfilter/retirement.hpp"
#include "plugins/nftables/affinity_clients.hpp"
#include "plugins/nftables/changes_of_others.hpp"
#include "plugins/nftables/early_listing.hpp"
#include "plugins/nftables/kernel/table_kernel.hpp"
#include "plugins/nftables/metrics.hpp"
#include "plugins/nftables/model/model.hpp"
#include "plugins/nftables/settings.hpp"
#include "plugins/nftables/traffic.hpp"
#include "plugins/nftables/urgency.hpp"
#include "plugins/nftables/writer.hpp"
#include "sluice/abi/affinity.hpp"
#include "sluice/abi/inspection.hpp"
#include "sluice/sdk/backend_base.hpp"

namespace sluice::nftables {

class NftablesBackend final : public sdk::BackendBase {
 public:
  explicit NftablesBackend(const abi::CreateArgs& args);
  // With another table than that of this node.
  NftablesBackend(const abi::CreateArgs& args, Table table);
  ~NftablesBackend() override;

 private:
  class Inspected final : public abi::Inspection {
   public:
    explicit Inspected(NftablesBackend& backend) : backend_(backend) {}
    abi::Code services(abi::StringView name, abi::StringSink* lines, abi::Error* error) noexcept override;

   private:
    NftablesBackend& backend_;
  };
  class BoundClients final : public abi::Affinity {
   public:
    explicit BoundClients(NftablesBackend& backend) : backend_(backend) {}
    abi::Code export_clients(abi::AffinitySink* sink, abi::Error* error) noexcept override;
    abi::Code import_clients(abi::ArrayView clients, abi::Error* error) noexcept override;

   private:
    NftablesBackend& backend_;
  };
  // Everything that is wanted depends on these: other values take a full transaction, but for addresses of node ports.
  struct Facts {
    TableFacts table;
    abi::Address node_ip{};
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

  Facts read_facts(const abi::NodeFacts& node) const;
  void say_unusable_addresses(const abi::NodeFacts& node);
  void write_full(const abi::Transaction& transaction, Problems& problems);
  void write_delta(const abi::Transaction& transaction, const TableFacts& before, Problems& problems);
  void plan(const abi::Transaction& transaction, Problems& problems);
  void note_refused(const Writer::Refused& refused, Problems& problems);
  void forget(const PortId& id);
  void forget_figures(const PortId& id);
  void note_gained();
  void report();
  void remember(const std::vector<RememberedClient>& clients);
  // False: there was none.
  bool close_way_in();
  void remove_table();

  const Settings settings_;
  Model model_;
  Urgency urgency_;
  NoLocalEndpoints no_local_;
  Traffic traffic_;
  Metrics metrics_;
  ChangesOfOthers others_;
  Table table_;  // its watch calls others_
  Writer writer_;
  EarlyListing early_;
  Inspected inspected_{*this};
  BoundClients bound_clients_{*this};

  bool predecessor_serves_;  // another backend does, until the first apply() is done
  KeptClients kept_clients_;
  netfilter::Retirement retirement_;

  bool valid_ = false;  // the kernel has what the last transaction asked for
  std::uint64_t generation_ = 0;
  Facts facts_;
  netfilter::LeftOut left_out_{host()};
  bool asked_for_ids_ = false;      // since the last full transaction
  std::set<std::string> unusable_;  // addresses for node ports that were complained about
};

}  // namespace sluice::nftables
