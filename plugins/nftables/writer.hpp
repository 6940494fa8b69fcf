// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Brings the table to what is wanted, in few transactions and with nothing that is there already. The apply thread
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
#include "plugins/nftables/urgency.hpp"

namespace sluice::nftables {

class Writer {
 public:
  // Elements in one transaction of a load, about: nobody else writes while it is carried out.
  static constexpr std::size_t kChunk = 20000;

  // What the kernel refuses, by printed name, and why. Those have left the model.
  using Refused = std::map<std::string, std::string>;

  // `kernel` outlives this; `now` is a clock in nanoseconds.
  Writer(TableKernel& kernel, std::function<std::uint64_t()> now) : kernel_(kernel), now_(std::move(now)) {}

  Listing list();

  // How the table comes to be where another backend serves until now.
  struct Opening {
    bool last = false;  // packets come in when everything else is there
    std::vector<RememberedClient> clients;  // written then; taken out of here when they were, all of them
  };

  // Compares `seen` with what is wanted and writes the difference, at borders of service ports; what nobody wants goes
  // last. After refusals the table is listed again, into `seen`, and again compared. Throws sdk::Failure when that does
  // not end, or what is refused belongs to nobody: then some of it is in the kernel.
  // `opening`: of the first one; clients only go into a table that is new.
  Refused write_all(const TableFacts& facts, Model& model, const Urgency& urgency, Listing& seen,
                    Opening* opening = nullptr);

  struct Forgotten {
    std::size_t count = 0;
    std::string why;  // of the last one
  };
  // Adds those the kernel does not know by now, of the same service port. Those it does not take, for whatever reason, are
  // left out.
  Forgotten remember(const std::vector<RememberedClient>& clients);

  // What has changed in the model, in one transaction, or two when it takes new chains: these are there first, and stay when the
  // second one fails. `facts` differ from `before` in addresses of node ports at the
  // most. Throws sdk::Failure with kNeedFull when somebody else has changed the table.
  Refused write_changes(const TableFacts& before, const TableFacts& facts, Model& model, const Urgency& urgency);

  // Removes shared chains that had no users for a second; does nothing when there are none. False: the kernel keeps
  // some of them for now, all are tried again. Throws sdk::Failure with kNeedFull when somebody else has changed the
  // table.
  bool remove_unused(Model& model);

  // Time spent waiting for the kernel, since the object was made.
  std::chrono::nanoseconds waited() const noexcept { return waited_; }

 private:
  enum class Sent {
    kDone,
    kLeftOut,     // but for what is refused: compare once more
    kInterfered,  // nothing, as somebody else changes the table
  };

  // Of earlier days: what the model does not know. It is emptied first, and removed a second later.
  struct Leftovers {
    std::uint64_t since = 0;
    std::vector<DispatchWrite> dispatch;  // to be removed
    std::vector<std::string> full;        // chains that may have rules
    std::vector<std::string> empty;
  };

  std::vector<Refusal> commit(const Batch& batch);
  // From number `done` on. False: it is of no use to try the rest.
  bool remember_some(const std::vector<RememberedClient>& clients, std::size_t& done, Forgotten& forgotten);
  void empty_leftovers();
  bool take_leftover(const std::string& chain);
  // Takes out of `batch` what it leaves out.
  Sent send(Batch& batch, Model& model, Refused& refused);
  // False: compare once more.
  bool write_once(const TableFacts& facts, Model& model, const Urgency& urgency, Listing& seen, Opening& opening,
                  Refused& refused);
  static void leave_out(const std::vector<Refusal>& refusals, const Batch& batch, Model& model, Refused& refused);
  void note_users(const Model& model);

  TableKernel& kernel_;
  std::function<std::uint64_t()> now_;
  std::chrono::nanoseconds waited_{0};
  std::vector<Refusal> last_;                    // refusals, why it was not done in one go
  std::map<std::string, std::uint64_t> unused_;  // shared chains without users, and since when
  Leftovers leftovers_;
};

}  // namespace sluice::nftables
