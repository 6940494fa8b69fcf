// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/kernel/netlink_table.hpp"

#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <type_traits>
#include <utility>

#include "plugins/common/netlink/error.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::nftables {
namespace {

// A transaction of the other family would interrupt a dump, and a listing that was interrupted takes questions about who it was.
// Those of this process wait for each other instead. No destructor runs for it:
// the plugin may be unloaded at any time nobody uses it.
constinit std::mutex one_at_a_time;
static_assert(std::is_trivially_destructible_v<std::mutex>);

std::uint64_t count_writes(const Batch& batch) {
  std::uint64_t writes = batch.create_sets.size() + batch.dispatch.size() + batch.elements.size() + batch.clients.size() +
                         batch.remove_chains.size();
  writes += (batch.delete_table ? 1U : 0U) + (batch.create_table ? 1U : 0U);
  for (const ChainWrite& chain : batch.chains) writes += 1 + chain.spec.rules.size();
  return writes;
}

}  // namespace

NetlinkTable::NetlinkTable(abi::Family family, netlink::OpenWire open, std::shared_ptr<OwnSenders> own,
                           std::chrono::milliseconds patience)
    : own_(std::move(own)), transactions_(family, open, own_, patience), reader_(family, open, patience) {}

Listing NetlinkTable::list() {
  const std::lock_guard lock(one_at_a_time);
  ++figures_.listings;
  return reader_.list();
}

std::uint32_t NetlinkTable::generation() {
  const std::lock_guard lock(one_at_a_time);
  return reader_.generation();
}

std::vector<Refusal> NetlinkTable::commit(const Batch& batch) {
  if (batch.empty()) return {};
  const std::lock_guard lock(one_at_a_time);
  const std::uint64_t writes = count_writes(batch);
  std::vector<Refusal> refusals = writes >= kTooManyToHear && own_->has_listener()
                                      ? commit_unheard(batch)
                                      : transactions_.run(batch, kTableName, TransactionSocket::Fate::kCarriedOut);
  if (refusals.empty()) {
    ++figures_.commits;
    figures_.writes += writes;
  } else {
    ++figures_.refused;
  }
  return refusals;
}

// Whether somebody else wrote while nobody listened is told by the generation: it was asked for while there still was a listener, and
// is again when there is one again. What was counted before is told before nobody listens, so that no change falls between.
std::vector<Refusal> NetlinkTable::commit_unheard(const Batch& batch) {
  std::uint32_t expected = reader_.generation();
  transactions_.wait_for_others();
  own_->hear(false);
  std::vector<Refusal> refusals;
  try {
    refusals = transactions_.run(batch, kTableName, TransactionSocket::Fate::kCarriedOut);
  } catch (...) {
    own_->hear(true);
    own_->missed();
    throw;
  }
  own_->hear(true);
  if (refusals.empty() && ++expected == 0) ++expected;
  bool known = false;
  try {
    known = reader_.generation() == expected;
  } catch (const sdk::Failure&) {
    // The transaction is what it is.
  }
  if (!known) own_->missed();
  return refusals;
}

// A batch that has no end: the kernel takes each message as always, loads modules it needs, registers hooks, and then aborts, without a
// generation, a notification, or a moment in which others see any of it. That is how nft --check does it. A batch with a message that
// must fail comes to the same by a way that is not made for it; one that creates and deletes is committed, and makes a new generation.
// What only a look at whole chains finds (a loop) is not noticed here where the table is new: since validation belongs to the table, it is
// asked for and forgotten with it. An expression, a type of set or an attribute the kernel does not have is.
std::vector<Refusal> NetlinkTable::rehearse(const Batch& batch) {
  if (batch.empty()) return {};
  const std::string table = "sluice-probe-" + std::to_string(getpid());
  // Makes no generation, so that nobody's listing is disturbed.
  return transactions_.run(batch, table, TransactionSocket::Fate::kForgotten);
}

std::vector<TrafficCount> NetlinkTable::traffic() {
  const std::lock_guard lock(one_at_a_time);
  return reader_.traffic();
}

std::vector<RememberedClient> NetlinkTable::clients() {
  const std::lock_guard lock(one_at_a_time);
  return reader_.clients();
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

const KernelFigures& NetlinkTable::figures() const noexcept {
  figures_.bytes = transactions_.bytes();
  return figures_;
}

}  // namespace sluice::nftables
