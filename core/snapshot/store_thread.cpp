// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/snapshot/store_thread.hpp"

#include <algorithm>
#include <utility>

namespace sluice::snapshot {
namespace {

// Large enough to decouple decoding from tracking, small enough that the list of a large cluster is throttled instead
// of buffered.
constexpr std::size_t kQueueLimit = 4096;

}  // namespace

StoreThread::StoreThread(std::string node_name, Callbacks callbacks)
    : callbacks_(std::move(callbacks)), store_(std::move(node_name)), queue_(kQueueLimit) {}

StoreThread::~StoreThread() { stop(); }

void StoreThread::start(Start with) {
  families_ = std::move(with.families);
  service_cidr_timeout_ = with.service_cidr_timeout;
  store_.set_options(with.options);
  started_ = true;
  thread_ = std::thread([this] { run(); });
}

void StoreThread::stop() {
  queue_.close();
  if (thread_.joinable()) thread_.join();
}

void StoreThread::deliver(model::Event event) { queue_.put(std::move(event)); }

void StoreThread::server_at(std::vector<lib::SocketAddress> addresses) { queue_.put(ServerAt{std::move(addresses)}); }

void StoreThread::set_families(std::vector<lib::Family> families) { queue_.put(SetFamilies{std::move(families)}); }

// Before start() no thread would empty the queue.
void StoreThread::refresh_node_facts() {
  if (started_) queue_.put(RefreshFacts{});
}

void StoreThread::promote_pending_settings() { queue_.put(PromoteSettings{}); }

SubscriptionId StoreThread::subscribe(lib::Family family, OnPending on_pending, SettingsStage facts,
                                      model::DetailsRequest details) {
  const SubscriptionId subscription = ++last_subscription_;
  auto callback = std::make_shared<PendingCallback>(std::move(on_pending));
  {
    const lib::Lock lock(pending_callbacks_mutex_);
    pending_callbacks_.emplace(subscription, std::move(callback));
  }
  queue_.put(Subscribe{subscription, facts, family, std::move(details)});
  return subscription;
}

void StoreThread::unsubscribe(SubscriptionId subscription) {
  std::shared_ptr<PendingCallback> callback;
  {
    const lib::Lock lock(pending_callbacks_mutex_);
    const auto found = pending_callbacks_.find(subscription);
    if (found == pending_callbacks_.end()) return;
    callback = std::move(found->second);
    pending_callbacks_.erase(found);
  }
  {
    const lib::Lock lock(callback->mutex);
    callback->on_pending = nullptr;
  }
  queue_.put(Unsubscribe{subscription});
}

void StoreThread::set_options(store::StoreOptions options) { queue_.put(SetOptions{options}); }

std::shared_ptr<const Transaction> StoreThread::take(SubscriptionId subscription, bool full, model::Namespaces deferred) {
  // Before start() no thread would answer, and the caller could block forever.
  if (!started_) return nullptr;
  Take message{subscription, full, std::move(deferred), {}};
  auto reply = message.reply.get_future();
  if (!queue_.put(std::move(message))) return nullptr;
  try {
    return reply.get();
  } catch (const std::future_error&) {  // dropped: the thread has stopped
    return nullptr;
  }
}

StoreStatus StoreThread::status() {
  if (!started_) return {};  // no thread would answer
  GetStatus message;
  auto reply = message.reply.get_future();
  if (!queue_.put(std::move(message))) return {};
  try {
    return reply.get();
  } catch (const std::future_error&) {
    return {};
  }
}

void StoreThread::describe(SubscriptionId subscription, DescribeRequest request) {
  queue_.put(Describe{subscription, std::move(request)});
}

void StoreThread::run() {
  update_facts();
  publish();
  while (!queue_.closed()) {
    auto messages = queue_.take_all(describers_.empty() ? wait_until_ : lib::Clock::Time{});
    in_hand_ = messages.size();
    for (Message& message : messages) {
      std::visit([this](auto& m) { handle(m); }, message);
      in_hand_.fetch_sub(1, std::memory_order_relaxed);
    }
    drop_unsubscribed_changes();
    describe_more();
    if (facts_are_stale()) update_facts();
    publish();
    // Once per batch, so that an event storm wakes the apply threads once.
    await_service_cidrs();
    notify();
  }
  // Dropping the remaining requests breaks their promises, so that their callers return.
  queue_.take_all();
}

void StoreThread::handle(model::Event& event) { store_.apply(std::move(event)); }

void StoreThread::handle(RefreshFacts&) { update_facts(); }

void StoreThread::handle(SetFamilies& message) {
  families_ = std::move(message.families);
  update_facts();
}

void StoreThread::handle(PromoteSettings&) {
  for (Subscription& subscription : subscriptions_) {
    if (subscription.facts == SettingsStage::running) continue;
    subscription.facts = SettingsStage::running;
    // This subscription has the newest facts of the pending settings. If they equal the running ones, nothing changes.
    const std::size_t family = lib::family_index(subscription.builder.family());
    facts_[family][0] = facts_[family][1];
  }
  update_facts();
  for (Subscription& subscription : subscriptions_)
    subscription.builder.set_node_facts(facts_[lib::family_index(subscription.builder.family())][0]);
}

void StoreThread::update_facts() {
  if (families_.empty()) return;
  facts_from_node_ = store_.node_version();
  facts_from_service_cidrs_ = store_.service_cidrs_version();
  for (const auto family : families_) {
    if (!update_facts(family, SettingsStage::running)) return;  // keep the earlier facts
    if (has_subscription(SettingsStage::pending)) update_facts(family, SettingsStage::pending);
  }
  facts_known_ = true;
}

bool StoreThread::update_facts(lib::Family family, SettingsStage of) {
  auto facts = callbacks_.node_facts(family, store_.node(), of);
  if (!facts) return false;
  facts->service_cidrs = store_.service_cidrs(family);
  VersionedFacts& known = facts_[lib::family_index(family)][static_cast<std::size_t>(of)];
  if (known.facts && *known.facts == *facts) return true;
  known.facts = std::make_shared<const NodeFacts>(std::move(*facts));
  known.version = ++facts_version_;
  for (Subscription& subscription : subscriptions_) {
    if (subscription.builder.family() == family && subscription.facts == of) subscription.builder.set_node_facts(known);
  }
  return true;
}

bool StoreThread::has_subscription(SettingsStage facts) const {
  return std::any_of(subscriptions_.begin(), subscriptions_.end(),
                     [facts](const Subscription& subscription) { return subscription.facts == facts; });
}

StoreThread::Subscription* StoreThread::find(SubscriptionId subscription) {
  const auto found = std::find_if(subscriptions_.begin(), subscriptions_.end(),
                                  [subscription](const Subscription& one) { return one.id == subscription; });
  return found == subscriptions_.end() ? nullptr : &*found;
}

const StoreThread::Subscription* StoreThread::oldest(lib::Family family) const {
  const auto found = std::find_if(subscriptions_.begin(), subscriptions_.end(),
                                  [family](const Subscription& one) { return one.builder.family() == family; });
  return found == subscriptions_.end() ? nullptr : &*found;
}

void StoreThread::handle(Subscribe& message) {
  const Subscription* const other = oldest(message.family);
  Subscription subscription{message.subscription, other != nullptr
                                                      ? other->builder.for_new_subscription(message.details)
                                                      : Builder(message.family, store_.service_names(message.family),
                                                                message.details)};
  subscription.facts = message.facts;
  const std::size_t family = lib::family_index(message.family);
  if (subscription.facts == SettingsStage::pending) {
    facts_[family][1] = facts_[family][0];  // until they are computed below
    subscription.builder.set_node_facts(facts_[family][1]);
  } else {
    subscription.builder.set_node_facts(facts_[family][0]);
  }
  const SettingsStage facts = subscription.facts;
  subscriptions_.push_back(std::move(subscription));
  if (facts == SettingsStage::pending) update_facts(message.family, facts);
}

void StoreThread::handle(Unsubscribe& message) {
  std::erase_if(subscriptions_, [&](const Subscription& one) { return one.id == message.subscription; });
}

void StoreThread::handle(SetOptions& message) { store_.set_options(message.options); }

void StoreThread::handle(ServerAt& message) { store_.reserve(std::move(message.addresses)); }

// Changes stay in the store until the first subscription of the family takes them.
void StoreThread::distribute(lib::Family family) {
  store::Changes changes = store_.take_changes(family);
  Subscription* last = nullptr;
  for (Subscription& subscription : subscriptions_) {
    if (subscription.builder.family() != family) continue;
    if (last != nullptr) last->builder.note(changes);
    last = &subscription;
  }
  if (last != nullptr) last->builder.note(std::move(changes));
}

// A new subscription starts with a full transaction, so it does not need them.
void StoreThread::drop_unsubscribed_changes() {
  for (const auto family : lib::kFamilies) {
    if (oldest(family) == nullptr) store_.take_changes(family);
  }
}

void StoreThread::handle(Take& message) {
  std::shared_ptr<const Transaction> out;
  if (Subscription* const subscription = find(message.subscription); subscription != nullptr && ready(*subscription)) {
    service_cidr_wait_over_ = true;
    if (facts_are_stale()) update_facts();
    distribute(subscription->builder.family());
    Builder& builder = subscription->builder;
    const bool full = message.full || !builder.began();
    out = std::make_shared<const Transaction>(full ? builder.full(store_) : builder.delta(store_, message.deferred));
  }
  publish();  // before the backend can program it
  message.reply.set_value(std::move(out));
}

void StoreThread::handle(GetStatus& message) { message.reply.set_value(status_now()); }

StoreStatus StoreThread::status_now() const {
  StoreStatus out;
  out.synced = store_.synced();
  out.facts_known = facts_known_;
  out.counters = store_.counters();
  out.services = store_.service_count();
  out.slices = store_.slice_count();
  out.endpoints = store_.endpoint_count();
  out.node = store_.node();
  out.service_details = store_.list_details(model::ResourceKind::service);
  out.endpoint_details = store_.list_details(model::ResourceKind::endpoint_slice);
  for (const auto family : lib::kFamilies) {
    if (const Subscription* const subscription = oldest(family)) {
      out.service_ports[lib::family_index(family)] = subscription->builder.service_port_count();
    }
  }
  return out;
}

StoreStatus StoreThread::published() const {
  const lib::Lock lock(published_mutex_);
  return published_;
}

void StoreThread::handle(Describe& message) {
  const Subscription* const subscription = find(message.subscription);
  if (subscription == nullptr) return;
  std::vector<model::ObjectName> names = store_.all_service_names();
  for (model::ObjectName& name : subscription->builder.delivered_names()) {
    if (store_.find_service(name) == nullptr) names.push_back(std::move(name));
  }
  describers_.emplace_back(message.subscription, Describer(std::move(message.request), std::move(names)));
}

// One step of each, so that queued messages are handled before the next step.
void StoreThread::describe_more() {
  std::erase_if(describers_, [this](auto& one) {
    const Subscription* const subscription = find(one.first);
    return subscription == nullptr || !one.second.step(store_, subscription->builder);
  });
}

StoreStatistics StoreThread::statistics() const {
  StoreStatistics out;
  {
    const lib::Lock lock(published_mutex_);
    out = statistics_;
  }
  out.queue_length = queue_.size() + in_hand_.load(std::memory_order_relaxed);
  return out;
}

// Once per batch: readers do not need the state between two events of a batch.
void StoreThread::publish() {
  StoreStatistics now;
  const store::StoreCounters& counters = store_.counters();
  now.events = counters.events;
  now.no_op = counters.no_op;
  now.unusable = counters.unusable;
  now.services = store_.service_count();
  now.slices = store_.slice_count();
  now.endpoints = store_.endpoint_count();
  now.service_events = counters.service_events;
  for (const auto family : families_) {
    const auto i = lib::family_index(family);
    now.slice_events[i] = counters.slice_events[i];
    const Subscription* const subscription = oldest(family);
    if (subscription == nullptr) continue;
    now.pending_services[i] = subscription->builder.pending_services(store_);
    now.pending_slice_changes[i] = subscription->builder.pending_slice_changes(store_);
    now.service_ports[i] = subscription->builder.service_port_count();
  }
  StoreStatus status = status_now();
  const lib::Lock lock(published_mutex_);
  statistics_ = now;
  published_ = std::move(status);
}

bool StoreThread::facts_are_stale() const {
  return store_.node_version() != facts_from_node_ || store_.service_cidrs_version() != facts_from_service_cidrs_;
}

void StoreThread::await_service_cidrs() {
  const bool waiting = store_.synced() && !store_.service_cidrs_known() && !service_cidr_wait_over_;
  const auto now = lib::SteadyClock().now();
  if (waiting && wait_until_ == lib::Clock::Time::max()) wait_until_ = now + service_cidr_timeout_;
  if (waiting && now >= wait_until_) service_cidr_wait_over_ = true;
  if (!waiting || service_cidr_wait_over_) wait_until_ = lib::Clock::Time::max();
}

void StoreThread::notify() {
  if (!ready()) return;
  for (Subscription& subscription : subscriptions_) {
    // Notify the first time even without changes: an empty cluster needs the static rules.
    if (!ready(subscription) || (subscription.notified && !subscription.builder.has_pending(store_))) continue;
    subscription.notified = true;
    notify(subscription);
  }
}

void StoreThread::notify(Subscription& subscription) {
  std::shared_ptr<PendingCallback> callback;
  {
    const lib::Lock lock(pending_callbacks_mutex_);
    if (const auto found = pending_callbacks_.find(subscription.id); found != pending_callbacks_.end())
      callback = found->second;
  }
  if (!callback) return;
  const lib::Lock lock(callback->mutex);
  if (callback->on_pending) callback->on_pending(store_.changed_namespaces(subscription.builder.family()));
}

}  // namespace sluice::snapshot
