// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/balancer/balancer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace sluice::userspace {
namespace {

constexpr Nanoseconds kSecond = 1'000'000'000;

Nanoseconds nanoseconds(std::chrono::milliseconds time) noexcept {
  return time.count() < 0 ? 0 : static_cast<Nanoseconds>(time.count()) * 1'000'000;
}

int compare(const SocketAddress& a, const SocketAddress& b) noexcept {
  if (a.family() != b.family()) return a.family() < b.family() ? -1 : 1;
  const abi::Address left = a.address();
  const abi::Address right = b.address();
  const int difference = std::memcmp(left.bytes, right.bytes, sizeof(left.bytes));
  return difference != 0 ? difference : static_cast<int>(a.port()) - static_cast<int>(b.port());
}

}  // namespace

Balancer::Balancer(const BalancerSettings& settings, std::uint64_t seed) : settings_(settings), random_(seed) {}

Balancer::~Balancer() = default;

Balancer::Change Balancer::set_endpoints(std::span<const SocketAddress> endpoints) {
  std::vector<const SocketAddress*> wanted;
  wanted.reserve(endpoints.size());
  for (const SocketAddress& endpoint : endpoints) wanted.push_back(&endpoint);
  std::sort(wanted.begin(), wanted.end(), [](const auto* a, const auto* b) { return compare(*a, *b) < 0; });
  wanted.erase(
      std::unique(wanted.begin(), wanted.end(), [](const auto* a, const auto* b) { return compare(*a, *b) == 0; }),
      wanted.end());

  Change change;
  {
    const lib::Lock lock(mutex_);
    std::vector<Endpoint*> kept;       // null: a new endpoint
    std::vector<EndpointPtr> created;  // in the order of the nulls
    kept.reserve(wanted.size());
    auto old = by_target_.begin();
    const auto gone = [&]() SLUICE_REQUIRES(mutex_) { change.gone.push_back(slots_[(*old++)->slot_]); };
    for (const SocketAddress* target : wanted) {
      while (old != by_target_.end() && compare((*old)->target(), *target) < 0) gone();
      if (old != by_target_.end() && compare((*old)->target(), *target) == 0) {
        kept.push_back(*old++);
      } else {
        created.push_back(std::make_shared<Endpoint>(*target));
        kept.push_back(nullptr);
      }
    }
    while (old != by_target_.end()) gone();
    if (change.gone.empty() && created.empty()) return change;

    // Allocate everything before the first change, so that std::bad_alloc leaves the list as it was.
    const std::size_t more = created.size() > free_.size() ? created.size() - free_.size() : 0;
    std::vector<Endpoint*> order;
    order.reserve(kept.size());
    slots_.reserve(slots_.size() + more);
    free_.reserve(slots_.size() + more);
    candidates_.reserve(kept.size());
    if (clients_ != nullptr) clients_->reserve(static_cast<AffinityTable::Slot>(slots_.size() + more));

    for (const EndpointPtr& endpoint : change.gone) {
      if (is_outlier(*endpoint)) --outliers_;
      endpoint->retire();
      slots_[endpoint->slot_] = nullptr;
    }
    auto next = created.begin();
    for (Endpoint*& member : kept) {
      if (member == nullptr) {
        member = next->get();
        if (free_.empty()) {
          member->slot_ = static_cast<std::uint32_t>(slots_.size());
          slots_.push_back(std::move(*next++));
        } else {
          member->slot_ = free_.back();
          free_.pop_back();
          slots_[member->slot_] = std::move(*next++);
        }
      }
      order.push_back(member);
    }
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_.below(i)]);
    by_target_.swap(kept);
    order_.swap(order);
    index_ = 0;
    change.changed = true;
  }
  forget_clients(change.gone);
  return change;
}

// Frees the slots of removed endpoints, each after its last client was removed.
void Balancer::forget_clients(std::span<const EndpointPtr> gone) noexcept {
  for (const EndpointPtr& endpoint : gone) {
    for (bool more = true; more;) {
      const lib::Lock lock(mutex_);
      more = clients_ != nullptr && clients_->drop(endpoint->slot_, kBatch) == kBatch;
      if (!more) free_.push_back(endpoint->slot_);
    }
  }
}

