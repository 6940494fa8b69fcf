// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/model/chain_book.hpp"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

namespace sluice::nftables {
namespace {

// Chains that go to others come after those that do not.
bool goes_on(const SharedChain& chain) {
  return !chain.firewall &&
         (chain.treatment.kind == Treatment::Kind::kExternal || chain.treatment.kind == Treatment::Kind::kExternalLocal);
}

}  // namespace

bool ChainBook::ShorterFirst::operator()(const std::vector<abi::Prefix>& a,
                                         const std::vector<abi::Prefix>& b) const noexcept {
  if (a.size() != b.size()) return a.size() < b.size();
  for (std::size_t i = 0; i < a.size(); ++i) {
    const int order = std::memcmp(a[i].address.bytes, b[i].address.bytes, sizeof(a[i].address.bytes));
    if (order != 0) return order < 0;
    if (a[i].length != b[i].length) return a[i].length < b[i].length;
  }
  return false;
}

void ChainBook::start_over(const Listing* seen) {
  *this = ChainBook();
  if (seen == nullptr) return;
  // Numbers in use although they lead nowhere must not lead elsewhere either, until their elements are put right.
  const auto reserve = [&](SetId set, bool firewall) {
    const RecordTable& records = seen->records[index(set)];
    for (std::size_t place = 0; place < records.size(); ++place) {
      reserved_[firewall].insert(read_number(records.data(place)));
    }
  };
  reserve(SetId::kServiceIps, false);
  reserve(SetId::kServiceNodePorts, false);
  reserve(SetId::kFirewallIps, true);
  // Two numbers of one chain: that which elements have, or the smaller one; another one is about to go.
  const std::set<std::uint32_t> used[2] = {reserved_[false], reserved_[true]};
  for (const DispatchWrite& element : seen->dispatch) {
    reserved_[element.firewall].insert(element.number);
    const auto [known, is_new] = seen_numbers_[element.firewall].emplace(element.chain, element.number);
    if (is_new) continue;
    const auto later = [&](std::uint32_t number) { return std::pair(used[element.firewall].count(number) == 0, number); };
    if (later(element.number) < later(known->second)) known->second = element.number;
  }
  for (const auto& [name, chain] : seen->chains) {
    if (is_shared_chain(name)) seen_chains_.insert(name);
  }
}

void ChainBook::forget_seen() {
  for (auto& numbers : seen_numbers_) numbers = {};
  seen_chains_ = {};
}

std::uint32_t ChainBook::acquire(const Treatment& treatment) {
  if (const auto known = treatments_.find(treatment); known != treatments_.end()) {
    SharedChain& chain = chains_[places_.at({false, known->second})];
    if (chain.users++ == 0 && written_.count({false, known->second}) == 0) unwritten_.insert({false, known->second});
    return known->second;
  }
  for (const Treatment& other : depends_on(treatment)) acquire(other);
  SharedChain chain;
  chain.treatment = treatment;
  chain.name = chain_name(treatment);
  const std::uint32_t number = add(std::move(chain));
  treatments_.emplace(treatment, number);
  return number;
}

std::uint32_t ChainBook::acquire(const std::vector<abi::Prefix>& allowed) {
  if (const auto known = firewalls_.find(allowed); known != firewalls_.end()) {
    SharedChain& chain = chains_[places_.at({true, known->second})];
    if (chain.users++ == 0 && written_.count({true, known->second}) == 0) unwritten_.insert({true, known->second});
    return known->second;
  }
  SharedChain chain;
  chain.firewall = true;
  chain.allowed = allowed;
  chain.name = firewall_chain_name(allowed);
  const std::uint32_t number = add(std::move(chain));
  firewalls_.emplace(allowed, number);
  return number;
}

std::uint32_t ChainBook::add(SharedChain chain) {
  const auto seen = seen_numbers_[chain.firewall].find(chain.name);
  const bool is_seen = seen != seen_numbers_[chain.firewall].end() && seen->second != 0 &&
                       places_.count({chain.firewall, seen->second}) == 0;
  chain.number = is_seen ? seen->second : new_number(chain.firewall);
  chain.users = 1;
  const Number number{chain.firewall, chain.number};
  (is_seen && seen_chains_.count(chain.name) != 0 ? written_ : unwritten_).insert(number);
  if (is_seen) seen_numbers_[chain.firewall].erase(seen);
  places_.emplace(number, chains_.size());
  if (!chains_.empty() && !goes_on(chain) && goes_on(chains_.back())) sorted_ = false;
  chains_.push_back(std::move(chain));
  return number.second;
}

// Not one that was just given back, as long as there are others. 0 is the priority of packets nobody has looked at.
std::uint32_t ChainBook::new_number(bool firewall) {
  std::uint32_t& last = last_[firewall];
  do {
    ++last;
  } while (last == 0 || reserved_[firewall].count(last) != 0 || places_.count({firewall, last}) != 0);
  return last;
}

void ChainBook::release(bool firewall, std::uint32_t number) {
  SharedChain& chain = chains_[places_.at({firewall, number})];
  if (--chain.users != 0) return;
  unwritten_.erase({firewall, number});
  forget_unused({firewall, number});
}

// REQUIRES: no users. A chain in the kernel stays in the book, and so do those it goes to.
void ChainBook::forget_unused(Number number) {
  if (written_.count(number) != 0) return;
  const std::size_t place = places_.at(number);
  const SharedChain chain = std::move(chains_[place]);
  if (place + 1 != chains_.size()) {
    chains_[place] = std::move(chains_.back());
    places_[{chains_[place].firewall, chains_[place].number}] = place;
    sorted_ = false;
  }
  chains_.pop_back();
  places_.erase(number);
  if (chain.firewall) {
    firewalls_.erase(chain.allowed);
    return;
  }
  treatments_.erase(chain.treatment);
  for (const Treatment& other : depends_on(chain.treatment)) release(false, treatments_.at(other));
}

std::vector<SharedChain> ChainBook::unwritten() const {
  std::vector<SharedChain> found;
  found.reserve(unwritten_.size());
  for (const Number& number : unwritten_) found.push_back(chains_[places_.at(number)]);
  std::stable_partition(found.begin(), found.end(), [](const SharedChain& chain) { return !goes_on(chain); });
  return found;
}

const std::vector<SharedChain>& ChainBook::chains() const {
  if (!sorted_) {
    std::stable_partition(chains_.begin(), chains_.end(), [](const SharedChain& chain) { return !goes_on(chain); });
    for (std::size_t place = 0; place < chains_.size(); ++place) {
      places_[{chains_[place].firewall, chains_[place].number}] = place;
    }
    sorted_ = true;
  }
  return chains_;
}

void ChainBook::wrote(const std::vector<SharedChain>& chains) {
  for (const SharedChain& chain : chains) {
    const Number number{chain.firewall, chain.number};
    if (places_.count(number) == 0) continue;
    written_.insert(number);
    unwritten_.erase(number);
  }
}

void ChainBook::removed(const std::vector<SharedChain>& chains) {
  // A copy: it may be our own list.
  std::vector<Number> numbers;
  for (const SharedChain& chain : chains) numbers.emplace_back(chain.firewall, chain.number);
  for (const Number& number : numbers) {
    if (written_.erase(number) == 0) continue;
    if (chains_[places_.at(number)].users == 0) {
      forget_unused(number);
    } else {
      unwritten_.insert(number);
    }
  }
}

}  // namespace sluice::nftables
