// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/kernel/netlink_table.hpp"

#include <unistd.h>

#include <cerrno>
#include <type_traits>
#include <utility>

#include "lib/mutex.hpp"
#include "plugins/common/netlink/error.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::nftables {
namespace {

// Serializes the transactions and listings of this process: a transaction of the other family interrupts a dump, and
// the listing must then find out which table changed. Trivially destructible, as the plugin may be unloaded.
constinit lib::Mutex one_at_a_time;
static_assert(std::is_trivially_destructible_v<lib::Mutex>);

std::uint64_t count_writes(const Batch& batch) {
  std::uint64_t writes = batch.create_sets.size() + batch.dispatch.size() + batch.elements.size() + batch.clients.size() +
                         batch.remove_chains.size() + batch.remove_interfaces.size() + batch.add_interfaces.size();
  writes += (batch.delete_table ? 1U : 0U) + (batch.create_table ? 1U : 0U) + (batch.create_flowtable ? 1U : 0U);
  for (const ChainWrite& chain : batch.chains) writes += 1 + chain.spec.rules.size();
  return writes;
}

}  // namespace

NetlinkTable::NetlinkTable(abi::Family family, netlink::OpenRawSocket open, std::shared_ptr<OwnSenders> own,
                           std::chrono::milliseconds timeout)
    : own_(std::move(own)), transactions_(family, open, own_, timeout), reader_(family, open, timeout) {}

Listing NetlinkTable::list() {
  const lib::Lock lock(one_at_a_time);
  ++statistics_.listings;
  return reader_.list();
}

std::uint32_t NetlinkTable::generation() {
  const lib::Lock lock(one_at_a_time);
  return reader_.generation();
}

std::optional<TableState> NetlinkTable::state() {
  const lib::Lock lock(one_at_a_time);
  std::optional<TableState> state = reader_.state();
  if (state) transactions_.flush_notifications();
  return state;
}

std::vector<Refusal> NetlinkTable::commit(const Batch& batch) {
  if (batch.empty()) return {};
  const lib::Lock lock(one_at_a_time);
  const std::uint64_t writes = count_writes(batch);
  std::vector<Refusal> refusals = writes >= kMuteThreshold && own_->has_listener()
                                      ? commit_muted(batch)
                                      : transactions_.run(batch, kTableName, TransactionSocket::Mode::kCommit);
  if (refusals.empty()) {
    ++statistics_.commits;
    statistics_.writes += writes;
  } else {
    ++statistics_.refused;
  }
  return refusals;
}

// The generation shows whether another process wrote while notifications were off: it is read before they are
// switched off, and after they are on again. Earlier transactions are flushed first, so that no change is missed.
std::vector<Refusal> NetlinkTable::commit_muted(const Batch& batch) {
  std::uint32_t expected = reader_.generation();
  transactions_.flush_notifications();
  own_->set_listening(false);
  std::vector<Refusal> refusals;
  try {
    refusals = transactions_.run(batch, kTableName, TransactionSocket::Mode::kCommit);
  } catch (...) {
    own_->set_listening(true);
    own_->missed();
    throw;
  }
  own_->set_listening(true);
  if (refusals.empty() && ++expected == 0) ++expected;
  bool known = false;
  try {
    known = reader_.generation() == expected;
  } catch (const sdk::Failure&) {
    // Without a generation, a change is assumed.
  }
  if (!known) own_->missed();
  return refusals;
}

// A batch without an end message: the kernel processes each message, loads modules, registers hooks, and then aborts
// without a generation or a notification, as in nft --check. Failing on purpose is no alternative, and creating plus
// deleting is committed and makes a generation. Loops between chains are not found, as the kernel validates them per
// table at commit; an unsupported expression, set type or attribute is.
std::vector<Refusal> NetlinkTable::dry_run(const Batch& batch) {
  if (batch.empty()) return {};
  const std::string table = "sluice-probe-" + std::to_string(getpid());
  // Makes no generation, so it does not disturb listings.
  return transactions_.run(batch, table, TransactionSocket::Mode::kDryRun);
}

std::vector<TrafficCount> NetlinkTable::traffic() {
  const lib::Lock lock(one_at_a_time);
  return reader_.traffic();
}

std::vector<RememberedClient> NetlinkTable::clients() {
  const lib::Lock lock(one_at_a_time);
  return reader_.clients();
}

std::optional<std::vector<std::string>> NetlinkTable::flowtable_interfaces() {
  const lib::Lock lock(one_at_a_time);
  return reader_.flowtable_interfaces();
}

bool NetlinkTable::delete_table() {
  Batch batch;
  batch.delete_table = true;
  const std::vector<Refusal> refusals = commit(batch);
  if (refusals.empty()) return true;
  if (refusals.front().error == ENOENT) return false;
  netlink::fail(refusals.front().error, "nf_tables", "cannot delete the table kube-proxy",
                refusals.front().error == EPERM ? "it belongs to another program, which has to be ended" : "");
}

const KernelStatistics& NetlinkTable::statistics() const noexcept {
  statistics_.bytes = transactions_.bytes();
  return statistics_;
}

}  // namespace sluice::nftables
