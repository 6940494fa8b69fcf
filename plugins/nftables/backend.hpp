// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The backend: one object per IP family, called from one thread. It chooses between a full and a delta write, and
// reports; the model computes the wanted state, the writer brings it into the kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/common/extensions.hpp"
#include "plugins/common/netfilter/not_programmed.hpp"
#include "plugins/common/netfilter/retirement.hpp"
#include "plugins/nftables/affinity_clients.hpp"
#include "plugins/nftables/kernel/table_kernel.hpp"
#include "plugins/nftables/listing_file.hpp"
#include "plugins/nftables/metrics.hpp"
#include "plugins/nftables/model/model.hpp"
#include "plugins/nftables/offload.hpp"
#include "plugins/nftables/read_ahead.hpp"
#include "plugins/nftables/resync_throttle.hpp"
#include "plugins/nftables/settings.hpp"
#include "plugins/nftables/traffic.hpp"
#include "plugins/nftables/write_order.hpp"
#include "plugins/nftables/writer.hpp"
#include "sluice/sdk/backend_base.hpp"

namespace sluice::nftables {

class NftablesBackend final : public sdk::BackendBase, private common::AffinityBase, private common::InspectionBase {
 public:
  explicit NftablesBackend(const abi::CreateArgs& args);
  // Uses `table` instead of the table of this node. For tests.
  NftablesBackend(const abi::CreateArgs& args, Table table);
  ~NftablesBackend() override;

 private:
  // The wanted state depends on these facts: a change requires a full transaction, except for node port addresses.
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
  void do_export(abi::AffinitySink& sink) override;
  void do_import(const abi::ArrayView& clients) override;
  void do_inspect(inspection::Answer& answer) override;
  void do_count(inspection::CounterRows& rows) override;
  void do_find_drift(inspection::DriftRows& rows) override;
  void do_explain(inspection::Explanation& steps) override;

  Facts read_facts(const abi::NodeFacts& node) const;
  void log_unusable_addresses(const abi::NodeFacts& node);
  void write_full(const abi::Transaction& transaction, Problems& problems);
  void write_delta(const abi::Transaction& transaction, const TableFacts& before, Problems& problems);
  void plan(const abi::Transaction& transaction, Problems& problems);
  void note_refused(const Writer::Refused& refused, Problems& problems);
  void forget(const PortId& id);
  void forget_derived(const PortId& id);
  // Nothing without offloadInterfaces. Failures are only logged: serving does not depend on offload.
  void update_offload();
  void report_gained();
  void report();
  void add_clients(const std::vector<RememberedClient>& clients);
  // Returns false if at least one of the chains did not exist.
  bool remove_entry_chains();
  void remove_table();
  // Call first in an inspection. Throws sdk::Failure (kRetry) before the first successful apply().
  void begin_inspection();
  Listing inspected_table();
  void save_listing();
  void check_saved_listing();

  const Settings settings_;
  Model model_;
  WriteOrder write_order_;
  NoLocalEndpoints no_local_endpoints_;
  Traffic traffic_;
  Metrics metrics_;
  ResyncThrottle resync_throttle_;
  Table table_;  // its watch calls resync_throttle_
  Writer writer_;
  const ListingFile listing_file_;
  ReadAhead read_ahead_;
  OffloadInterfaces offload_;
  std::string offload_problem_;  // already logged

  bool old_backend_serves_;  // another backend serves until the first apply() succeeds
  ImportedClients imported_clients_;
  netfilter::Retirement retirement_;

  bool valid_ = false;  // the kernel has what the last transaction requested
  bool model_written_ = false;  // the last apply() succeeded: model_ and facts_ are what it wrote
  std::uint64_t generation_ = 0;
  Facts facts_;
  std::optional<std::uint64_t> check_at_;  // the kernel's table was not read yet, and is checked then
  netfilter::NotProgrammed not_programmed_{host()};
  bool ids_requested_ = false;                // since the last full transaction
  std::set<std::string> unusable_addresses_;  // node port addresses already reported as unusable
};

}  // namespace sluice::nftables
