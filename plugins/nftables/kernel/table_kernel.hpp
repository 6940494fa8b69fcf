// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The table kube-proxy of one address family: the only interface between the backend and nf_tables. Tests have a
// model of it. One thread, except where noted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "names/objects.hpp"
#include "plugins/nftables/kernel/batch.hpp"
#include "plugins/nftables/kernel/listing.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::nftables {

inline constexpr const char* kTableName = names::kNftTable.name.data();
inline constexpr char kNfTables[] = "nf_tables";  // object of errors about the whole subsystem

// Counters since the object was created.
struct KernelStatistics {
  std::uint64_t commits = 0;  // committed transactions
  std::uint64_t writes = 0;   // elements, rules, chains, sets and interfaces of the flowtable in them
  std::uint64_t refused = 0;  // refused transactions
  std::uint64_t listings = 0;
  std::uint64_t bytes = 0;  // bytes sent
};

struct TrafficCount {
  FrontendKey frontend;
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
};

// A state of our table: it has not changed if both are equal.
struct TableState {
  std::string place;             // this boot, the network namespace, the table
  std::uint32_t generation = 0;  // of nf_tables
};

class TableKernel {
 public:
  virtual ~TableKernel() = default;

  // A consistent listing of the table. Changes of other tables during the listing do no harm if they can be
  // distinguished. Throws sdk::Failure, kRetry for transient errors.
  virtual Listing list() = 0;

  // The current generation of nf_tables: a listing of the same generation is still valid. Throws sdk::Failure.
  virtual std::uint32_t generation() = 0;

  // The current state of our table. Empty if it does not exist, or if the kernel does not number network namespaces
  // (before 5.14). The watch has the notifications of all transactions up to that state. Throws sdk::Failure.
  virtual std::optional<TableState> state() = 0;

  // One transaction. Returns nothing on success; otherwise nothing was written, and each refusal is listed once.
  // Throws sdk::Failure if the result is unknown (kRetry) or privileges are missing (kDenied).
  virtual std::vector<Refusal> commit(const Batch& batch) = 0;

  // Has the kernel validate the batch under another table name, without a commit. For probe().
  virtual std::vector<Refusal> dry_run(const Batch& batch) = 0;

  // Packets and bytes of frontends, from the sets with counters.
  virtual std::vector<TrafficCount> traffic() = 0;

  // The elements of map affinity, in any order; empty if there is no such map.
  virtual std::vector<RememberedClient> clients() = 0;

  // The interfaces of the flowtable, in any order; empty if there is no flowtable.
  virtual std::optional<std::vector<std::string>> flowtable_interfaces() = 0;

  // Returns false if there was no table.
  virtual bool delete_table() = 0;

  virtual const KernelStatistics& statistics() const noexcept = 0;
};

// Reports changes of our table by other processes, on a thread of its own. `sentence` names the change and, if known,
// the process. Called once until rearm(); also when notifications were lost.
class TableWatch {
 public:
  using Changed = std::function<void(const std::string& sentence)>;
  virtual ~TableWatch() = default;
  // Starts; a second call does nothing. Throws sdk::Failure.
  virtual void start(Changed changed) = 0;
  virtual void rearm() = 0;  // any thread
  // Ends the watch. Returns true if no other process has changed our table since the last rearm(), according to all
  // notifications that have arrived; false if one has, or if that is unknown.
  virtual bool finish() = 0;
};

struct Table {
  std::unique_ptr<TableKernel> kernel;
  std::unique_ptr<TableWatch> watch;  // ignores the writes of `kernel`
  std::function<std::vector<std::string>()> interfaces;  // names of the interfaces of this node, in any order
  // Approximate number of elements per transaction of a full write: the kernel blocks other writers meanwhile.
  std::size_t chunk = 20'000;
  std::uint32_t affinity_ids = 65'535;  // maximum number of service ports with session affinity
  std::function<std::vector<abi::Address>()> addresses{};  // of this node and this family, in any order
};

// The table of this node. Opens nothing yet: sockets belong to the network namespace of the first use.
Table open_table(abi::Family family);

}  // namespace sluice::nftables
