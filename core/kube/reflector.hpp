// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Follows one kind of object: LIST, then WATCH from there, resumed after each end and
// started over when the server has forgotten where we were (BEH 1.5).
//
// A state machine: step() does one request and says how long to wait before the next.
// Who calls it, and the waiting, is ApiSource's. One thread, but for status().
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "core/base/backoff.hpp"
#include "core/base/clock.hpp"
#include "core/kube/answer_reader.hpp"
#include "core/kube/decode.hpp"
#include "core/kube/failure_log.hpp"
#include "core/kube/object_problems.hpp"
#include "core/kube/transport.hpp"
#include "core/model/event.hpp"

namespace sluice::kube {

// What is listed and watched (BEH 1.1).
struct Resource {
  model::ResourceKind kind;
  std::string plural;  // "services"
  std::string path;
  std::string label_selector;
  std::string field_selector;
  bool field_selector_optional = false;  // old servers do not know the field
};
Resource services_resource();
Resource endpoint_slices_resource();
Resource node_resource(const std::string& node_name);

struct ReflectorStatus {
  bool listed = false;         // at least once
  bool connected = false;      // a watch is running
  std::uint64_t lists = 0;     // completed ones
  std::uint64_t watches = 0;   // accepted ones
  std::uint64_t relists = 0;   // lists that had to follow a first one
  std::uint64_t events = 0;    // of watches
  std::uint64_t unusable = 0;  // objects that could not be decoded
  std::uint64_t errors = 0;
  std::string last_error;
  std::chrono::system_clock::time_point last_error_time;
};

struct ReflectorContext {
  Transport& transport;
  model::EventSink& sink;
  const base::Clock& clock;
  std::function<double()> random;  // numbers in [0, 1)
  FailureLog& failures;            // may be shared
};

class Reflector {
 public:
  Reflector(Resource resource, ReflectorContext context);

  // One request. Returns the time to wait before the next.
  std::chrono::milliseconds step();
  ReflectorStatus status() const;  // any thread

 private:
  using Delay = std::chrono::milliseconds;

  Delay list();
  Delay watch();
  Request list_request() const;
  Request watch_request();
  Delay list_done(const ListEnvelope& envelope);
  Delay list_refused(const ApiStatus& refusal);
  Delay list_failed(const std::string& reason);
  Delay watch_refused(const ApiStatus& refusal, bool as_event);
  Delay watch_ended(const base::Status& status, base::Clock::Duration lasted);

  base::Status take_listed(Decoded decoded);
  base::Status take_event(WatchEvent event);
  void take_changed(Decoded decoded);

  void restart_list(std::string resource_version);
  void report_refusal(const std::string& action, const ApiStatus& refusal);
  Delay wait_for(const ApiStatus& refusal);
  Delay connection_failed(const base::Status& status);
  void count_error(const std::string& reason);
  void answered();

  Resource resource_;
  ReflectorContext context_;
  base::Backoff backoff_;
  Decoder decoder_;
  ObjectProblems problems_;

  enum class Phase { list, watch };
  Phase phase_ = Phase::list;
  std::string list_version_ = "0";  // to list from; empty = the newest
  std::string continue_token_;      // of the next page
  bool paged_ = false;              // the server pages even lists from its cache
  bool unlimited_ = false;          // paging took too long once
  std::string watch_version_;       // last seen
  bool expired_before_ = false;     // no watch has worked since the last "expired"
  std::uint64_t watch_events_ = 0;  // of the running watch
  std::optional<ApiStatus> watch_error_;
  std::string unknown_type_;  // last one that was logged

  struct Counters {
    std::atomic<bool> listed{false};
    std::atomic<bool> connected{false};
    std::atomic<std::uint64_t> lists{0};
    std::atomic<std::uint64_t> watches{0};
    std::atomic<std::uint64_t> relists{0};
    std::atomic<std::uint64_t> events{0};
    std::atomic<std::uint64_t> unusable{0};
    std::atomic<std::uint64_t> errors{0};
  };
  Counters counters_;
  mutable std::mutex error_mutex_;
  std::string last_error_;
  std::chrono::system_clock::time_point last_error_time_;
};

}  // namespace sluice::kube
