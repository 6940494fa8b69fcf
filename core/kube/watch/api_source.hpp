// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The API server as a source: a reflector each for Services, EndpointSlices, this node's
// Node and, where wanted, ServiceCIDRs, each in a thread of its own.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/base/clock.hpp"
#include "core/kube/http/transport.hpp"
#include "core/kube/watch/failure_log.hpp"
#include "core/kube/watch/reflector.hpp"
#include "core/kube/watch/streaming_support.hpp"
#include "core/model/event.hpp"

namespace sluice::kube {

struct ApiSourceStatus {
  std::vector<ReflectorStatus> resources;  // in the order of kResourceKinds

  bool connected() const;  // every watch is running, but of what the server does not have
  bool listed() const;     // everything was listed once, likewise
};

struct ApiSourceOptions {
  std::string node_name;
  // Ask for lists as the beginning of a watch, where the server can.
  bool streaming_lists = true;
  // Whether anybody has a use for ServiceCIDRs: they are a watch more for the server.
  bool service_cidrs = false;
};

class ApiSource {
 public:
  // The sink and the clock outlive the source.
  ApiSource(std::unique_ptr<Transport> transport, const ApiSourceOptions& options, model::EventSink& sink,
            const base::Clock& clock);
  ~ApiSource();
  ApiSource(const ApiSource&) = delete;
  ApiSource& operator=(const ApiSource&) = delete;

  void start();
  // Returns within a moment, whatever the server does. REQUIRES: the sink does not
  // block for ever; close the queue behind it first.
  void stop();

  ApiSourceStatus status() const;  // any thread
  // [any thread] For other requests to the same server, within the same budget; ends with stop().
  Transport& transport() { return *transport_; }

 private:
  void run(Reflector& reflector);

  const std::unique_ptr<Transport> transport_;
  FailureLog failures_{"kube"};
  StreamingSupport streaming_;
  std::vector<std::unique_ptr<Reflector>> reflectors_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable stop_changed_;
  bool stopped_ = false;
};

}  // namespace sluice::kube
