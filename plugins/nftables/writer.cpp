// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/writer.hpp"

#include <algorithm>
#include <cerrno>
#include <set>
#include <tuple>
#include <utility>

#include "plugins/common/netlink/error.hpp"
#include "plugins/nftables/refusal_text.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::nftables {
namespace {

// Attempts for one transaction, each with fewer service ports; and comparisons of the whole table while other
// processes change it.
constexpr int kTries = 8;
constexpr int kRounds = 5;
// From this number of chunks on, the table is compared with the kernel instead, which splits the write.
constexpr std::size_t kHugeChange = 5;
// Clients per transaction. If it is refused, each client is tried alone to find the refused ones.
constexpr std::size_t kClientsAtOnce = 512;
// Old kernels release references of deleted rules with a delay.
constexpr std::uint64_t kChainGracePeriod = 1'000'000'000;

[[noreturn]] void fail(const std::vector<Refusal>& refusals) {
  const int error = refusals.front().error;
  const abi::Code code = netlink::code_of(error);
  throw sdk::Failure(code, std::string("table ") + kTableName, refusal_text(refusals), error);
}

[[noreturn]] void fail_changed(const std::vector<Refusal>& refusals) {
  throw sdk::Failure(abi::Code::kNeedFull, std::string("table ") + kTableName,
                     "another process has changed the table: " + refusal_text(refusals), refusals.front().error);
}

// Transient errors are not caused by the service port: keep it and retry everything.
bool is_transient(const Refusal& refusal) {
  const abi::Code code = netlink::code_of(refusal.error);
  return code == abi::Code::kRetry || code == abi::Code::kDenied;
}

bool is_unowned(const Refusal& refusal) noexcept { return refusal.owner == 0; }

void remove_named(Model& model, const std::string& name) {
  for (const abi::Protocol protocol : {abi::Protocol::kTcp, abi::Protocol::kUdp, abi::Protocol::kSctp}) {
    model.remove({name, protocol});
  }
}

void add_addresses(const TableFacts& before, const TableFacts& facts, Batch& batch) {
  const auto add = [&](const std::vector<abi::Address>& from, const std::vector<abi::Address>& but, bool remove) {
    for (const abi::Address& address : from) {
      if (std::binary_search(but.begin(), but.end(), address)) continue;
      const Key key = address_key(facts.layout.family, address);
      batch.elements.push_back({{SetId::kNodePortIps, key, {}}, remove, 0, {}});
    }
  };
  add(before.node_port_ips, facts.node_port_ips, true);
  add(facts.node_port_ips, before.node_port_ips, false);
}

}  // namespace

Listing Writer::list() {
  deadline_->check();
  const std::uint64_t begin = now_();
  Listing listing = kernel_.list();
  waited_ += std::chrono::nanoseconds(now_() - begin);
  return listing;
}

std::vector<Refusal> Writer::commit(const Batch& batch) {
  deadline_->check();
  const std::uint64_t begin = now_();
  std::vector<Refusal> refusals = kernel_.commit(batch);
  waited_ += std::chrono::nanoseconds(now_() - begin);
  return refusals;
}

void Writer::exclude(const std::vector<Refusal>& refusals, const Batch& batch, Model& model, Refused& refused) {
  for (const Refusal& refusal : refusals) {
    const std::string& name = batch.owners.at(refusal.owner);
    if (refused.emplace(name, refusal_text(refusal)).second) remove_named(model, name);
  }
}

Writer::SendResult Writer::send(Batch& batch, Model& model, Refused& refused) {
  SendResult sent = SendResult::kDone;
  for (int tries = 0; !batch.empty(); ++tries) {
    std::vector<Refusal> refusals;
    try {
      refusals = commit(batch);
    } catch (const sdk::Failure&) {
      if (batch.clients.empty()) throw;
      batch.clients.clear();
      continue;
    }
    if (refusals.empty()) return sent;
    last_ = refusals;
    // The clients may be the cause, and must not prevent serving.
    if (!batch.clients.empty() && std::any_of(refusals.begin(), refusals.end(), is_unowned)) {
      batch.clients.clear();
      continue;
    }
    if (std::any_of(refusals.begin(), refusals.end(), shows_foreign_change)) return SendResult::kForeignChange;
    if (const auto one = std::find_if(refusals.begin(), refusals.end(), is_transient); one != refusals.end())
      fail({*one});
    if (tries == kTries || std::any_of(refusals.begin(), refusals.end(), is_unowned)) fail(refusals);
    exclude(refusals, batch, model, refused);
    std::erase_if(batch.elements,
                  [&](const ElementWrite& one) { return one.owner != 0 && refused.contains(batch.owners[one.owner]); });
    sent = SendResult::kPartial;
  }
  return sent;
}

