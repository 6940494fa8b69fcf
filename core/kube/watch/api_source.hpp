// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The API server as a source: reflectors for Services, EndpointSlices, this node's Node and optionally ServiceCIDRs,
// each in its own thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/kube/http/transport.hpp"
#include "core/kube/watch/failure_log.hpp"
#include "core/kube/watch/reflector.hpp"
#include "core/kube/watch/streaming_support.hpp"
#include "core/model/event.hpp"
#include "lib/clock.hpp"
#include "lib/mutex.hpp"

namespace sluice::kube {

// A reflector with its thread, which can be ended separately.
class ReflectorThread;

struct ApiSourceStatus {
  std::vector<ReflectorStatus> resources;  // in the order of kResourceKinds

  bool connected() const;  // every watch is running, except for absent resources
  bool listed() const;     // every resource was listed once, except for absent ones
};

struct ApiSourceOptions {
  std::string node_name;
  // Use streaming lists (WatchList) if the server supports them.
  bool streaming_lists = true;
  // Whether to watch ServiceCIDRs, which costs the server one more watch.
  bool service_cidrs = false;
  // Media types of lists and watches.
  std::string accept = kObjectTypes;
};

class ApiSource {
 public:
  // The sink and the clock must outlive the source.
  ApiSource(std::unique_ptr<Transport> transport, const ApiSourceOptions& options, model::EventSink& sink,
            const lib::Clock& clock);
  ~ApiSource();
  ApiSource(const ApiSource&) = delete;
  ApiSource& operator=(const ApiSource&) = delete;

  void start();
  // [any thread] Starts or stops watching ServiceCIDRs. After a stop none are delivered; a running watch is ended with
  // its next event, without waiting for it.
  void set_service_cidrs(bool wanted);
  // [any thread] Sets the details to decode; null: none. Without effect if nothing changes. Otherwise Services and
  // EndpointSlices are listed again, and the end of the lists has the new value. Objects that were decoded before are
  // not delivered after this call.
  void set_details(const model::WantedDetailsPtr& wanted);
  // Returns soon, whatever the server does. REQUIRES: the sink does not block forever; close its queue first.
  void stop();

  ApiSourceStatus status() const;  // any thread
  // [any thread] For other requests to the same server, with the same rate limit. Stopped by stop().
  Transport& transport() { return *transport_; }

 private:
  std::unique_ptr<ReflectorThread> make_reflector(const Resource& resource) SLUICE_REQUIRES(mutex_);
  void begin(ReflectorThread& reflector);
  void run(ReflectorThread& reflector);
  void sweep() SLUICE_REQUIRES(mutex_);

  const std::unique_ptr<Transport> transport_;
  model::EventSink& sink_;
  const lib::Clock& clock_;
  const std::string accept_;
  FailureLog failures_;
  StreamingSupport streaming_;

  mutable lib::Mutex mutex_;
  lib::ConditionVariable stop_changed_;
  bool started_ SLUICE_GUARDED_BY(mutex_) = false;
  bool stopped_ SLUICE_GUARDED_BY(mutex_) = false;
  model::WantedDetailsPtr details_ SLUICE_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<ReflectorThread>> reflectors_ SLUICE_GUARDED_BY(mutex_);
  std::unique_ptr<ReflectorThread> service_cidrs_ SLUICE_GUARDED_BY(mutex_);        // null: not wanted
  std::vector<std::unique_ptr<ReflectorThread>> ending_ SLUICE_GUARDED_BY(mutex_);  // ended, with a request in progress
};

}  // namespace sluice::kube
