// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The store thread: the only one that touches the store and the builders. Sources put
// events in, apply threads ask for transactions, and it says when a feed has work.
#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <variant>
#include <vector>

#include "core/base/clock.hpp"
#include "core/base/queue.hpp"
#include "core/model/event.hpp"
#include "core/snapshot/builder.hpp"
#include "core/snapshot/describer.hpp"
#include "core/snapshot/description.hpp"
#include "core/snapshot/store_figures.hpp"

namespace sluice::snapshot {

struct StoreStatus {
  bool synced = false;       // every resource has been listed, but for ServiceCIDRs
  bool facts_known = false;  // backends can be told about the node
  store::StoreCounters counters;
  std::size_t services = 0;
  std::size_t slices = 0;
  std::size_t endpoints = 0;
  std::size_t service_ports[2] = {0, 0};  // by family_index; of the oldest feed, 0 without one
  std::optional<model::Node> node;
};

// One who is told: a backend in one family. Each has been told something else, and is told the rest. A change reaches
// every feed that is open; what caused it and when (Transaction::trigger_times), too, so that of two feeds only one may
// be asked how long things took. 0 is nobody's.
using FeedId = std::uint64_t;

// Which settings a feed is told the node by: those in force, or those that are to be in force once its backend serves.
enum class FactsOf : std::uint8_t { in_force, coming };

class StoreThread final : public model::EventSink {
 public:
  struct Callbacks {
    // [store thread] What backends are told about the node, computed from what is known
    // of it now. Asked at start, when our Node object changes and on refresh_node_facts().
    // Nothing: what backends must know is not known yet, so nothing is applied.
    // service_cidrs is filled in here.
    // FactsOf::coming is asked for only while there is a feed that is told so.
    std::function<std::optional<NodeFacts>(base::Family, const std::optional<model::Node>&, FactsOf)> node_facts;
  };

  // How long the first transaction waits for ServiceCIDRs, where they are of use, when
  // everything else is known. Without it what a restart finds in the kernel would often be
  // taken out and put back.
  static constexpr std::chrono::seconds kServiceCidrPatience{1};

  StoreThread(std::string node_name, std::vector<base::Family> families, Callbacks callbacks,
              store::StoreOptions options = {}, base::Clock::Duration service_cidr_patience = kServiceCidrPatience);
  ~StoreThread() override;  // stops

  void start();
  bool started() const { return started_; }  // any thread
  void stop();

  // [any thread] Blocks while thousands of events wait.
  void deliver(model::Event event) override;
  // [any thread] No external IP takes these addresses from now on.
  void server_at(std::vector<base::SocketAddress> addresses) override;
  // [any thread] Something else that node_facts() reads has changed.
  void refresh_node_facts();
  using OnPending = std::function<void(const model::Namespaces& changed)>;
  // [any thread but the store's, also before start()] A feed that has been told nothing: its first take is full.
  // `on_pending` [store thread, must not wait]: there is something to take; called at once where there is, and not
  // before everything is listed. With the namespaces that it comes from, as far as Services or slices changed. Another
  // feed of the family costs pointers, no work for unchanged Services.
  FeedId open_feed(base::Family family, OnPending on_pending, FactsOf facts = FactsOf::in_force);
  // [any thread] What was coming is in force: all feeds are told the same from now on.
  void facts_have_come();
  // [any thread but the store's, also before start()] Afterwards its `on_pending` is not called, and a take gives null.
  // Waits for an `on_pending` under way, which must not need what the caller holds.
  void close_feed(FeedId feed);
  // [any thread but the store's] Null before start(), when stopping, when not everything is listed yet, or there is no such
  // feed.
  std::shared_ptr<const Transaction> take(FeedId feed, bool full, model::Namespaces deferred = {});
  // [any thread] From now on; the Services it matters for are resolved again. As to ServiceCIDRs, nothing waits for
  // them once something has been taken.
  void set_options(store::StoreOptions options);
  // [any thread] Waits for the store thread, so that all that was delivered before counts.
  StoreStatus status();
  // [any thread] As of the last batch of events. Does not wait for the store thread.
  StoreStatus published() const;
  // [any thread] Services as this feed knows them, with the reasons. Its callbacks are called on the store thread.
  void describe(FeedId feed, DescribeRequest request);
  // [any thread] Does not wait for the store thread, unlike status().
  StoreFigures figures() const;

