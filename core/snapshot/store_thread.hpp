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

#include "core/base/queue.hpp"
#include "core/model/event.hpp"
#include "core/snapshot/builder.hpp"
#include "core/snapshot/store_figures.hpp"

namespace sluice::snapshot {

struct StoreStatus {
  bool synced = false;       // every resource has been listed
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
    std::function<std::optional<NodeFacts>(base::Family, const std::optional<model::Node>&)> node_facts;
  };

  StoreThread(std::string node_name, std::vector<base::Family> families, Callbacks callbacks,
              store::StoreOptions options = {});
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
  using Message = std::variant<model::Event, RefreshFacts, Take, GetStatus>;

  void run();
  void handle(model::Event& event);
  void handle(RefreshFacts& message);
  void handle(Take& message);
  void handle(GetStatus& message);
  void update_facts();
  void announce();
  void publish();

  Callbacks callbacks_;
  store::Store store_;
  std::vector<Builder> builders_;
  std::vector<base::Family> families_;
  bool ready() const { return store_.synced() && facts_known_; }

  bool announced_synced_ = false;
  bool facts_known_ = false;
  std::uint64_t facts_from_node_ = 0;
  mutable std::mutex figures_mutex_;
  StoreFigures figures_;                     // under figures_mutex_; without the queue
  std::atomic<std::uint64_t> in_hand_{0};    // messages taken from the queue, not dealt with
  base::HandoverQueue<Message> queue_;
  std::thread thread_;
};

}  // namespace sluice::snapshot