void Balancer::keep_affinity(std::shared_ptr<AffinityFile> file, std::uint64_t list) {
  const lib::Lock lock(mutex_);
  file_ = std::move(file);
  list_ = list;
}

void Balancer::set_affinity(std::uint32_t seconds) {
  std::unique_ptr<AffinityTable> forgotten;
  const lib::Lock lock(mutex_);
  affinity_ = seconds * kSecond;
  if (seconds == 0) {
    forgotten = std::move(clients_);
  } else if (clients_ == nullptr) {
    auto records = file_ == nullptr ? nullptr : std::make_unique<AffinityRecords>(file_, list_);
    auto clients =
        std::make_unique<AffinityTable>(settings_.max_affinity_clients, random_.next(), std::move(records));
    clients->reserve(static_cast<AffinityTable::Slot>(slots_.size()));
    clients_ = std::move(clients);
  }
}

EndpointPtr Balancer::next(const abi::Address& client, Nanoseconds now, std::span<const EndpointPtr> tried) noexcept {
  const lib::Lock lock(mutex_);
  now = advance(now);
  if (order_.empty()) return nullptr;
  if (clients_ == nullptr) return take(choose(tried));
  if (tried.empty()) {
    const AffinityTable::Slot slot = clients_->find(client, now, affinity_);
    if (slot != AffinityTable::kNone && slots_[slot] != nullptr) {
      Endpoint& endpoint = *slots_[slot];
      if (!is_passed_over(endpoint) || all_passed_over()) {
        clients_->remember(client, slot, endpoint.target(), now);
        return take(endpoint);
      }
    }
  }
  Endpoint& chosen = choose(tried);
  clients_->remember(client, chosen.slot_, chosen.target(), now);
  return take(chosen);
}

Nanoseconds Balancer::advance(Nanoseconds now) noexcept {
  now_ = std::max(now_, now);
  return now_;
}

bool Balancer::is_outlier(const Endpoint& endpoint) const noexcept {
  return settings_.outliers.failures != 0 &&
         endpoint.failures_.load(std::memory_order_relaxed) >= settings_.outliers.failures;
}

bool Balancer::is_passed_over(const Endpoint& endpoint) const noexcept {
  return outliers_ != 0 && is_outlier(endpoint) && endpoint.passed_over_until_ > now_;
}

bool Balancer::all_passed_over() const noexcept {
  return outliers_ == order_.size() &&
         std::all_of(order_.begin(), order_.end(),
                     [&](const Endpoint* endpoint) SLUICE_REQUIRES(mutex_) { return is_passed_over(*endpoint); });
}

// If the pause of the endpoint is over, this connection is its trial: no other connection gets it until the trial ends.
const EndpointPtr& Balancer::take(Endpoint& endpoint) noexcept {
  if (outliers_ != 0 && is_outlier(endpoint) && !is_passed_over(endpoint)) {
    endpoint.trial_ = true;
    endpoint.passed_over_until_ = now_ + std::max(endpoint.pause_, kTrialTimeout);
  }
  return slots_[endpoint.slot_];
}

// Lower is better.
unsigned Balancer::rank(const Endpoint& endpoint) const noexcept {
  return (retrying_ && endpoint.retry_round_ == retry_round_ ? 2 : 0) + (is_passed_over(endpoint) ? 1 : 0);
}

Endpoint& Balancer::choose(std::span<const EndpointPtr> tried) noexcept {
  retrying_ = !tried.empty();
  if (retrying_) {
    ++retry_round_;
    for (const EndpointPtr& endpoint : tried) endpoint->retry_round_ = retry_round_;
  }
  switch (settings_.balance) {
    case Balance::kLeastConnections:
      return choose_least();
    case Balance::kTwoChoices:
      return choose_of_two();
    case Balance::kRoundRobin:
      break;
  }
  return choose_in_turn();
}

Endpoint& Balancer::choose_in_turn() noexcept {
  std::size_t best = index_;
  unsigned best_rank = rank(*order_[best]);
  for (std::size_t i = 1; best_rank != 0 && i < order_.size(); ++i) {
    const std::size_t position = index_ + i < order_.size() ? index_ + i : index_ + i - order_.size();
    const unsigned candidate = rank(*order_[position]);
    if (candidate >= best_rank) continue;
    best = position;
    best_rank = candidate;
  }
  index_ = best + 1 < order_.size() ? best + 1 : 0;
  return *order_[best];
}

