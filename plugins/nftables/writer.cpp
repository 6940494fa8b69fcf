// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/writer.hpp"

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include "plugins/common/netlink/error.hpp"
#include "plugins/nftables/refusal_text.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::nftables {
namespace {

// So often one transaction is tried, with fewer service ports each time; and the whole, when others interfere.
constexpr int kTries = 8;
constexpr int kRounds = 5;
// A change of that many elements is compared with the kernel instead, which splits it.
constexpr std::size_t kHugeChange = 5 * Writer::kChunk;
// Who is refused among them is found by trying each alone.
constexpr std::size_t kClientsAtOnce = 512;
// Old kernels give up what a rule refers to somewhat later.
constexpr std::uint64_t kRestOfChains = 1'000'000'000;

[[noreturn]] void fail(const std::vector<Refusal>& refusals) {
  const int error = refusals.front().error;
  const abi::Code code = netlink::code_of(error);
  throw sdk::Failure(code, std::string("table ") + kTableName, refusal_text(refusals), error);
}

[[noreturn]] void fail_changed(const std::vector<Refusal>& refusals) {
  throw sdk::Failure(abi::Code::kNeedFull, std::string("table ") + kTableName,
                     "somebody else has changed the table: " + refusal_text(refusals), refusals.front().error);
}

// Nothing is wrong with what it belongs to: what is there stays, and everything is tried again.
bool passes(const Refusal& refusal) {
  const abi::Code code = netlink::code_of(refusal.error);
  return code == abi::Code::kRetry || code == abi::Code::kDenied;
}

bool is_nobodys(const Refusal& refusal) noexcept { return refusal.owner == 0; }

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
  const std::uint64_t begin = now_();
  Listing seen = kernel_.list();
  waited_ += std::chrono::nanoseconds(now_() - begin);
  return seen;
}

std::vector<Refusal> Writer::commit(const Batch& batch) {
  const std::uint64_t begin = now_();
  std::vector<Refusal> refusals = kernel_.commit(batch);
  waited_ += std::chrono::nanoseconds(now_() - begin);
  return refusals;
}

void Writer::leave_out(const std::vector<Refusal>& refusals, const Batch& batch, Model& model, Refused& refused) {
  for (const Refusal& refusal : refusals) {
    const std::string& name = batch.owners.at(refusal.owner);
    if (refused.emplace(name, refusal_text(refusal)).second) remove_named(model, name);
  }
}

Writer::Sent Writer::send(Batch& batch, Model& model, Refused& refused) {
  Sent sent = Sent::kDone;
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
    // They may be the reason, and are none not to serve.
    if (!batch.clients.empty() && std::any_of(refusals.begin(), refusals.end(), is_nobodys)) {
      batch.clients.clear();
      continue;
    }
    if (std::any_of(refusals.begin(), refusals.end(), tells_of_others)) return Sent::kInterfered;
    if (const auto one = std::find_if(refusals.begin(), refusals.end(), passes); one != refusals.end()) fail({*one});
    if (tries == kTries || std::any_of(refusals.begin(), refusals.end(), is_nobodys)) fail(refusals);
    leave_out(refusals, batch, model, refused);
    std::erase_if(batch.elements,
                  [&](const ElementWrite& one) { return one.owner != 0 && refused.contains(batch.owners[one.owner]); });
    sent = Sent::kLeftOut;
  }
  return sent;
}

bool Writer::write_once(const TableFacts& facts, Model& model, const Urgency& urgency, Listing& seen, Opening& opening,
                        Refused& refused) {
  model.take_changes();
  // As if it were done: after a failure everything is compared again, whatever the model believes.
  model.wrote(std::vector<SharedChain>(model.chains()));
  Difference difference(facts, model, seen);
  bool done = true;
  Batch batch;
  const auto flush = [&] {
    if (batch.empty()) return true;
    const Sent sent = send(batch, model, refused);
    if (sent != Sent::kInterfered && !batch.clients.empty()) opening.clients.clear();
    batch = Batch();
    if (sent != Sent::kDone) done = false;
    return sent != Sent::kInterfered;
  };
  const bool is_new = !seen.exists || difference.replaces();
  difference.add_frame(batch);
  if (!opening.last) difference.add_base_chains(batch);
  // As in write_changes().
  if (seen.exists && !difference.replaces() && !batch.chains.empty() && !flush()) return false;
  std::string service;
  for (const PortId& id : urgency.in_order(model.ids())) {
    // All ports of a Service at once: a port whose turn is later would be rejected meanwhile, as one its address does not have.
    const std::string_view name = service_of(id.first);
    if (name != service && batch.elements.size() >= kChunk && !difference.replaces() && !flush()) return false;
    service = name;
    if (!refused.contains(id.first)) difference.add(id, batch);
  }
  while (difference.remove_elements(batch, kChunk)) {
    if (!flush()) return false;
  }
  if (opening.last) difference.add_base_chains(batch);
  if (is_new) batch.clients = opening.clients;
  if (!flush()) return false;
  leftovers_ = {now_(), difference.unknown_dispatch(), difference.unknown_chains(), {}};
  return done;
}