bool Writer::write_once(const TableFacts& facts, Model& model, const WriteOrder& write_order, Listing& listing,
                        NewTable& new_table, Refused& refused) {
  model.take_changes();
  // Assume success: after a failure everything is compared again anyway.
  model.wrote(std::vector<SharedChain>(model.chains()));
  Difference difference(facts, model, listing);
  bool done = true;
  Batch batch;
  const auto flush = [&] {
    if (batch.empty()) return true;
    const SendResult sent = send(batch, model, refused);
    if (sent != SendResult::kForeignChange && !batch.clients.empty()) new_table.clients.clear();
    batch = Batch();
    if (sent != SendResult::kDone) done = false;
    return sent != SendResult::kForeignChange;
  };
  const bool is_new = !listing.exists || difference.replaces();
  difference.add_frame(batch);
  if (!new_table.base_chains_last) difference.add_base_chains(batch);
  // New chains go first, as in write_changes().
  if (listing.exists && !difference.replaces() && !batch.chains.empty() && !flush()) return false;
  std::string service;
  for (const PortId& id : write_order.in_order(model.ids())) {
    deadline_->check();
    // Flush between Services only: a port written later would be rejected meanwhile, as an unknown port of its
    // cluster IP.
    const std::string_view name = service_of(id.first);
    if (name != service && batch.elements.size() >= chunk_ && !difference.replaces() && !flush()) return false;
    service = name;
    if (!refused.contains(id.first)) difference.add(id, batch);
  }
  while (difference.remove_elements(batch, chunk_)) {
    if (!flush()) return false;
  }
  difference.add_drop_of_unallocated(batch);
  if (new_table.base_chains_last) difference.add_base_chains(batch);
  if (is_new) batch.clients = new_table.clients;
  if (!flush()) return false;
  leftovers_ = {now_(), difference.unknown_dispatch(), difference.unknown_chains(), {}};
  return done;
}

Writer::Refused Writer::write_all(const TableFacts& facts, Model& model, const WriteOrder& write_order,
                                  Listing& listing, NewTable* new_table) {
  Refused refused;
  NewTable none;
  NewTable& how = new_table != nullptr ? *new_table : none;
  for (int round = 0; !write_once(facts, model, write_order, listing, how, refused); ++round) {
    if (round == kRounds) fail(last_);
    listing = list();
  }
  note_users(model);
  return refused;
}

Writer::SkippedClients Writer::add_clients(const std::vector<RememberedClient>& clients) {
  SkippedClients skipped_clients;
  if (clients.empty()) return skipped_clients;
  const auto place = [](const RememberedClient& one) { return std::pair(one.id, one.client); };
  std::set<std::pair<std::uint32_t, abi::Address>> known;
  std::vector<RememberedClient> lacking = clients;
  std::size_t done = 0;
  try {
    for (const RememberedClient& one : kernel_.clients()) known.insert(place(one));
    std::erase_if(lacking, [&](const RememberedClient& one) { return !known.insert(place(one)).second; });
    while (done < lacking.size() && add_some_clients(lacking, done, skipped_clients)) {
    }
  } catch (const sdk::Failure& failure) {
    skipped_clients.why = failure.what();
  }
  skipped_clients.count += lacking.size() - done;
  return skipped_clients;
}

bool Writer::add_some_clients(const std::vector<RememberedClient>& clients, std::size_t& done,
                              SkippedClients& skipped_clients) {
  const auto at = [&](std::size_t place) { return clients.begin() + static_cast<std::ptrdiff_t>(place); };
  const std::size_t end = std::min(clients.size(), done + kClientsAtOnce);
  Batch batch;
  batch.clients.assign(at(done), at(end));
  if (commit(batch).empty()) {
    done = end;
    return true;
  }
  // A client may have been added by traffic meanwhile, or the map is full.
  std::size_t skipped = 0;
  const std::size_t all = end - done;
  for (; done < end; ++done) {
    batch.clients.assign(at(done), at(done + 1));
    const std::vector<Refusal> refusals = commit(batch);
    if (refusals.empty() || refusals.front().error == EEXIST) continue;
    skipped_clients.why = refusal_text(refusals.front());
    if (refusals.front().error == ENFILE) return false;
    ++skipped;
    ++skipped_clients.count;
  }
  return skipped != all;  // if all are refused, the cause is not a single client
}

