// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/snapshot/store_thread.hpp"


namespace sluice::snapshot {
namespace {

// Enough to keep decoding and tracking apart, little enough to hold back a list of a
// large cluster instead of storing it.
constexpr std::size_t kQueueLimit = 4096;

}  // namespace

StoreThread::StoreThread(std::string node_name, std::vector<base::Family> families, Callbacks callbacks,
                         store::StoreOptions options, base::Clock::Duration service_cidr_patience)
    : callbacks_(std::move(callbacks)),
      store_(std::move(node_name), options),
      families_(std::move(families)),
      service_cidr_patience_(service_cidr_patience),
      queue_(kQueueLimit) {
  for (const auto family : families_) builders_.emplace_back(family);
}

StoreThread::~StoreThread() { stop(); }

void StoreThread::start() {
  thread_ = std::thread([this] { run(); });
}

void StoreThread::stop() {
  queue_.close();
  if (thread_.joinable()) thread_.join();
}

void StoreThread::deliver(model::Event event) { queue_.put(std::move(event)); }

void StoreThread::refresh_node_facts() { queue_.put(RefreshFacts{}); }

std::shared_ptr<const Transaction> StoreThread::take(base::Family family, bool full) {
  Take message{family, full, {}};
  auto reply = message.reply.get_future();
  if (!queue_.put(std::move(message))) return nullptr;
  try {
    return reply.get();
  } catch (const std::future_error&) {  // dropped: the thread has stopped
    return nullptr;
  }
}

StoreStatus StoreThread::status() {
  GetStatus message;
  auto reply = message.reply.get_future();
  if (!queue_.put(std::move(message))) return {};
  try {
    return reply.get();
  } catch (const std::future_error&) {
    return {};
  }
}

void StoreThread::told(base::Family family, ToldDone done) {
  queue_.put(GetTold{family, std::move(done)});
}

void StoreThread::run() {
  update_facts();
  while (!queue_.closed()) {
    auto messages = queue_.take_all(wait_until_);
    in_hand_ = messages.size();
    for (Message& message : messages) {
      std::visit([this](auto& m) { handle(m); }, message);
      in_hand_.fetch_sub(1, std::memory_order_relaxed);
    }
    publish();
    // Once a batch: an event storm wakes the apply threads once.
    await_service_cidrs();
    announce();
  }
  // Whoever still waits for an answer learns that none will come.
  queue_.take_all();
}

void StoreThread::handle(model::Event& event) { store_.apply(std::move(event)); }

void StoreThread::handle(RefreshFacts&) { update_facts(); }

void StoreThread::update_facts() {
  facts_from_node_ = store_.node_version();
  facts_from_service_cidrs_ = store_.service_cidrs_version();
  for (std::size_t i = 0; i < families_.size(); ++i) {
    auto facts = callbacks_.node_facts(families_[i], store_.node());
    if (!facts) return;  // what was known before stays in force
    facts->service_cidrs = store_.service_cidrs(families_[i]);
    builders_[i].set_node_facts(std::move(*facts));
  }
  facts_known_ = true;
}

void StoreThread::handle(Take& message) {
  std::shared_ptr<const Transaction> out;
  for (std::size_t i = 0; i < families_.size(); ++i) {
    if (families_[i] != message.family || !ready()) continue;
    out = std::make_shared<const Transaction>(message.full ? builders_[i].full(store_) : builders_[i].delta(store_));
  }
  message.reply.set_value(std::move(out));
}

void StoreThread::handle(GetStatus& message) {
  StoreStatus out;
  out.synced = store_.synced();
  out.facts_known = facts_known_;
  out.counters = store_.counters();
  out.services = store_.service_count();
  out.slices = store_.slice_count();
  out.endpoints = store_.endpoint_count();
  out.node = store_.node();
  for (std::size_t i = 0; i < families_.size(); ++i) {
    out.service_ports[base::family_index(families_[i])] = builders_[i].service_port_count();
  }
  message.reply.set_value(std::move(out));
}

void StoreThread::handle(GetTold& message) {
  for (std::size_t i = 0; i < families_.size(); ++i) {
    if (families_[i] == message.family) message.done(builders_[i].told(), builders_[i].generation());
  }
}

StoreFigures StoreThread::figures() const {
  StoreFigures out;
  {
    const std::lock_guard lock(figures_mutex_);
    out = figures_;
  }
  out.queue_length = queue_.size() + in_hand_.load(std::memory_order_relaxed);
  return out;
}

// Once a batch, too: nobody needs to see an event before what came with it.
void StoreThread::publish() {
  StoreFigures now;
  const store::StoreCounters& counters = store_.counters();
  now.events = counters.events;
  now.no_op = counters.no_op;
  now.unusable = counters.unusable;
  now.services = store_.service_count();
  now.slices = store_.slice_count();
  now.endpoints = store_.endpoint_count();
  now.service_events = counters.service_events;
  for (std::size_t i = 0; i < families_.size(); ++i) {
    const auto family = base::family_index(families_[i]);
    now.slice_events[family] = counters.slice_events[family];
    now.pending_services[family] = store_.pending_services(families_[i]);
    now.pending_slice_changes[family] = store_.pending_slice_changes(families_[i]);
    now.service_ports[family] = builders_[i].service_port_count();
  }
  const std::lock_guard lock(figures_mutex_);
  figures_ = now;
}

bool StoreThread::facts_are_old() const {
  return store_.node_version() != facts_from_node_ || store_.service_cidrs_version() != facts_from_service_cidrs_;
}

void StoreThread::await_service_cidrs() {
  const bool waiting = store_.synced() && !store_.service_cidrs_known() && !patience_over_;
  const auto now = base::SteadyClock().now();
  if (waiting && wait_until_ == base::Clock::Time::max()) wait_until_ = now + service_cidr_patience_;
  if (waiting && now >= wait_until_) patience_over_ = true;
  if (!waiting || patience_over_) wait_until_ = base::Clock::Time::max();
}

void StoreThread::announce() {
  if (facts_are_old()) update_facts();
  if (!ready()) return;
  // The first time also without anything to say: an empty cluster has its static rules.
  const bool first = !announced_synced_;
  announced_synced_ = true;
  for (std::size_t i = 0; i < families_.size(); ++i) {
    if (first || builders_[i].has_pending(store_)) callbacks_.on_pending(families_[i]);
  }
}

}  // namespace sluice::snapshot
