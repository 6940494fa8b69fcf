// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Follows one kind of object (BEH 1.5). Where the server can, one WATCH that begins with
// everything there is; else LIST, then WATCH from there. Resumed after each end, and
// started over when the server has forgotten where we were. EndpointSlices become core/v1
// Endpoints while the server says that it has no such group; what can be done without is
// done without while the server does not have it or does not show it, and asked for slowly.
//
// A state machine: step() does one request and says how long to wait before the next.
// Who calls it, and the waiting, is ApiSource's. One thread, but for status().
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "core/base/backoff.hpp"
#include "core/base/clock.hpp"
#include "core/kube/decode/decode.hpp"
#include "core/kube/http/transport.hpp"
#include "core/kube/watch/answer_reader.hpp"
#include "core/kube/watch/failure_log.hpp"
#include "core/kube/watch/object_relay.hpp"
#include "core/kube/watch/resource.hpp"
#include "core/kube/watch/streaming_support.hpp"
#include "core/model/event.hpp"

namespace sluice::kube {

struct ReflectorStatus {
  std::string object_kind;     // "EndpointSlice", or what is read in its place
  bool listed = false;         // at least once
  bool connected = false;      // a watch is running
  bool absent = false;         // the server does not have it, and it can be done without
  std::uint64_t lists = 0;     // completed ones, however they came
  std::uint64_t streamed = 0;  // of them, those that came as a stream
  std::uint64_t watches = 0;   // accepted ones
  std::uint64_t relists = 0;   // lists that had to follow a first one
  std::uint64_t events = 0;    // of watches, without those that make up a list
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
  StreamingSupport& streaming;     // may be shared
};

class Reflector {
 public:
  Reflector(Resource resource, ReflectorContext context);

  // One request. Returns the time to wait before the next.
  std::chrono::milliseconds step();
  ReflectorStatus status() const;  // any thread

 private:
  using Delay = std::chrono::milliseconds;
  static constexpr Delay kNow{0};

  // reflector_list.cpp
  Delay list();
  Delay list_refused(const ApiStatus& refusal);
  Delay list_failed(const std::string& reason);
  void list_done(const std::string& version);
  void begin_anew(std::string version);
  Delay discover();
  bool use(Resource resource);
  std::optional<Delay> do_without(const ApiStatus& refusal);
  void tell_that_there_are_none();

  // reflector_watch.cpp
  Delay watch();
  Delay watch_over(const base::Status& status, WatchReader& reader, base::Clock::Duration lasted);
  Delay watch_refused(const ApiStatus& refusal, bool as_event);
  Delay watch_failed(const std::string& reason);
  Delay watch_ended(const base::Status& status, base::Clock::Duration lasted);
  Delay stream_over(const base::Status& status, WatchReader& reader, base::Clock::Duration lasted);
  Delay stream_refused(const ApiStatus& refusal);
  Delay stream_not_offered(const std::string& reason);
  base::Status take_event(WatchEvent event);
  base::Status take_change(WatchEvent event);
  base::Status take_bookmark(const WatchEvent& event);
  base::Status end_of_initial_events(const WatchEvent& event);
  void skip_event(const std::string& what);
  void watch_runs();

  // reflector.cpp
  bool drop_field_selector(const ApiStatus& refusal);
  bool ask_discovery(const ApiStatus& refusal);
  std::string unusable_answer(const std::string& reason) const;
  void report_refusal(const std::string& action, const ApiStatus& refusal);
  base::Status send(Request request, ResponseSink& sink);
  Delay wait_for(const ApiStatus& refusal);
  Delay connection_failed(const base::Status& status);
  void count_error(const std::string& reason);
  void count_usable(bool usable);
  void answered();

  const std::string object_kind_;  // at first
  Resource resource_;
  ReflectorContext context_;
  base::Backoff backoff_;
  Decoder decoder_;
  ObjectRelay relay_;

  enum class Phase { discover, stream, list, watch };
  Phase phase_ = Phase::stream;
  std::string list_version_ = "0";             // to begin from; empty = the newest
  std::string continue_token_;                 // of the next page
  bool paged_ = false;                         // the server pages even lists from its cache
  bool unlimited_ = false;                     // paging took too long once
  int damaged_lists_ = 0;                      // in a row
  int cut_streams_ = 0;                        // in a row
  int told_to_wait_ = 0;                       // by Retry-After, in a row
  bool again_ = false;                         // the next request is another try that the server asked for
  std::optional<ApiStatus> before_discovery_;  // the refusal that led to it
  std::string watch_version_;                  // last seen
  bool expired_before_ = false;                // no watch has worked since the last "expired"
  bool initial_ = false;                       // the running watch is still a list
  bool no_initial_end_ = false;                // it never becomes a watch
  std::uint64_t watch_events_ = 0;             // of the running watch
  std::optional<ApiStatus> watch_error_;
  std::string skipped_;     // what was last said to be skipped
  int unknown_paths_ = 0;   // of an optional resource, in a row
  std::string without_;     // why it was said to be done without
  bool none_told_ = false;  // the sink was told an empty list in its place

  struct Counters {
    std::atomic<bool> endpoints{false};
    std::atomic<bool> listed{false};
    std::atomic<bool> connected{false};
    std::atomic<bool> absent{false};
    std::atomic<std::uint64_t> lists{0};
    std::atomic<std::uint64_t> streamed{0};
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
