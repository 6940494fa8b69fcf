// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/retirement.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "plugins/common/log_ids.hpp"
#include "plugins/common/netfilter/claims.hpp"
#include "plugins/ipvs/cleanup.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::ipvs {
namespace {

// The kernel ends connections of a removed virtual server with a short delay.
constexpr std::chrono::milliseconds kConntrackDelay{500};

}  // namespace

bool Retirement::has_tools() {
  try {
    kernels_.rules->tools();
    return true;
  } catch (const sdk::Failure& failure) {
    log_.warning(log_id::kChainsNotRemoved, std::string("no chains are removed: ") + failure.what());
    return false;
  }
}

std::vector<ServerKey> Retirement::our_servers(bool sets_unread) const {
  const Ownership::Evidence now = evidence(sets_unread);
  std::vector<ServerKey> ours;
  for (const ServerKey& key : writers_.servers.held()) {
    if (ownership_.is_ours(key, now)) ours.push_back(key);
  }
  return ours;
}

void Retirement::remove_all(const NewBackendClaims& keep) {
  if (const std::string what = waiting(); !what.empty())
    log_.info(log_id::kDrainTimeout, "drain timeout expired, ending " + what);
  stop_waiting();
  Parts parts{has_tools() ? &writers_.rules : nullptr, nullptr, nullptr, &writers_.links};
  if (kernels_.has_sets()) parts.sets = &writers_.sets;
  if (kernels_.has_ipvs()) parts.servers = &writers_.servers;
  Attempts attempt;
  const bool sets_read = parts.sets == nullptr || attempt([this] { writers_.sets.read_back(); });
  attempt([this] { writers_.links.read_back(); });
  std::vector<ServerKey> ours;
  if (parts.servers != nullptr && !keep.covers(servers_claim())) {
    const bool servers_read = attempt([this] { writers_.servers.refresh(); });
    const bool addresses_read = attempt([this] { local_ = kernels_.local_addresses(); });
    ours = our_servers(!sets_read);
    if (!(sets_read && servers_read && addresses_read)) parts.sets = nullptr;
  }
  remove_unclaimed(parts, family_, ours, keep, log_, attempt);
  attempt.finish();
  flows_.stop(kConntrackDelay);
}

bool Retirement::step(const NewBackendClaims& keep) {
  if (!waiting_) begin(keep);
  const std::vector<ServerKey> idle = writers_.servers.find_idle(*waiting_, kernels_.connections);
  std::vector<ServerKey> busy;
  std::set_difference(waiting_->begin(), waiting_->end(), idle.begin(), idle.end(), std::back_inserter(busy));
  const std::vector<abi::Address> free =
      keep.covers(link_claim()) ? std::vector<abi::Address>() : find_unused_addresses(busy);
  if (busy.empty() && source_addresses_ == 0) {
    stop_waiting();
    remove_all(keep);
    return true;
  }
  // The sets stay: another process identifies our virtual servers and addresses by them.
  writers_.links.unbind(free);
  writers_.servers.remove(idle);
  waiting_ = std::move(busy);
  return false;
}

// So that addresses can be removed one by one without breaking local connections through the new backend.
void Retirement::set_usual_source() {
  const std::optional<abi::Address> source = kernels_.usual_source();
  if (!source || !local_.contains(*source)) return;
  const Ownership::Evidence now = evidence(false);
  std::vector<abi::Address> ours;
  for (const abi::Address& address : writers_.links.held()) {
    if (ownership_.is_ours(address, now)) ours.push_back(address);
  }
  try {
    writers_.links.set_source(ours, *source);
  } catch (const sdk::Failure& failure) {
    log_.warning(log_id::kNodeConnectionsEnd,
                 std::string(failure.what()) + "; connections of this node to service addresses end with the drain");
  }
}

std::vector<abi::Address> Retirement::find_unused_addresses(const std::vector<ServerKey>& busy) {
  std::set<abi::Address> needed;
  for (const ServerKey& key : busy) needed.insert(key.address);
  const std::set<abi::Address> connected = kernels_.connected_addresses();
  const Ownership::Evidence now = evidence(false);
  std::vector<abi::Address> free;
  source_addresses_ = 0;
  for (const abi::Address& address : writers_.links.held()) {
    if (!ownership_.is_ours(address, now)) continue;
    if (connected.contains(address)) {
      ++source_addresses_;
    } else if (!needed.contains(address)) {
      free.push_back(address);
    }
  }
  return free;
}

void Retirement::begin(const NewBackendClaims& keep) {
  if (kernels_.has_ipvs()) flows_.listen();
  if (has_tools()) {
    writers_.rules.remove_nat_jumps([&](netfilter::Table table, const std::string& chain) {
      return keep.covers(netfilter::claim_of(family_, table, chain));
    });
  }
  std::vector<ServerKey> ours;
  if (kernels_.has_ipvs()) {
    if (kernels_.has_sets()) writers_.sets.read_back();
    writers_.links.read_back();
    writers_.servers.refresh();
    local_ = kernels_.local_addresses();
    ours = our_servers(false);
    flows_.start(ours);
    writers_.servers.quiesce(ours);
    if (family_ == abi::Family::kIpv4 && !keep.covers(link_claim())) set_usual_source();
  }
  waiting_ = std::move(ours);
}

std::string Retirement::waiting() const {
  std::string text;
  if (waiting_ && !waiting_->empty()) text = "connections to " + std::to_string(waiting_->size()) + " virtual servers";
  if (source_addresses_ == 0) return text;
  if (!text.empty()) text += " and ";
  return text + "connections of this node from " + std::to_string(source_addresses_) + " service addresses";
}

}  // namespace sluice::ipvs
