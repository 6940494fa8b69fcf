// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The store thread: the only one that touches the store and the builders. Sources put
// events in, apply threads ask for transactions, and it says when a family has work.
#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>

#include "core/base/clock.hpp"
#include "core/base/queue.hpp"
#include "core/model/event.hpp"
#include "core/snapshot/builder.hpp"
#include "core/snapshot/store_figures.hpp"

namespace sluice::snapshot {

struct StoreStatus {
  bool synced = false;       // every resource has been listed, but for ServiceCIDRs
  bool facts_known = false;  // backends can be told about the node
  store::StoreCounters counters;
  std::size_t services = 0;
  std::size_t slices = 0;
  std::size_t endpoints = 0;
  std::size_t service_ports[2] = {0, 0};  // by family_index
  std::optional<model::Node> node;
};

class StoreThread final : public model::EventSink {
 public:
  struct Callbacks {
    // [store thread] A family has something to apply. Not before everything is listed.
    std::function<void(base::Family)> on_pending;
    // [store thread] What backends are told about the node, computed from what is known
    // of it now. Asked at start, when our Node object changes and on refresh_node_facts().
    // Nothing: what backends must know is not known yet, so nothing is applied.
    // service_cidrs is filled in here.
    std::function<std::optional<NodeFacts>(base::Family, const std::optional<model::Node>&)> node_facts;
  };

  // How long the first transaction waits for ServiceCIDRs, where they are of use, when
  // everything else is known. Without it what a restart finds in the kernel would often be
  // taken out and put back.
  static constexpr std::chrono::seconds kServiceCidrPatience{1};

  StoreThread(std::string node_name, std::vector<base::Family> families, Callbacks callbacks,
              store::StoreOptions options = {}, base::Clock::Duration service_cidr_patience = kServiceCidrPatience);
  ~StoreThread() override;  // stops

  void start();
  void stop();

  // [any thread] Blocks while thousands of events wait.
  void deliver(model::Event event) override;
  // [any thread] Something else that node_facts() reads has changed.
  void refresh_node_facts();
  // [any thread but the store's] Null when stopping, or when not everything is listed yet.
  std::shared_ptr<const Transaction> take(base::Family family, bool full);
  StoreStatus status();
  // [any thread] All the backend of this family has been told, in no particular order. `done` is called on the store
  // thread and must not wait; dropped without a call when stopping.
  using ToldDone = std::function<void(std::vector<ServicePortPtr>, std::uint64_t generation)>;
  void told(base::Family family, ToldDone done);
  // [any thread] Does not wait for the store thread, unlike status().
  StoreFigures figures() const;

 private:
  struct RefreshFacts {};
  struct Take {
    base::Family family;
    bool full;
    std::promise<std::shared_ptr<const Transaction>> reply;
  };
  struct GetStatus {
    std::promise<StoreStatus> reply;
  };
  struct GetTold {
    base::Family family;
    ToldDone done;
  };
  using Message = std::variant<model::Event, RefreshFacts, Take, GetStatus, GetTold>;

  void run();
  void handle(model::Event& event);
  void handle(RefreshFacts& message);
  void handle(Take& message);
  void handle(GetStatus& message);
  void handle(GetTold& message);
  void update_facts();
  void announce();
  void await_service_cidrs();
  bool facts_are_old() const;
  void publish();

  Callbacks callbacks_;
  store::Store store_;
  std::vector<Builder> builders_;
  std::vector<base::Family> families_;
  bool ready() const { return store_.synced() && facts_known_ && (store_.service_cidrs_known() || patience_over_); }

  bool announced_synced_ = false;
  bool facts_known_ = false;
  std::uint64_t facts_from_node_ = 0;
  std::uint64_t facts_from_service_cidrs_ = 0;
  const base::Clock::Duration service_cidr_patience_;
  base::Clock::Time wait_until_ = base::Clock::Time::max();  // for ServiceCIDRs
  bool patience_over_ = false;
  mutable std::mutex figures_mutex_;
  StoreFigures figures_;                     // under figures_mutex_; without the queue
  std::atomic<std::uint64_t> in_hand_{0};    // messages taken from the queue, not dealt with
  base::HandoverQueue<Message> queue_;
  std::thread thread_;
};

}  // namespace sluice::snapshot