// Starts at the index, so that endpoints with equal counts take turns.
Endpoint& Balancer::choose_least() noexcept {
  std::size_t best = index_;
  std::pair least{rank(*order_[best]), order_[best]->open()};
  const auto consider = [&](std::size_t position) SLUICE_REQUIRES(mutex_) {
    const std::pair candidate{rank(*order_[position]), order_[position]->open()};
    if (candidate >= least) return;
    best = position;
    least = candidate;
  };
  for (std::size_t position = index_ + 1; position < order_.size(); ++position) consider(position);
  for (std::size_t position = 0; position < index_; ++position) consider(position);
  index_ = best + 1 < order_.size() ? best + 1 : 0;
  return *order_[best];
}

Endpoint& Balancer::choose_of_two() noexcept {
  if (outliers_ == 0 && !retrying_) return less_loaded_of_two(order_);
  candidates_.clear();
  unsigned best_rank = ~0u;
  for (Endpoint* const endpoint : order_) {
    const unsigned candidate = rank(*endpoint);
    if (candidate > best_rank) continue;
    if (candidate < best_rank) candidates_.clear();
    best_rank = candidate;
    candidates_.push_back(endpoint);
  }
  return less_loaded_of_two(candidates_);
}

Endpoint& Balancer::less_loaded_of_two(std::span<Endpoint* const> candidates) noexcept {
  if (candidates.size() == 1) return *candidates.front();
  const std::size_t first = random_.below(candidates.size());
  std::size_t second = random_.below(candidates.size() - 1);
  if (second >= first) ++second;
  return candidates[first]->open() <= candidates[second]->open() ? *candidates[first] : *candidates[second];
}

