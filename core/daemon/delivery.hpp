// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Connects the source of Services with the store, from which backends take transactions. The store stops after the
// backends, the source before the events, whose transport it owns.
#pragma once

#include <string>

#include "core/config/settings.hpp"
#include "core/daemon/node_state.hpp"
#include "core/daemon/reports.hpp"
#include "core/daemon/source_part.hpp"
#include "core/daemon/traced_sink.hpp"
#include "core/lifecycle/backend_part.hpp"
#include "core/snapshot/store_thread.hpp"
#include "lib/clock.hpp"

namespace sluice::daemon {

class Delivery final : public lifecycle::BackendPart::Host {
 public:
  // All must outlive it.
  Delivery(const std::string& node_name, snapshot::StoreThread::Callbacks callbacks, NodeState& node, Reports& reports,
           const lib::Clock& clock);

  snapshot::StoreThread& store() { return store_; }
  SourcePart& source() { return source_; }

  // Reads the credentials of the source, and starts the events, which use its transport, the store, and the source.
  // Needs no backend: the families of the store and whether it receives ServiceCIDRs are set later.
  lib::Status start(const config::Settings& settings);
  void stop_source();

  // lifecycle::BackendPart::Host
  lib::Status check(const config::Settings& settings) override { return node_.check(settings); }
  void set_service_cidrs(bool wanted, const config::Settings& settings) override;
  void set_details(const model::WantedDetailsPtr& wanted) override { source_.set_details(wanted); }
  lib::Status await_details(const model::DetailsRequest& request,
                            const lifecycle::BackendRun::KeepWaiting& keep_waiting) override;
  void refresh() override;

 private:
  SourcePart::Hooks source_hooks();

  NodeState& node_;
  Reports& reports_;
  snapshot::StoreThread store_;
  TracedSink sink_;
  SourcePart source_;
};

}  // namespace sluice::daemon
