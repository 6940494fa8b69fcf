// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The table kube-proxy of one family, behind one file: everything the backend asks of nf_tables. Tests have a model of it.
// One thread, but for what is said otherwise.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plugins/nftables/kernel/batch.hpp"
#include "plugins/nftables/kernel/listing.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::nftables {

inline constexpr char kTableName[] = "kube-proxy";
inline constexpr char kNfTables[] = "nf_tables";  // the object of errors that concern the subsystem as a whole

// Since the object was made.
struct KernelFigures {
  std::uint64_t commits = 0;   // transactions that were carried out
  std::uint64_t writes = 0;    // elements, rules, chains, sets in them
  std::uint64_t refused = 0;   // transactions that were not
  std::uint64_t listings = 0;
  std::uint64_t bytes = 0;     // sent
};

struct TrafficCount {
  FrontendKey frontend;
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
};

class TableKernel {
 public:
  virtual ~TableKernel() = default;

  // The whole table as it was at one time; what others do to theirs meanwhile does not matter, as long as it can be told apart.
  // Throws sdk::Failure (kRetry for what passes).
  virtual Listing list() = 0;

  // Of nf_tables, now: a listing of the same generation is still right. Throws sdk::Failure.
  virtual std::uint32_t generation() = 0;

  // One transaction. Empty: it was carried out. Otherwise nothing was, and each refusal is named once; at least one is. Throws
  // sdk::Failure when it is not known what happened (kRetry), or for lack of privilege (kDenied).
  virtual std::vector<Refusal> commit(const Batch& batch) = 0;

  // Has the kernel take everything the batch has and forget it again, under another table name: nothing is left. For probe().
  virtual std::vector<Refusal> rehearse(const Batch& batch) = 0;

  // Packets and bytes of Services, of the sets with counters.
  virtual std::vector<TrafficCount> traffic() = 0;

  // Of map affinity, in any order; none where there is no such map.
  virtual std::vector<RememberedClient> clients() = 0;

  // False when there was none.
  virtual bool delete_table() = 0;

  virtual const KernelFigures& figures() const noexcept = 0;
};

// Told on a thread of its own when somebody else has changed our table; `sentence` says what and, where it is known, who. Called
// once until rearm(); also when notifications were lost, as then nobody knows.
class TableWatch {
 public:
  using Changed = std::function<void(const std::string& sentence)>;
  virtual ~TableWatch() = default;
  // Begins; a second call does nothing. Throws sdk::Failure.
  virtual void start(Changed changed) = 0;
  virtual void rearm() = 0;  // any thread
};

struct Table {
  std::unique_ptr<TableKernel> kernel;
  std::unique_ptr<TableWatch> watch;  // leaves out what `kernel` does
};

// That of this node. Opens nothing yet: sockets belong to the network namespace of the first use.
Table open_table(abi::Family family);

}  // namespace sluice::nftables
