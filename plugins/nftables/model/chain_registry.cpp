// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/model/chain_registry.hpp"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

namespace sluice::nftables {
namespace {

// Chains with gotos are listed after the chains they refer to.
bool refers_to_chains(const SharedChain& chain) {
  return !chain.firewall && (chain.service_class.kind == ServiceClass::Kind::kExternal ||
                             chain.service_class.kind == ServiceClass::Kind::kExternalLocal);
}

}  // namespace

bool ChainRegistry::ShorterFirst::operator()(const std::vector<abi::Prefix>& a,
                                             const std::vector<abi::Prefix>& b) const noexcept {
  if (a.size() != b.size()) return a.size() < b.size();
  for (std::size_t i = 0; i < a.size(); ++i) {
    const int order = std::memcmp(a[i].address.bytes, b[i].address.bytes, sizeof(a[i].address.bytes));
    if (order != 0) return order < 0;
    if (a[i].length != b[i].length) return a[i].length < b[i].length;
  }
  return false;
}

void ChainRegistry::start_over(const Listing* listing) {
  *this = ChainRegistry();
  if (listing == nullptr) return;
  // Numbers in use without a chain are not given to another chain until their elements are corrected.
  const auto reserve = [&](SetId set, bool firewall) {
    const RecordTable& records = listing->records[index(set)];
    for (std::size_t place = 0; place < records.size(); ++place) {
      reserved_[firewall].insert(read_number(records.data(place)));
    }
  };
  reserve(SetId::kServiceIps, false);
  reserve(SetId::kServiceNodePorts, false);
  reserve(SetId::kFirewallIps, true);
  // If a chain has two numbers, use the one that elements refer to, or else the smaller one. The other one is being
  // removed.
  const std::set<std::uint32_t> used[2] = {reserved_[false], reserved_[true]};
  for (const DispatchWrite& element : listing->dispatch) {
    reserved_[element.firewall].insert(element.number);
    const auto [known, is_new] = listed_numbers_[element.firewall].emplace(element.chain, element.number);
    if (is_new) continue;
    const auto later = [&](std::uint32_t number) { return std::pair(used[element.firewall].count(number) == 0, number); };
    if (later(element.number) < later(known->second)) known->second = element.number;
  }
  for (const auto& [name, chain] : listing->chains) {
    if (is_shared_chain(name)) listed_chains_.insert(name);
  }
}

void ChainRegistry::forget_listing() {
  for (auto& numbers : listed_numbers_) numbers = {};
  listed_chains_ = {};
}

std::uint32_t ChainRegistry::acquire(const ServiceClass& service_class) {
  if (const auto known = classes_.find(service_class); known != classes_.end()) {
    SharedChain& chain = chains_[places_.at({false, known->second})];
    if (chain.users++ == 0 && written_.count({false, known->second}) == 0) unwritten_.insert({false, known->second});
    return known->second;
  }
  for (const ServiceClass& other : depends_on(service_class)) acquire(other);
  SharedChain chain;
  chain.service_class = service_class;
  chain.name = chain_name(service_class);
  const std::uint32_t number = add(std::move(chain));
  classes_.emplace(service_class, number);
  return number;
}

std::uint32_t ChainRegistry::acquire(const std::vector<abi::Prefix>& allowed) {
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

std::uint32_t ChainRegistry::add(SharedChain chain) {
  const auto listing = listed_numbers_[chain.firewall].find(chain.name);
  const bool is_seen = listing != listed_numbers_[chain.firewall].end() && listing->second != 0 &&
                       places_.count({chain.firewall, listing->second}) == 0;
  chain.number = is_seen ? listing->second : new_number(chain.firewall);
  chain.users = 1;
  const Number number{chain.firewall, chain.number};
  (is_seen && listed_chains_.count(chain.name) != 0 ? written_ : unwritten_).insert(number);
  if (is_seen) listed_numbers_[chain.firewall].erase(listing);
  places_.emplace(number, chains_.size());
  if (!chains_.empty() && !refers_to_chains(chain) && refers_to_chains(chains_.back())) sorted_ = false;
  chains_.push_back(std::move(chain));
  return number.second;
}

// A released number is reused last. 0 is the priority of packets that no rule has classified.
std::uint32_t ChainRegistry::new_number(bool firewall) {
  std::uint32_t& last = last_[firewall];
  do {
    ++last;
  } while (last == 0 || reserved_[firewall].count(last) != 0 || places_.count({firewall, last}) != 0);
  return last;
}

void ChainRegistry::release(bool firewall, std::uint32_t number) {
  SharedChain& chain = chains_[places_.at({firewall, number})];
  if (--chain.users != 0) return;
  unwritten_.erase({firewall, number});
  forget_unused({firewall, number});
}

// A chain in the kernel stays registered, and so do the chains it refers to. REQUIRES: no users.
void ChainRegistry::forget_unused(Number number) {
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
  classes_.erase(chain.service_class);
  for (const ServiceClass& other : depends_on(chain.service_class)) release(false, classes_.at(other));
}

std::vector<SharedChain> ChainRegistry::unwritten() const {
  std::vector<SharedChain> found;
  found.reserve(unwritten_.size());
  for (const Number& number : unwritten_) found.push_back(chains_[places_.at(number)]);
  std::stable_partition(found.begin(), found.end(), [](const SharedChain& chain) { return !refers_to_chains(chain); });
  return found;
}

const std::vector<SharedChain>& ChainRegistry::chains() const {
  if (!sorted_) {
    std::stable_partition(chains_.begin(), chains_.end(),
                          [](const SharedChain& chain) { return !refers_to_chains(chain); });
    for (std::size_t place = 0; place < chains_.size(); ++place) {
      places_[{chains_[place].firewall, chains_[place].number}] = place;
    }
    sorted_ = true;
  }
  return chains_;
}

void ChainRegistry::wrote(const std::vector<SharedChain>& chains) {
  for (const SharedChain& chain : chains) {
    const Number number{chain.firewall, chain.number};
    if (places_.count(number) == 0) continue;
    written_.insert(number);
    unwritten_.erase(number);
  }
}

void ChainRegistry::removed(const std::vector<SharedChain>& chains) {
  // Copy the numbers first, as `chains` may be our own list.
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