Writer::Refused Writer::write_all(const TableFacts& facts, Model& model, const Urgency& urgency, Listing& seen,
                                  Opening* opening) {
  Refused refused;
  Opening none;
  Opening& how = opening != nullptr ? *opening : none;
  for (int round = 0; !write_once(facts, model, urgency, seen, how, refused); ++round) {
    if (round == kRounds) fail(last_);
    seen = list();
  }
  note_users(model);
  return refused;
}

Writer::Forgotten Writer::remember(const std::vector<RememberedClient>& clients) {
  Forgotten forgotten;
  if (clients.empty()) return forgotten;
  const auto place = [](const RememberedClient& one) { return std::pair(one.id, one.client); };
  std::set<std::pair<std::uint32_t, abi::Address>> known;
  std::vector<RememberedClient> lacking = clients;
  std::size_t done = 0;
  try {
    for (const RememberedClient& one : kernel_.clients()) known.insert(place(one));
    std::erase_if(lacking, [&](const RememberedClient& one) { return !known.insert(place(one)).second; });
    while (done < lacking.size() && remember_some(lacking, done, forgotten)) {
    }
  } catch (const sdk::Failure& failure) {
    forgotten.why = failure.what();
  }
  forgotten.count += lacking.size() - done;
  return forgotten;
}

bool Writer::remember_some(const std::vector<RememberedClient>& clients, std::size_t& done, Forgotten& forgotten) {
  const auto at = [&](std::size_t place) { return clients.begin() + static_cast<std::ptrdiff_t>(place); };
  const std::size_t end = std::min(clients.size(), done + kClientsAtOnce);
  Batch batch;
  batch.clients.assign(at(done), at(end));
  if (commit(batch).empty()) {
    done = end;
    return true;
  }
  // One of them has come by itself meanwhile, or the map is full.
  std::size_t left_out = 0;
  const std::size_t all = end - done;
  for (; done < end; ++done) {
    batch.clients.assign(at(done), at(done + 1));
    const std::vector<Refusal> refusals = commit(batch);
    if (refusals.empty() || refusals.front().error == EEXIST) continue;
    forgotten.why = refusal_text(refusals.front());
    if (refusals.front().error == ENFILE) return false;
    ++left_out;
    ++forgotten.count;
  }
  return left_out != all;  // else it is not about single ones
}

Writer::Refused Writer::write_changes(const TableFacts& before, const TableFacts& facts, Model& model,
                                      const Urgency& urgency) {
  Changes changes = model.take_changes();
  if (changes.elements.size() > kHugeChange) {
    Listing seen = list();
    return write_all(facts, model, urgency, seen);
  }
  Batch chains;
  for (const SharedChain& chain : changes.chains) {
    const bool there = take_leftover(chain.name);
    chains.chains.push_back({chain_spec(facts.layout, chain), !there});
    chains.dispatch.push_back({chain.firewall, chain.number, chain.name, false});
  }
  if (!chains.empty()) {
    // First, and for itself: a packet on its way sees the rules as they were when it came, and elements as they are. For it a
    // chain of the same transaction would be without rules.
    const std::vector<Refusal> refusals = commit(chains);
    if (std::any_of(refusals.begin(), refusals.end(), tells_of_others)) fail_changed(refusals);
    if (!refusals.empty()) fail(refusals);
    model.wrote(changes.chains);
  }
  Batch batch;
  batch.elements = std::move(changes.elements);
  batch.owners = std::move(changes.owners);
  add_addresses(before, facts, batch);
  if (!batch.empty()) {
    const std::vector<Refusal> refusals = commit(batch);
    if (std::any_of(refusals.begin(), refusals.end(), tells_of_others)) fail_changed(refusals);
    if (const auto one = std::find_if(refusals.begin(), refusals.end(), passes); one != refusals.end()) fail({*one});
    if (std::any_of(refusals.begin(), refusals.end(), is_nobodys)) fail(refusals);
    if (!refusals.empty()) {
      Refused refused;
      leave_out(refusals, batch, model, refused);
      Listing seen = list();
      refused.merge(write_all(facts, model, urgency, seen));
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
    if (since == unused_.end() || now - since->second < kRestOfChains) continue;
    batch.dispatch.push_back({chain.firewall, chain.number, chain.name, true});
    batch.remove_chains.push_back(chain.name);
    going.push_back(chain);
  }
  const bool rested = now - leftovers_.since >= kRestOfChains;
  if (rested) {
    batch.remove_chains.insert(batch.remove_chains.end(), leftovers_.empty.begin(), leftovers_.empty.end());
  }
  if (!batch.empty()) {
    const std::vector<Refusal> refusals = commit(batch);
    const auto is_used = [](const Refusal& one) { return one.error == EBUSY; };
    if (std::any_of(refusals.begin(), refusals.end(), is_used)) {
      unused_.clear();
      // What is left over may be what refers to it.
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