Writer::Refused Writer::write_changes(const TableFacts& before, const TableFacts& facts, Model& model,
                                      const WriteOrder& write_order) {
  Changes changes = model.take_changes();
  if (changes.elements.size() > kHugeChange * chunk_) {
    Listing listing = list();
    return write_all(facts, model, write_order, listing);
  }
  Batch chains;
  for (const SharedChain& chain : changes.chains) {
    const bool there = take_leftover(chain.name);
    chains.chains.push_back({chain_spec(facts.layout, chain), !there});
    chains.dispatch.push_back({chain.firewall, chain.number, chain.name, false});
  }
  if (!chains.empty()) {
    // New chains go first: a packet in flight sees the rules of the time it arrived, but the elements of now. It
    // would meet a chain of the same transaction without rules.
    const std::vector<Refusal> refusals = commit(chains);
    if (std::any_of(refusals.begin(), refusals.end(), shows_foreign_change)) fail_changed(refusals);
    if (!refusals.empty()) fail(refusals);
    model.wrote(changes.chains);
  }
  Batch batch;
  batch.elements = std::move(changes.elements);
  batch.owners = std::move(changes.owners);
  add_addresses(before, facts, batch);
  if (!batch.empty()) {
    const std::vector<Refusal> refusals = commit(batch);
    if (std::any_of(refusals.begin(), refusals.end(), shows_foreign_change)) fail_changed(refusals);
    if (const auto one = std::find_if(refusals.begin(), refusals.end(), is_transient); one != refusals.end())
      fail({*one});
    if (std::any_of(refusals.begin(), refusals.end(), is_unowned)) fail(refusals);
    if (!refusals.empty()) {
      Refused refused;
      exclude(refusals, batch, model, refused);
      Listing listing = list();
      refused.merge(write_all(facts, model, write_order, listing));
      return refused;
    }
  }
  note_users(model);
  return {};
}

void Writer::note_users(const Model& model) {
  std::map<std::string, std::uint64_t> unused;
  for (const SharedChain& chain : model.chains()) {
    if (chain.users != 0) continue;
    const auto known = unused_.find(chain.name);
    unused.emplace(chain.name, known != unused_.end() ? known->second : now_());
  }
  unused_ = std::move(unused);
}

bool Writer::take_leftover(const std::string& chain) {
  return std::erase(leftovers_.full, chain) + std::erase(leftovers_.empty, chain) != 0;
}

void Writer::hide_leftovers(Listing& listing) const {
  for (const auto* const names : {&leftovers_.full, &leftovers_.empty}) {
    for (const std::string& name : *names) listing.chains.erase(name);
  }
  const auto key = [](const DispatchWrite& one) { return std::tie(one.firewall, one.number, one.chain); };
  std::erase_if(listing.dispatch, [&](const DispatchWrite& one) {
    const auto& hidden = leftovers_.dispatch;
    return std::any_of(hidden.begin(), hidden.end(), [&](const DispatchWrite& other) { return key(one) == key(other); });
  });
}

void Writer::empty_leftovers() {
  Batch batch;
  batch.dispatch = leftovers_.dispatch;
  for (const std::string& name : leftovers_.full) {
    ChainWrite emptied;
    emptied.spec.name = name;
    batch.chains.push_back(std::move(emptied));
  }
  const std::vector<Refusal> refusals = commit(batch);
  if (!refusals.empty()) fail_changed(refusals);
  leftovers_.dispatch.clear();
  leftovers_.empty.insert(leftovers_.empty.end(), leftovers_.full.begin(), leftovers_.full.end());
  leftovers_.full.clear();
}

bool Writer::remove_unused(Model& model) {
  note_users(model);
  const std::uint64_t now = now_();
  Batch batch;
  std::vector<SharedChain> going;
  for (const SharedChain& chain : model.chains()) {
    const auto since = unused_.find(chain.name);
    if (since == unused_.end() || now - since->second < kChainGracePeriod) continue;
    batch.dispatch.push_back({chain.firewall, chain.number, chain.name, true});
    batch.remove_chains.push_back(chain.name);
    going.push_back(chain);
  }
  const bool rested = now - leftovers_.since >= kChainGracePeriod;
  if (rested) {
    batch.remove_chains.insert(batch.remove_chains.end(), leftovers_.empty.begin(), leftovers_.empty.end());
  }
  if (!batch.empty()) {
    const std::vector<Refusal> refusals = commit(batch);
    const auto is_used = [](const Refusal& one) { return one.error == EBUSY; };
    if (std::any_of(refusals.begin(), refusals.end(), is_used)) {
      unused_.clear();
      // The leftover chains may refer to the busy chain.
      if (rested && !(leftovers_.dispatch.empty() && leftovers_.full.empty())) empty_leftovers();
      leftovers_.since = now;
      return false;
    }
    if (!refusals.empty()) fail_changed(refusals);
    model.removed(going);
    if (rested) leftovers_.empty.clear();
  }
  if (rested && !(leftovers_.dispatch.empty() && leftovers_.full.empty())) {
    empty_leftovers();
    leftovers_.since = now;
  }
  return true;
}

}  // namespace sluice::nftables
