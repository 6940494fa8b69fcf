// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/snapshot/store_thread.hpp"

#include <algorithm>
#include <utility>

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
      queue_(kQueueLimit) {}

StoreThread::~StoreThread() { stop(); }

void StoreThread::start() {
  started_ = true;
  thread_ = std::thread([this] { run(); });
}

void StoreThread::stop() {
  queue_.close();
  if (thread_.joinable()) thread_.join();
}

void StoreThread::deliver(model::Event event) { queue_.put(std::move(event)); }

void StoreThread::server_at(std::vector<base::SocketAddress> addresses) { queue_.put(ServerAt{std::move(addresses)}); }

void StoreThread::refresh_node_facts() { queue_.put(RefreshFacts{}); }

void StoreThread::facts_have_come() { queue_.put(FactsHaveCome{}); }

FeedId StoreThread::open_feed(base::Family family, OnPending on_pending, FactsOf facts) {
  const FeedId feed = ++last_feed_;
  auto announcement = std::make_shared<Announcement>();
  announcement->on_pending = std::move(on_pending);
  {
    const std::lock_guard lock(announcements_mutex_);
    announcements_.emplace(feed, std::move(announcement));
  }
  queue_.put(OpenFeed{feed, facts, family});
  return feed;
}

void StoreThread::close_feed(FeedId feed) {
  std::shared_ptr<Announcement> announcement;
  {
    const std::lock_guard lock(announcements_mutex_);
    const auto found = announcements_.find(feed);
    if (found == announcements_.end()) return;
    announcement = std::move(found->second);
    announcements_.erase(found);
  }
  {
    const std::lock_guard lock(announcement->mutex);
    announcement->on_pending = nullptr;
  }
  queue_.put(CloseFeed{feed});
}

void StoreThread::set_options(store::StoreOptions options) { queue_.put(SetOptions{options}); }

std::shared_ptr<const Transaction> StoreThread::take(FeedId feed, bool full, model::Namespaces deferred) {
  // Nobody would answer; and who asks may have to end before anybody does.
  if (!started_) return nullptr;
  Take message{feed, full, std::move(deferred), {}};
  auto reply = message.reply.get_future();
  if (!queue_.put(std::move(message))) return nullptr;
  try {
    return reply.get();
  } catch (const std::future_error&) {  // dropped: the thread has stopped
    return nullptr;
  }
}

StoreStatus StoreThread::status() {
  if (!started_) return {};  // nobody would answer
  GetStatus message;
  auto reply = message.reply.get_future();
  if (!queue_.put(std::move(message))) return {};
  try {
    return reply.get();
  } catch (const std::future_error&) {
    return {};
  }
}

void StoreThread::describe(FeedId feed, DescribeRequest request) { queue_.put(Describe{feed, std::move(request)}); }

