// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The store thread owns the store and the builders. Sources deliver events to it, apply threads take transactions from
// it, and it notifies a subscription that has changes.
#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <variant>
#include <vector>

#include "core/model/event.hpp"
#include "core/snapshot/builder.hpp"
#include "core/snapshot/describer.hpp"
#include "core/snapshot/description.hpp"
#include "core/snapshot/store_statistics.hpp"
#include "lib/clock.hpp"
#include "lib/mutex.hpp"
#include "lib/queue.hpp"

namespace sluice::snapshot {

struct StoreStatus {
  bool synced = false;       // every resource except ServiceCIDRs has been listed
  bool facts_known = false;  // the node facts for backends are known
  store::StoreCounters counters;
  std::size_t services = 0;
  std::size_t slices = 0;
  std::size_t endpoints = 0;
  std::size_t service_ports[2] = {0, 0};  // by family_index; of the oldest subscription, 0 without one
  std::optional<model::Node> node;
  // What the last lists of Services and EndpointSlices were decoded with.
  model::WantedDetailsPtr service_details;
  model::WantedDetailsPtr endpoint_details;

  bool has_details(const model::DetailsRequest& request) const {
    return model::covers(service_details, endpoint_details, request);
  }
};

// A subscription delivers changes to one backend in one address family. Each has its own delivered state. Every
// subscription receives each change with its trigger times, so only one of two subscriptions may report latencies.
// 0 is never a valid id.
using SubscriptionId = std::uint64_t;

// The settings from which the node facts of a subscription are computed: the running ones, or those that a reload
// applies once the new backend is active.
enum class SettingsStage : std::uint8_t { running, pending };

class StoreThread final : public model::EventSink {
 public:
  struct Callbacks {
    // [store thread] Computes the node facts for backends. Called at start, when the Node object changes and on
    // refresh_node_facts(). An empty result means that required facts are not known yet, so nothing is applied.
    // StoreThread fills in service_cidrs. SettingsStage::pending is used only while such a subscription exists.
    std::function<std::optional<NodeFacts>(lib::Family, const std::optional<model::Node>&, SettingsStage)> node_facts;
  };

  // How long the first transaction waits for ServiceCIDRs, if they are used, when everything else is known. Without
  // this wait, a restart would often remove rules that depend on ServiceCIDRs and add them again.
  static constexpr std::chrono::seconds kServiceCidrTimeout{1};

  struct Start {
    std::vector<lib::Family> families;  // empty: set_families() follows
    store::StoreOptions options{};
    lib::Clock::Duration service_cidr_timeout = kServiceCidrTimeout;
  };

  StoreThread(std::string node_name, Callbacks callbacks);
  ~StoreThread() override;  // stops

  void start(Start with);
  // [any thread] The families of subscriptions, once the backend has been probed. Before, no node facts are computed,
  // and nothing can be taken.
  void set_families(std::vector<lib::Family> families);
  bool started() const { return started_; }  // any thread
  void stop();

  // [any thread] Blocks while the queue is full.
  void deliver(model::Event event) override;
  // [any thread] Reserves the addresses of the API server: no external IP can claim them from now on.
  void server_at(std::vector<lib::SocketAddress> addresses) override;
  // [any thread] Call when other input of node_facts() has changed. No effect before start(), which computes them.
  void refresh_node_facts();
  using OnPending = std::function<void(const model::Namespaces& changed)>;
  // [any thread except the store thread, also before start()] Opens a subscription whose first take is full.
  // `on_pending` [store thread, must not block] is called when there are changes to take, but not before everything is
  // listed. Its argument is the namespaces in which Services or slices changed. A second subscription of a family
  // copies pointers only, if it has the same `details`. Its first transaction waits until the source has listed with
  // these.
  SubscriptionId subscribe(lib::Family family, OnPending on_pending, SettingsStage facts = SettingsStage::running,
                           model::DetailsRequest details = {});
  // [any thread] The pending settings are running now: all subscriptions receive the same node facts.
  void promote_pending_settings();
  // [any thread except the store thread, also before start()] Afterwards `on_pending` is not called, and take() returns
  // null. Waits for a running `on_pending`, which must not need a lock that the caller holds.
  void unsubscribe(SubscriptionId subscription);
  // [any thread except the store thread] Returns null before start(), when stopping, before everything is listed, or if
  // the subscription does not exist.
  std::shared_ptr<const Transaction> take(SubscriptionId subscription, bool full, model::Namespaces deferred = {});
  // [any thread] Applies new options and resolves the affected Services again. After the first transaction, nothing
  // waits for ServiceCIDRs.
  void set_options(store::StoreOptions options);
  // [any thread] Waits for the store thread, so that the result includes all events delivered before.
  StoreStatus status();
  // [any thread] The status as of the last batch of events. Does not wait for the store thread.
  StoreStatus published() const;
  // [any thread] Describes the Services of this subscription, with reasons. The callbacks run on the store thread.
  void describe(SubscriptionId subscription, DescribeRequest request);
  // [any thread] Does not wait for the store thread, unlike status().
  StoreStatistics statistics() const;

