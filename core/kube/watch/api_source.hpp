// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The API server as a source: a reflector each for Services, EndpointSlices, this node's
// Node and, where wanted, ServiceCIDRs, each in a thread of its own.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/clock.hpp"
#include "core/kube/http/transport.hpp"
#include "core/kube/watch/failure_log.hpp"
#include "core/kube/watch/reflector.hpp"
#include "core/kube/watch/streaming_support.hpp"
#include "core/model/event.hpp"

namespace sluice::kube {

// A reflector and its thread, and what ends them apart from the others.
class Follower;

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
  // [any thread] Begins or ends to ask for ServiceCIDRs. Of those nothing is delivered after the end; a watch that is
  // running is given up with its next word, without waiting for that.
  void set_service_cidrs(bool wanted);
  // Returns within a moment, whatever the server does. REQUIRES: the sink does not
  // block for ever; close the queue behind it first.
  void stop();

  ApiSourceStatus status() const;  // any thread
  // [any thread] For other requests to the same server, within the same budget; ends with stop().
  Transport& transport() { return *transport_; }

 private:
  std::unique_ptr<Follower> follower(const Resource& resource);
  void begin(Follower& follower);
  void run(Follower& follower);
  void sweep();

  const std::unique_ptr<Transport> transport_;
  model::EventSink& sink_;
  const base::Clock& clock_;
  FailureLog failures_{"kube"};
  StreamingSupport streaming_;

  mutable std::mutex mutex_;
  std::condition_variable stop_changed_;
  bool started_ = false;  // under mutex_, as is all that follows
  bool stopped_ = false;
  std::vector<std::unique_ptr<Follower>> followers_;
  std::unique_ptr<Follower> service_cidrs_;         // null: not wanted
  std::vector<std::unique_ptr<Follower>> leaving_;  // ended, with a request that is still under way
};

}  // namespace sluice::kube