void Balancer::dial_failed(const EndpointPtr& endpoint, Nanoseconds now) noexcept {
  if (settings_.outliers.failures == 0) return;
  const lib::Lock lock(mutex_);
  now = advance(now);
  if (endpoint->retired()) return;
  const Nanoseconds longest = nanoseconds(settings_.outliers.longest_pause);
  if (!is_outlier(*endpoint)) {
    endpoint->failures_.store(endpoint->failures_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (!is_outlier(*endpoint)) return;
    ++outliers_;
    endpoint->pause_ = std::min(nanoseconds(settings_.outliers.first_pause), longest);
  } else {
    // This dial started before the pause, or all endpoints were passed over: it does not lengthen the pause.
    if (is_passed_over(*endpoint) && !endpoint->trial_) return;
    endpoint->pause_ = std::min(endpoint->pause_ * 2, longest);
  }
  endpoint->trial_ = false;
  endpoint->passed_over_until_ = now + endpoint->pause_;
}

void Balancer::dial_succeeded(const EndpointPtr& endpoint) noexcept {
  // The common case takes no lock.
  if (endpoint->failures_.load(std::memory_order_relaxed) == 0) return;
  const lib::Lock lock(mutex_);
  if (endpoint->retired()) return;
  if (is_outlier(*endpoint)) --outliers_;
  endpoint->failures_.store(0, std::memory_order_relaxed);
  endpoint->trial_ = false;
}

void Balancer::dial_abandoned(const EndpointPtr& endpoint) noexcept {
  if (endpoint->failures_.load(std::memory_order_relaxed) == 0) return;
  const lib::Lock lock(mutex_);
  if (!endpoint->trial_) return;
  endpoint->trial_ = false;
  endpoint->passed_over_until_ = 0;
}

std::vector<Balancer::Binding> Balancer::bindings(Nanoseconds now) const {
  std::vector<Binding> all;
  const lib::Lock lock(mutex_);
  if (clients_ == nullptr) return all;
  now = std::max(now, now_);
  all.reserve(clients_->size());
  const std::span<const EndpointPtr> slots(slots_);
  const Nanoseconds affinity = affinity_;
  clients_->each([&](const abi::Address& client, AffinityTable::Slot slot, Nanoseconds used) {
    if (slots[slot] == nullptr || now - used >= affinity) return;
    const SocketAddress& target = slots[slot]->target();
    all.push_back({client, target.address(), target.port(), std::chrono::nanoseconds(affinity - (now - used))});
  });
  return all;
}

void Balancer::bind(std::vector<Binding> bindings, Nanoseconds now) {
  std::stable_sort(bindings.begin(), bindings.end(),
                   [](const Binding& a, const Binding& b) { return a.remaining < b.remaining; });
  const lib::Lock lock(mutex_);
  if (clients_ == nullptr) return;
  now = advance(now);
  std::vector<AffinityTable::Bound> bound;
  bound.reserve(bindings.size());
  for (const Binding& binding : bindings) {
    if (binding.remaining.count() <= 0) continue;
    const abi::Family family =
        order_.empty() || order_.front()->target().family() != AF_INET6 ? abi::Family::kIpv4 : abi::Family::kIpv6;
    const SocketAddress target(family, binding.endpoint, binding.port);
    const auto found =
        std::lower_bound(by_target_.begin(), by_target_.end(), target,
                         [](const Endpoint* a, const SocketAddress& b) { return compare(a->target(), b) < 0; });
    if (found == by_target_.end() || compare((*found)->target(), target) != 0) continue;
    const Nanoseconds remaining = std::min(static_cast<Nanoseconds>(binding.remaining.count()), affinity_);
    bound.push_back({binding.client, (*found)->slot_, now - (affinity_ - remaining), target});
  }
  clients_->bind(bound);
}

void Balancer::purge(Nanoseconds now) noexcept {
  for (bool more = true; more;) {
    const lib::Lock lock(mutex_);
    more = clients_ != nullptr && clients_->purge(advance(now), affinity_, kBatch) == kBatch;
  }
}

std::size_t Balancer::endpoints() const noexcept {
  const lib::Lock lock(mutex_);
  return order_.size();
}

std::vector<SocketAddress> Balancer::targets() const {
  std::vector<SocketAddress> all;
  const lib::Lock lock(mutex_);
  for (const Endpoint* endpoint : by_target_) all.push_back(endpoint->target());
  return all;
}

std::uint32_t Balancer::affinity_seconds() const noexcept {
  const lib::Lock lock(mutex_);
  return static_cast<std::uint32_t>(affinity_ / kSecond);
}

std::size_t Balancer::affinity_clients() const noexcept {
  const lib::Lock lock(mutex_);
  return clients_ == nullptr ? 0 : clients_->size();
}

std::size_t Balancer::passed_over(Nanoseconds now) const noexcept {
  const lib::Lock lock(mutex_);
  if (outliers_ == 0) return 0;
  return static_cast<std::size_t>(std::count_if(
      order_.begin(), order_.end(),
      [&](const Endpoint* endpoint) SLUICE_REQUIRES(mutex_) { return is_passed_over_at(*endpoint, now); }));
}

// For calls that must not advance the time of the balancer.
bool Balancer::is_passed_over_at(const Endpoint& endpoint, Nanoseconds now) const noexcept {
  return is_outlier(endpoint) && endpoint.passed_over_until_ > std::max(now, now_);
}

std::vector<EndpointPtr> Balancer::members() const {
  std::vector<EndpointPtr> all;
  const lib::Lock lock(mutex_);
  all.reserve(by_target_.size());
  for (const Endpoint* endpoint : by_target_) all.push_back(slots_[endpoint->slot_]);
  return all;
}

std::vector<Balancer::Candidate> Balancer::candidates(Nanoseconds now) const {
  std::vector<Candidate> all;
  const lib::Lock lock(mutex_);
  all.reserve(by_target_.size());
  for (const Endpoint* endpoint : by_target_) all.push_back({endpoint->target(), is_passed_over_at(*endpoint, now)});
  return all;
}

std::optional<SocketAddress> Balancer::bound_to(const abi::Address& client, Nanoseconds now) const noexcept {
  const lib::Lock lock(mutex_);
  if (clients_ == nullptr) return std::nullopt;
  const AffinityTable::Slot slot = clients_->find(client, std::max(now, now_), affinity_);
  if (slot == AffinityTable::kNone || slots_[slot] == nullptr) return std::nullopt;
  return slots_[slot]->target();
}

}  // namespace sluice::userspace
