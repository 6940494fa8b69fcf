// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The core without a daemon, source and backend: the store thread, subscriptions of both families, and what reads each
// transaction.
#pragma once

#include <cstddef>

#include "core/conntrack/state.hpp"
#include "core/conntrack/udp_change_builder.hpp"
#include "core/observe/health/service_health_counts.hpp"
#include "core/snapshot/store_thread.hpp"
#include "corescale_objects.hpp"

namespace corescale {

class Rig {
 public:
  explicit Rig(const Shape& shape);
  ~Rig();

  // Waits for the store from time to time, so that peaks of memory do not depend on the scheduler.
  void deliver(sluice::model::Event event);
  // Lists of all kinds, as a source sends them.
  void list(const Objects& objects);
  // Empty lists of Services and slices.
  void list_nothing();
  // Removes each object, as a watch does.
  void remove(const Objects& objects);
  // Takes what is pending, or everything, and converts it for a backend, for connection tracking and for health checks.
  void take(bool full);

 private:
  void use(const sluice::snapshot::Transaction& transaction);

  std::size_t delivered_ = 0;
  sluice::model::WantedDetailsPtr details_;
  sluice::snapshot::StoreThread store_;
  sluice::snapshot::SubscriptionId subscriptions_[2] = {};
  sluice::conntrack::UdpChangeBuilder udp_changes_;
  sluice::conntrack::ConntrackState conntrack_;
  sluice::conntrack::ConntrackWork conntrack_work_;
  sluice::observe::ServiceHealthCounts health_;
};

}  // namespace corescale