void StoreThread::run() {
  update_facts();
  publish();
  while (!queue_.closed()) {
    auto messages = queue_.take_all(describers_.empty() ? wait_until_ : base::Clock::Time{});
    in_hand_ = messages.size();
    for (Message& message : messages) {
      std::visit([this](auto& m) { handle(m); }, message);
      in_hand_.fetch_sub(1, std::memory_order_relaxed);
    }
    drop_what_nobody_is_told();
    describe_more();
    if (facts_are_old()) update_facts();
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

void StoreThread::handle(FactsHaveCome&) {
  for (Feed& feed : feeds_) {
    if (feed.facts == FactsOf::in_force) continue;
    feed.facts = FactsOf::in_force;
    // What it knows is the newest there is of what was coming; where that is in force as it is, nothing changes for it.
    const std::size_t family = base::family_index(feed.builder.family());
    facts_[family][0] = facts_[family][1];
  }
  update_facts();
  for (Feed& feed : feeds_) feed.builder.set_node_facts(facts_[base::family_index(feed.builder.family())][0]);
}

void StoreThread::update_facts() {
  facts_from_node_ = store_.node_version();
  facts_from_service_cidrs_ = store_.service_cidrs_version();
  for (const auto family : families_) {
    if (!update_facts(family, FactsOf::in_force)) return;  // what was known before stays in force
    if (told(FactsOf::coming)) update_facts(family, FactsOf::coming);
  }
  facts_known_ = true;
}

bool StoreThread::update_facts(base::Family family, FactsOf of) {
  auto facts = callbacks_.node_facts(family, store_.node(), of);
  if (!facts) return false;
  facts->service_cidrs = store_.service_cidrs(family);
  VersionedFacts& known = facts_[base::family_index(family)][static_cast<std::size_t>(of)];
  if (known.facts && *known.facts == *facts) return true;
  known.facts = std::make_shared<const NodeFacts>(std::move(*facts));
  known.version = ++facts_version_;
  for (Feed& feed : feeds_) {
    if (feed.builder.family() == family && feed.facts == of) feed.builder.set_node_facts(known);
  }
  return true;
}

bool StoreThread::told(FactsOf facts) const {
  return std::any_of(feeds_.begin(), feeds_.end(), [facts](const Feed& feed) { return feed.facts == facts; });
}

StoreThread::Feed* StoreThread::find(FeedId feed) {
  const auto found = std::find_if(feeds_.begin(), feeds_.end(), [feed](const Feed& one) { return one.id == feed; });
  return found == feeds_.end() ? nullptr : &*found;
}

const StoreThread::Feed* StoreThread::oldest(base::Family family) const {
  const auto found =
      std::find_if(feeds_.begin(), feeds_.end(), [family](const Feed& one) { return one.builder.family() == family; });
  return found == feeds_.end() ? nullptr : &*found;
}

void StoreThread::handle(OpenFeed& message) {
  const Feed* const other = oldest(message.family);
  Feed feed{message.feed,
            other != nullptr ? other->builder.for_another()
                                           : Builder(message.family, store_.service_names(message.family))};
  feed.facts = message.facts;
  const std::size_t family = base::family_index(message.family);
  if (feed.facts == FactsOf::coming) {
    facts_[family][1] = facts_[family][0];  // until there are others
    feed.builder.set_node_facts(facts_[family][1]);
  } else {
    feed.builder.set_node_facts(facts_[family][0]);
  }
  const FactsOf facts = feed.facts;
  feeds_.push_back(std::move(feed));
  if (facts == FactsOf::coming) update_facts(message.family, facts);
}

void StoreThread::handle(CloseFeed& message) {
  std::erase_if(feeds_, [&](const Feed& one) { return one.id == message.feed; });
}

void StoreThread::handle(SetOptions& message) { store_.set_options(message.options); }

void StoreThread::handle(ServerAt& message) { store_.reserve(std::move(message.addresses)); }

// What happened waits in the store until the first of the family's feeds takes it.
void StoreThread::distribute(base::Family family) {
  store::Changes changes = store_.take_changes(family);
  Feed* last = nullptr;
  for (Feed& feed : feeds_) {
    if (feed.builder.family() != family) continue;
    if (last != nullptr) last->builder.note(changes);
    last = &feed;
  }
  if (last != nullptr) last->builder.note(std::move(changes));
}

// A feed that is opened begins with everything anyway.
void StoreThread::drop_what_nobody_is_told() {
  for (const auto family : base::kFamilies) {
    if (oldest(family) == nullptr) store_.take_changes(family);
  }
}

void StoreThread::handle(Take& message) {
  std::shared_ptr<const Transaction> out;
  if (Feed* const feed = find(message.feed); feed != nullptr && ready()) {
    patience_over_ = true;
    if (facts_are_old()) update_facts();
    distribute(feed->builder.family());
    Builder& builder = feed->builder;
    const bool full = message.full || !builder.began();
    out = std::make_shared<const Transaction>(full ? builder.full(store_) : builder.delta(store_, message.deferred));
  }
  publish();  // before the kernel can have it
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
  for (const auto family : base::kFamilies) {
    if (const Feed* const feed = oldest(family)) {
      out.service_ports[base::family_index(family)] = feed->builder.service_port_count();
    }
  }
  return out;
}

StoreStatus StoreThread::published() const {
  const std::lock_guard lock(figures_mutex_);
  return published_;
}

void StoreThread::handle(Describe& message) {
  const Feed* const feed = find(message.feed);
  if (feed == nullptr) return;
  std::vector<model::ObjectName> names = store_.all_service_names();
  for (model::ObjectName& name : feed->builder.given_names()) {
    if (store_.find_service(name) == nullptr) names.push_back(std::move(name));
  }
  describers_.emplace_back(message.feed, Describer(std::move(message.request), std::move(names)));
}

// One step of each: what waits in the queue comes before the next.
void StoreThread::describe_more() {
  std::erase_if(describers_, [this](auto& one) {
    const Feed* const feed = find(one.first);
    return feed == nullptr || !one.second.step(store_, feed->builder);
  });
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
  for (const auto family : families_) {
    const auto i = base::family_index(family);
    now.slice_events[i] = counters.slice_events[i];
    const Feed* const feed = oldest(family);
    if (feed == nullptr) continue;
    now.pending_services[i] = feed->builder.pending_services(store_);
    now.pending_slice_changes[i] = feed->builder.pending_slice_changes(store_);
    now.service_ports[i] = feed->builder.service_port_count();
  }
  StoreStatus status = status_now();
  const std::lock_guard lock(figures_mutex_);
  figures_ = now;
  published_ = std::move(status);
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
  if (!ready()) return;
  for (Feed& feed : feeds_) {
    // The first time also without anything to say: an empty cluster has its static rules.
    if (feed.announced && !feed.builder.has_pending(store_)) continue;
    feed.announced = true;
    announce(feed);
  }
}

void StoreThread::announce(Feed& feed) {
  std::shared_ptr<Announcement> announcement;
  {
    const std::lock_guard lock(announcements_mutex_);
    if (const auto found = announcements_.find(feed.id); found != announcements_.end()) announcement = found->second;
  }
  if (!announcement) return;
  const std::lock_guard lock(announcement->mutex);
  if (announcement->on_pending) announcement->on_pending(store_.changed_namespaces(feed.builder.family()));
}

}  // namespace sluice::snapshot
