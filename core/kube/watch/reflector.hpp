// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Lists and watches one kind of object (BEH 1.5). Uses a streaming list if the server supports it, else LIST, then
// WATCH from its version. Resumes the watch when it ends, and lists again when the version has expired. Falls back from
// EndpointSlices to core/v1 Endpoints if the server does not offer discovery.k8s.io/v1. Does without an optional
// resource while the server does not offer it or denies access, and retries slowly.
//
// A state machine: step() does one request and returns how long to wait before the next. ApiSource calls it and waits.
// Not thread-safe, except for status() and cancel().
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/kube/decode/decode.hpp"
#include "core/kube/http/transport.hpp"
#include "core/kube/watch/answer_reader.hpp"
#include "core/kube/watch/failure_log.hpp"
#include "core/kube/watch/object_relay.hpp"
#include "core/kube/watch/resource.hpp"
#include "core/kube/watch/streaming_support.hpp"
#include "core/model/event.hpp"
#include "lib/backoff.hpp"
#include "lib/clock.hpp"
#include "lib/mutex.hpp"

namespace sluice::kube {

struct ReflectorStatus {
  std::string object_kind;     // "EndpointSlice", or "Endpoints" in its place
  bool listed = false;         // at least once
  bool connected = false;      // a watch is running
  bool absent = false;         // an optional resource that the server does not offer
  std::uint64_t lists = 0;     // completed lists, including streaming lists
  std::uint64_t streamed = 0;  // completed streaming lists
  std::uint64_t watches = 0;   // accepted watches
  std::uint64_t relists = 0;   // completed lists after the first
  std::uint64_t events = 0;    // watch events, without the initial events of streaming lists
  std::uint64_t unusable = 0;  // objects that could not be decoded
  std::uint64_t errors = 0;
  std::string last_error;
  std::chrono::system_clock::time_point last_error_time;
};

struct ReflectorContext {
  Transport& transport;
  model::EventSink& sink;
  const lib::Clock& clock;
  std::function<double()> random;  // numbers in [0, 1)
  FailureLog& failures;            // may be shared
  StreamingSupport& streaming;     // may be shared
  std::string accept = kObjectTypes;
  model::WantedDetailsPtr details = nullptr;  // null: none
};

class Reflector {
 public:
  Reflector(Resource resource, ReflectorContext context);

  // Does one request. Returns the time to wait before the next.
  std::chrono::milliseconds step();
  ReflectorStatus status() const;  // any thread
  // [any thread] Later requests fail at once; a request in progress ends with the next chunk of its response.
  void cancel() { cancelled_ = true; }
  bool cancelled() const { return cancelled_; }  // any thread

 private:
  using Delay = std::chrono::milliseconds;
  static constexpr Delay kNow{0};

  // reflector_list.cpp
  Delay list();
  Delay list_refused(const ApiStatus& refusal);
  Delay list_failed(const std::string& reason);
  void list_done(const std::string& version);
  void restart(std::string version);
  Delay discover();
  bool use(Resource resource);
  std::optional<Delay> skip_if_optional(const ApiStatus& refusal);
  void deliver_empty_list();

  // reflector_watch.cpp
  Delay watch();
  Delay watch_over(const lib::Status& status, WatchReader& reader, lib::Clock::Duration lasted);
  Delay watch_refused(const ApiStatus& refusal, bool as_event);
  Delay watch_failed(const std::string& reason);
  Delay watch_ended(const lib::Status& status, lib::Clock::Duration lasted);
  Delay stream_over(const lib::Status& status, WatchReader& reader, lib::Clock::Duration lasted);
  Delay stream_refused(const ApiStatus& refusal);
  Delay stream_unsupported(const std::string& reason);
  lib::Status take_event(WatchEvent event);
  lib::Status take_change(WatchEvent event);
  lib::Status take_bookmark(const WatchEvent& event);
  lib::Status end_of_initial_events(const WatchEvent& event);
  void skip_event(const std::string& what);
  void watch_runs();

  // reflector.cpp
  bool drop_field_selector(const ApiStatus& refusal);
  bool ask_discovery(const ApiStatus& refusal);
  std::string unusable_answer(const std::string& reason) const;
  void report_refusal(const std::string& action, const ApiStatus& refusal);
  bool may_be_starting(const ApiStatus& refusal);
  lib::Status send(Request request, AnswerReader& reader);
  Delay wait_for(const ApiStatus& refusal);
  Delay connection_failed(const lib::Status& status);
  void count_error(const std::string& reason);
  void count_usable(bool usable);
  void answered();

  const std::string object_kind_;  // before a fallback
  Resource resource_;
  ReflectorContext context_;
  lib::Backoff backoff_;
  Decoder decoder_;
  ObjectRelay relay_;
  std::atomic<bool> cancelled_{false};

  enum class Phase { discover, stream, list, watch };
  Phase phase_ = Phase::stream;
  std::string list_version_ = "0";             // resourceVersion to list from; empty = the newest
  std::string continue_token_;                 // of the next page
  bool paged_ = false;                         // the server pages even lists from its cache
  bool unlimited_ = false;                     // list without pages, because a continue token has expired
  int broken_lists_ = 0;                       // consecutive
  int broken_streams_ = 0;                     // consecutive
  int retry_after_count_ = 0;                  // consecutive responses with Retry-After
  bool again_ = false;                         // the next request is a retry that the server asked for
  std::optional<ApiStatus> before_discovery_;  // the error that led to the discovery request
  std::string watch_version_;                  // resourceVersion of the last event
  bool expired_before_ = false;                // no watch has worked since the last "expired"
  bool initial_ = false;                       // the running watch still sends initial events
  bool no_initial_end_ = false;                // the server does not support streaming lists
  std::uint64_t watch_events_ = 0;             // of the running watch
  std::optional<ApiStatus> watch_error_;
  std::string skipped_;    // the kind of events that was last logged as skipped
  int unknown_paths_ = 0;  // of an optional resource, consecutive 404s
  int forbidden_ = 0;      // 403s since a watch worked; counted up to kSoonForbidden
  std::string without_;    // the logged reason why an optional resource is not used
  bool empty_list_delivered_ = false;  // in place of an optional resource

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
  mutable lib::Mutex error_mutex_;
  std::string last_error_ SLUICE_GUARDED_BY(error_mutex_);
  std::chrono::system_clock::time_point last_error_time_ SLUICE_GUARDED_BY(error_mutex_);
};

}  // namespace sluice::kube