 private:
  struct RefreshFacts {};
  struct FactsHaveCome {};
  struct OpenFeed {
    FeedId feed;
    FactsOf facts;
    base::Family family;
  };
  struct CloseFeed {
    FeedId feed;
  };
  struct SetOptions {
    store::StoreOptions options;
  };
  struct ServerAt {
    std::vector<base::SocketAddress> addresses;
  };
  struct Take {
    FeedId feed;
    bool full;
    model::Namespaces deferred;
    std::promise<std::shared_ptr<const Transaction>> reply;
  };
  struct GetStatus {
    std::promise<StoreStatus> reply;
  };
  struct Describe {
    FeedId feed;
    DescribeRequest request;
  };
  using Message = std::variant<model::Event, RefreshFacts, FactsHaveCome, OpenFeed, CloseFeed, SetOptions, ServerAt,
                               Take, GetStatus, Describe>;
  struct Feed {
    FeedId id;
    Builder builder;
    FactsOf facts = FactsOf::in_force;
    bool announced = false;
  };
  // What close_feed() reaches without the store thread.
  struct Announcement {
    std::mutex mutex;
    OnPending on_pending;  // under mutex; empty: closed
  };

  void run();
  void handle(model::Event& event);
  void handle(RefreshFacts& message);
  void handle(FactsHaveCome& message);
  void handle(OpenFeed& message);
  void handle(CloseFeed& message);
  void handle(SetOptions& message);
  void handle(ServerAt& message);
  void handle(Take& message);
  void handle(GetStatus& message);
  void handle(Describe& message);
  void describe_more();
  void update_facts();
  bool update_facts(base::Family family, FactsOf of);
  bool told(FactsOf facts) const;
  Feed* find(FeedId feed);
  const Feed* oldest(base::Family family) const;
  void distribute(base::Family family);
  void drop_what_nobody_is_told();
  void announce();
  void announce(Feed& feed);
  void await_service_cidrs();
  bool facts_are_old() const;
  StoreStatus status_now() const;
  void publish();

  Callbacks callbacks_;
  store::Store store_;
  std::vector<Feed> feeds_;  // the oldest first
  std::list<std::pair<FeedId, Describer>> describers_;
  std::vector<base::Family> families_;
  VersionedFacts facts_[2][2];  // by family_index and FactsOf
  std::uint64_t facts_version_ = 0;
  bool ready() const { return store_.synced() && facts_known_ && (store_.service_cidrs_known() || patience_over_); }

  bool facts_known_ = false;
  std::uint64_t facts_from_node_ = 0;
  std::uint64_t facts_from_service_cidrs_ = 0;
  const base::Clock::Duration service_cidr_patience_;
  base::Clock::Time wait_until_ = base::Clock::Time::max();  // for ServiceCIDRs
  bool patience_over_ = false;  // also once something has been taken
  std::atomic<bool> started_{false};
  std::atomic<FeedId> last_feed_{0};
  std::mutex announcements_mutex_;
  std::unordered_map<FeedId, std::shared_ptr<Announcement>> announcements_;  // under announcements_mutex_
  mutable std::mutex figures_mutex_;
  StoreFigures figures_;                     // under figures_mutex_; without the queue
  StoreStatus published_;                    // under figures_mutex_
  std::atomic<std::uint64_t> in_hand_{0};    // messages taken from the queue, not dealt with
  base::HandoverQueue<Message> queue_;
  std::thread thread_;
};

}  // namespace sluice::snapshot