 private:
  struct RefreshFacts {};
  struct SetFamilies {
    std::vector<lib::Family> families;
  };
  struct PromoteSettings {};
  struct Subscribe {
    SubscriptionId subscription;
    SettingsStage facts;
    lib::Family family;
    model::DetailsRequest details;
  };
  struct Unsubscribe {
    SubscriptionId subscription;
  };
  struct SetOptions {
    store::StoreOptions options;
  };
  struct ServerAt {
    std::vector<lib::SocketAddress> addresses;
  };
  struct Take {
    SubscriptionId subscription;
    bool full;
    model::Namespaces deferred;
    std::promise<std::shared_ptr<const Transaction>> reply;
  };
  struct GetStatus {
    std::promise<StoreStatus> reply;
  };
  struct Describe {
    SubscriptionId subscription;
    DescribeRequest request;
  };
  using Message = std::variant<model::Event, RefreshFacts, SetFamilies, PromoteSettings, Subscribe, Unsubscribe, SetOptions,
                               ServerAt, Take, GetStatus, Describe>;
  struct Subscription {
    SubscriptionId id;
    Builder builder;
    SettingsStage facts = SettingsStage::running;
    bool notified = false;
  };
  // Shared with unsubscribe(), which disables the callback without the store thread.
  struct PendingCallback {
    explicit PendingCallback(OnPending callback) : on_pending(std::move(callback)) {}

    lib::Mutex mutex;
    OnPending on_pending SLUICE_GUARDED_BY(mutex);  // empty: closed
  };

  void run();
  void handle(model::Event& event);
  void handle(RefreshFacts& message);
  void handle(SetFamilies& message);
  void handle(PromoteSettings& message);
  void handle(Subscribe& message);
  void handle(Unsubscribe& message);
  void handle(SetOptions& message);
  void handle(ServerAt& message);
  void handle(Take& message);
  void handle(GetStatus& message);
  void handle(Describe& message);
  void describe_more();
  void update_facts();
  bool update_facts(lib::Family family, SettingsStage of);
  bool has_subscription(SettingsStage facts) const;
  Subscription* find(SubscriptionId subscription);
  const Subscription* oldest(lib::Family family) const;
  void distribute(lib::Family family);
  void drop_unsubscribed_changes();
  void notify();
  void notify(Subscription& subscription);
  void await_service_cidrs();
  bool facts_are_stale() const;
  StoreStatus status_now() const;
  void publish();

  Callbacks callbacks_;
  store::Store store_;
  std::vector<Subscription> subscriptions_;  // oldest first
  std::list<std::pair<SubscriptionId, Describer>> describers_;
  std::vector<lib::Family> families_;
  VersionedFacts facts_[2][2];  // by family_index and SettingsStage
  std::uint64_t facts_version_ = 0;
  bool ready(const Subscription& subscription) const {
    return ready() && (subscription.builder.began() || store_.has_details(subscription.builder.details()));
  }
  bool ready() const {
    return store_.synced() && facts_known_ && (store_.service_cidrs_known() || service_cidr_wait_over_);
  }

  bool facts_known_ = false;
  std::uint64_t facts_from_node_ = 0;
  std::uint64_t facts_from_service_cidrs_ = 0;
  lib::Clock::Duration service_cidr_timeout_{0};           // of start()
  lib::Clock::Time wait_until_ = lib::Clock::Time::max();  // for ServiceCIDRs
  bool service_cidr_wait_over_ = false;                    // also after the first transaction
  std::atomic<bool> started_{false};
  std::atomic<SubscriptionId> last_subscription_{0};
  lib::Mutex pending_callbacks_mutex_;
  std::unordered_map<SubscriptionId, std::shared_ptr<PendingCallback>> pending_callbacks_
      SLUICE_GUARDED_BY(pending_callbacks_mutex_);
  mutable lib::Mutex published_mutex_;
  StoreStatistics statistics_ SLUICE_GUARDED_BY(published_mutex_);  // without the queue
  StoreStatus published_ SLUICE_GUARDED_BY(published_mutex_);
  std::atomic<std::uint64_t> in_hand_{0};  // messages taken from the queue that are not handled yet
  lib::HandoverQueue<Message> queue_;
  std::thread thread_;
};

}  // namespace sluice::snapshot
