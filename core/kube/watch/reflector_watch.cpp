// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The reflector's WATCH and streaming list.

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/base/log_messages.hpp"
#include "core/kube/decode/text.hpp"
#include "core/kube/watch/reflector.hpp"
#include "core/kube/watch/refusal.hpp"
#include "lib/number.hpp"

namespace sluice::kube {
namespace {

using std::chrono::milliseconds;

constexpr auto kShortWatch = std::chrono::seconds(1);
// A server that supports streaming lists sends the bookmark right after the initial events; without support it sends
// nothing.
constexpr milliseconds kInitialPatience = std::chrono::seconds(10);
// After this many consecutive broken streams, list in pages, which is more likely to succeed.
constexpr int kMaxBrokenStreams = 3;
constexpr double kMinWatchSeconds = 300;
constexpr double kMoreWatchSeconds = 300;

// Whether `now` is an earlier resourceVersion than `before`. Versions are opaque, except that numbers increase.
bool is_earlier_version(const std::string& before, const std::string& now) {
  const auto old_number = lib::parse_number<std::uint64_t>(before);
  const auto new_number = lib::parse_number<std::uint64_t>(now);
  return old_number && new_number && *new_number < *old_number;
}

lib::Status ends_with_error() { return lib::unavailable("the watch ends with an error"); }

}  // namespace

milliseconds Reflector::watch() {
  initial_ = phase_ == Phase::stream;
  no_initial_end_ = false;
  watch_events_ = 0;
  watch_error_.reset();
  const auto begun = [this] {
    answered();
    ++counters_.watches;
    if (initial_) {
      relay_.begin_list();
    } else {
      watch_runs();
    }
  };
  WatchReader reader(
      decoder_, resource_.kind, begun, [this](WatchEvent event) { return take_event(std::move(event)); },
      [this] { return initial_ ? std::optional(kInitialPatience) : std::nullopt; });
  // Random, so that watches do not all end at the same time.
  const auto seconds = static_cast<int>(kMinWatchSeconds + kMoreWatchSeconds * context_.random());
  const std::string from = list_version_ == "0" ? std::string() : list_version_;
  Request request =
      initial_ ? streaming_list_request(resource_, from, seconds) : watch_request(resource_, watch_version_, seconds);
  request.accept = context_.accept;
  const auto began = context_.clock.now();
  const auto status = send(std::move(request), reader);
  const auto lasted = context_.clock.now() - began;
  return initial_ ? stream_over(status, reader, lasted) : watch_over(status, reader, lasted);
}

void Reflector::watch_runs() {
  counters_.connected = true;
  retry_after_count_ = 0;
  forbidden_ = 0;
  context_.failures.succeeded("watch " + resource_.plural);
  if (!std::exchange(without_, {}).empty())
    base::log(base::message::kWatchAvailable, "watch " + resource_.plural + ": works now",
              {{"resource", resource_.plural}});
}

// ---- the end of a watch ----

milliseconds Reflector::watch_over(const lib::Status& status, WatchReader& reader, lib::Clock::Duration lasted) {
  if (watch_error_) return watch_refused(*watch_error_, true);
  if (!reader.failure().ok()) {
    // Events after the error may be lost.
    return watch_failed(unusable_answer(reader.failure().message()));
  }
  if (reader.http_status() == 0) return connection_failed(status);
  if (reader.http_status() != 200) return watch_refused(reader.refusal(), false);
  return watch_ended(status, lasted);
}

// The server rejects the watch, with an HTTP status or an ERROR event.
milliseconds Reflector::watch_refused(const ApiStatus& refusal, bool as_event) {
  counters_.connected = false;
  if (version_expired(refusal)) {
    base::log(
        base::message::kWatchExpired,
        "watch " + resource_.plural + ": " + refusal_text(context_.transport.server(), refusal) + "; listing again",
        {{"resource", resource_.plural}});
    // The version is too large after a restore of the server from a backup: list the newest state.
    restart(refusal.too_large_resource_version ? std::string() : watch_version_);
    return std::exchange(expired_before_, true) ? backoff_.next() : kNow;
  }
  if (const auto delay = skip_if_optional(refusal)) return *delay > kNow ? *delay : backoff_.next();
  report_refusal("watch ", refusal);
  // After errors that do not concern the resourceVersion, the watch can be resumed.
  const bool resume = refusal.code == 429 || (!as_event && (is_transient(refusal) || refusal.code == 403));
  const milliseconds delay = wait_for(refusal);
  if (!resume) restart(watch_version_);
  return delay;
}

// The watch was accepted and has ended, normally or because the connection broke.
milliseconds Reflector::watch_ended(const lib::Status& status, lib::Clock::Duration lasted) {
  if (status.os_errno() == ECANCELED) return kNow;
  // An idle timeout is reported as an error, because changes may have been delayed meanwhile.
  if (status.os_errno() == ETIMEDOUT) return connection_failed(status);
  if (!status.ok()) {
    counters_.connected = false;
    base::log(base::message::kWatchEnded, "watch " + resource_.plural + ": " + status.message() + "; resuming",
              {{"resource", resource_.plural}, {"error", status.message()}});
  }
  if (watch_events_ > 0 || lasted >= kShortWatch) expired_before_ = false;
  if (lasted >= kShortWatch) return kNow;
  if (status.ok() && watch_events_ == 0) {
    return watch_failed("the API server " + context_.transport.server() + " ends it at once, without an event");
  }
  return backoff_.next();
}

// The watch cannot be resumed.
milliseconds Reflector::watch_failed(const std::string& reason) {
  counters_.connected = false;
  count_error(reason);
  context_.failures.failed("watch " + resource_.plural, reason);
  restart(watch_version_);
  return backoff_.next();
}

// ---- the end of a streaming list before its initial events were complete ----

milliseconds Reflector::stream_over(const lib::Status& status, WatchReader& reader, lib::Clock::Duration lasted) {
  if (watch_error_) return stream_refused(*watch_error_);
  if (no_initial_end_) return stream_unsupported("an ordinary bookmark comes before the end of the initial events");
  if (!reader.failure().ok()) {
    phase_ = Phase::list;
    return list_failed(unusable_answer(reader.failure().message()));
  }
  if (reader.http_status() == 0) return connection_failed(status);
  if (reader.http_status() != 200) return stream_refused(reader.refusal());
  if (status.os_errno() == ECANCELED) return kNow;
  if (status.os_errno() == ETIME) return stream_unsupported("the end of the initial events does not come");
  if (status.os_errno() == ETIMEDOUT) return connection_failed(status);
  const bool at_once = status.ok() && watch_events_ == 0 && lasted < kShortWatch;
  if (at_once || ++broken_streams_ >= kMaxBrokenStreams) phase_ = Phase::list;
  return list_failed(status.ok() ? unusable_answer("the stream ended too early, before its list was complete")
                                 : status.message());
}

milliseconds Reflector::stream_refused(const ApiStatus& refusal) {
  counters_.connected = false;
  if (version_expired(refusal)) {
    const bool had_version = !list_version_.empty() && list_version_ != "0";
    list_version_.clear();
    if (had_version) return kNow;
  }
  if (drop_field_selector(refusal)) return kNow;
  if (is_unsupported_request(refusal)) return stream_unsupported(refusal_text(context_.transport.server(), refusal));
  if (ask_discovery(refusal)) return kNow;
  if (const auto delay = skip_if_optional(refusal)) return *delay;
  if (!is_transient(refusal)) phase_ = Phase::list;
  report_refusal("list ", refusal);
  return wait_for(refusal);
}

milliseconds Reflector::stream_unsupported(const std::string& reason) {
  context_.streaming.mark_unsupported(reason);
  phase_ = Phase::list;
  return kNow;
}

// ---- events ----

lib::Status Reflector::take_event(WatchEvent event) {
  ++watch_events_;
  if (!initial_) ++counters_.events;
  switch (event.type) {
    case WatchEvent::Type::error:
      watch_error_ = std::move(event.status);
      return ends_with_error();
    case WatchEvent::Type::unknown:
      skip_event("events of type " + in_quotes(event.type_text));
      return {};
    case WatchEvent::Type::bookmark:
      return initial_ ? end_of_initial_events(event) : take_bookmark(event);
    case WatchEvent::Type::deleted:
    case WatchEvent::Type::added:
    case WatchEvent::Type::modified:
      break;
  }
  return take_change(std::move(event));
}

lib::Status Reflector::take_change(WatchEvent event) {
  if (const auto* wrong = std::get_if<WrongKind>(&event.object.result)) {
    skip_event("events about a " + in_quotes(wrong->kind));
    return {};
  }
  // The versions of initial events are unordered, and none of them is the version of the list.
  if (!initial_ && !event.object.resource_version.empty()) watch_version_ = event.object.resource_version;
  if (event.type == WatchEvent::Type::deleted && !event.object.name.name.empty()) {
    relay_.removed(std::move(event.object.name));
  } else if (initial_ && event.type == WatchEvent::Type::added) {
    count_usable(relay_.listed(std::move(event.object)));
  } else {
    count_usable(relay_.changed(std::move(event.object)));
  }
  return {};
}

lib::Status Reflector::take_bookmark(const WatchEvent& event) {
  if (is_earlier_version(watch_version_, event.object.resource_version)) {
    // After a restore from a backup, the server would send nothing until it reaches the version of this watch.
    watch_error_ = ApiStatus{410, "Expired", "the server was set back to an earlier version", {}, true};
    return ends_with_error();
  }
  if (!event.object.resource_version.empty()) watch_version_ = event.object.resource_version;
  return {};
}

// The initial events are complete: from now on this is an ordinary watch.
lib::Status Reflector::end_of_initial_events(const WatchEvent& event) {
  if (!event.initial_events_end) {
    no_initial_end_ = true;
    return ends_with_error();
  }
  if (event.object.resource_version.empty()) return lib::invalid("the initial events end without a resourceVersion");
  initial_ = false;
  list_done(event.object.resource_version);
  ++counters_.streamed;
  watch_runs();
  return {};
}

void Reflector::skip_event(const std::string& what) {
  if (std::exchange(skipped_, what) == what) return;
  base::log(base::message::kWatchEventSkipped, "watch " + resource_.plural + ": " + what + " are skipped",
            {{"resource", resource_.plural}, {"reason", what}});
}

}  // namespace sluice::kube
