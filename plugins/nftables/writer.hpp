// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Brings the table to the wanted state in few transactions, without writing what already exists. The apply thread
// only.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "plugins/nftables/difference.hpp"
#include "plugins/nftables/kernel/table_kernel.hpp"
#include "plugins/nftables/model/model.hpp"
#include "plugins/nftables/write_order.hpp"
#include "sluice/sdk/deadline.hpp"

namespace sluice::nftables {

class Writer {
 public:
  // Refused service ports by printed name, with the reason. They are removed from the model.
  using Refused = std::map<std::string, std::string>;

  // `kernel` outlives this; `chunk` as in Table; `now` is a clock in nanoseconds.
  Writer(TableKernel& kernel, std::size_t chunk, std::function<std::uint64_t()> now)
      : kernel_(kernel), chunk_(chunk), now_(std::move(now)) {}

  // If it is cancelled, each method throws sdk::Failure (kRetry) between two transactions. Must outlive this object.
  void set_deadline(const sdk::Deadline& deadline) { deadline_ = &deadline; }

  Listing list();

  // For the first write, while another backend still serves.
  struct NewTable {
    bool base_chains_last = false;          // attach the table to the packet path when everything else exists
    std::vector<RememberedClient> clients;  // added with the last batch of a new table; cleared once all are added
  };

  // Compares `listing` with the wanted state and writes the difference, split between Services; unwanted elements are
  // removed last. After refusals it lists the table into `listing` and compares again. Throws sdk::Failure if that
  // does not converge or a refused object has no owner; the table may be partially written then.
  Refused write_all(const TableFacts& facts, Model& model, const WriteOrder& write_order, Listing& listing,
                    NewTable* new_table = nullptr);

  struct SkippedClients {
    std::size_t count = 0;
    std::string why;  // of the last one
  };
  // Adds clients that the kernel does not have yet. A client that the kernel refuses is skipped.
  SkippedClients add_clients(const std::vector<RememberedClient>& clients);

  // Writes the changes of the model in one transaction. New chains go first, in a transaction of their own, and stay
  // if the second one fails. `facts` may differ from `before` only in node port addresses. Throws sdk::Failure with
  // kNeedFull if another process has changed the table.
  Refused write_changes(const TableFacts& before, const TableFacts& facts, Model& model, const WriteOrder& write_order);

  // Removes shared chains that had no users for a second. Returns false if the kernel refuses some of them as busy:
  // all are retried later. Throws sdk::Failure with kNeedFull if another process has changed the table.
  bool remove_unused(Model& model);

  // Whether chains or elements of an earlier process are still to be removed: the table has more than the model.
  bool has_leftovers() const noexcept {
    return !(leftovers_.dispatch.empty() && leftovers_.full.empty() && leftovers_.empty.empty());
  }

  // Removes from `listing` the chains and elements of an earlier process that are still to be removed.
  void hide_leftovers(Listing& listing) const;

  // Time spent waiting for the kernel, since the object was created.
  std::chrono::nanoseconds waited() const noexcept { return waited_; }

 private:
  enum class SendResult {
    kDone,
    kPartial,        // committed without the refused elements: compare again
    kForeignChange,  // nothing committed: another process has changed the table
  };

  // Chains that an earlier process left and the model does not know. They are emptied first, and removed a second
  // later.
  struct Leftovers {
    std::uint64_t since = 0;
    std::vector<DispatchWrite> dispatch;  // elements to be removed
    std::vector<std::string> full;        // chains that may have rules
    std::vector<std::string> empty;
  };

  std::vector<Refusal> commit(const Batch& batch);
  // Continues at `done`. Returns false if the remaining clients need not be tried.
  bool add_some_clients(const std::vector<RememberedClient>& clients, std::size_t& done,
                        SkippedClients& skipped_clients);
  void empty_leftovers();
  bool take_leftover(const std::string& chain);
  // Commits `batch`, and removes refused elements from it.
  SendResult send(Batch& batch, Model& model, Refused& refused);
  // Returns false if the table must be compared again.
  bool write_once(const TableFacts& facts, Model& model, const WriteOrder& write_order, Listing& listing,
                  NewTable& new_table, Refused& refused);
  static void exclude(const std::vector<Refusal>& refusals, const Batch& batch, Model& model, Refused& refused);
  void note_users(const Model& model);

  TableKernel& kernel_;
  const std::size_t chunk_;
  std::function<std::uint64_t()> now_;
  const sdk::Deadline* deadline_ = &sdk::Deadline::unlimited();
  std::chrono::nanoseconds waited_{0};
  std::vector<Refusal> last_;                    // refusals of the last failed attempt
  std::map<std::string, std::uint64_t> unused_;  // shared chains without users, and since when
  Leftovers leftovers_;
};

}  // namespace sluice::nftables
