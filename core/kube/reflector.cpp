// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/reflector.hpp"

#include <cerrno>
#include <charconv>
#include <utility>

#include "core/base/log.hpp"
#include "core/kube/text.hpp"

namespace sluice::kube {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kNow{0};
constexpr auto kShortWatch = std::chrono::seconds(1);
constexpr int kPageSize = 500;
constexpr double kMinWatchSeconds = 300;
constexpr double kMoreWatchSeconds = 300;
constexpr std::string_view kComponent = "kube";
constexpr const char* kConnection = "connection";  // the topic all reflectors share

std::string said(const std::string& server, const ApiStatus& refusal) {
  std::string out = "the API server " + server + " answers " + std::to_string(refusal.code);
  if (!refusal.reason.empty()) out += " " + refusal.reason;
  if (!refusal.message.empty()) out += ": " + in_quotes(refusal.message);
  return out;
}

// Whether `now` is an earlier version than `before`. Versions are opaque but for this:
// where both are numbers, they count up.
bool went_back(const std::string& before, const std::string& now) {
  const auto number = [](const std::string& text, std::uint64_t& out) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc() && end == text.data() + text.size();
  };
  std::uint64_t old_number = 0;
  std::uint64_t new_number = 0;
  return number(before, old_number) && number(now, new_number) && new_number < old_number;
}

std::string remedy(const ApiStatus& refusal, const Resource& resource) {
  switch (refusal.code) {
    case 401:
      return "; check the credentials";
    case 403:
      return "; grant list and watch on " + resource.plural + ", as ClusterRole system:node-proxier does";
    case 404:
      return "; the server does not offer " + resource.path + ", which Kubernetes has from 1.21 on";
    default:
      return {};
  }
}

}  // namespace

Resource services_resource() {
  return {model::ResourceKind::service, "services", "/api/v1/services", "!service.kubernetes.io/service-proxy-name",
          "spec.clusterIP!=None",       true};
}

Resource endpoint_slices_resource() {
  return {model::ResourceKind::endpoint_slice,
          "endpointslices",
          "/apis/discovery.k8s.io/v1/endpointslices",
          "!service.kubernetes.io/headless",
          "",
          false};
}

Resource node_resource(const std::string& node_name) {
  return {model::ResourceKind::node, "nodes", "/api/v1/nodes", "", "metadata.name=" + node_name, false};
}

Reflector::Reflector(Resource resource, ReflectorContext context)
    : resource_(std::move(resource)),
      context_(std::move(context)),
      backoff_(base::BackoffOptions{}, context_.clock, context_.random),
      problems_(resource_.kind) {}

milliseconds Reflector::step() { return phase_ == Phase::list ? list() : watch(); }

// ---- LIST ----

Request Reflector::list_request() const {
  Request out;
  out.path = resource_.path;
  if (!resource_.label_selector.empty()) out.query.emplace_back("labelSelector", resource_.label_selector);
  if (!resource_.field_selector.empty()) out.query.emplace_back("fieldSelector", resource_.field_selector);
  // With a version and a limit a server gives exactly that version, or 410.
  const bool from_cache = !list_version_.empty() && list_version_ != "0";
  if (!from_cache && !unlimited_) out.query.emplace_back("limit", std::to_string(kPageSize));
  if (!continue_token_.empty()) {
    out.query.emplace_back("continue", continue_token_);
  } else if (!list_version_.empty()) {
    out.query.emplace_back("resourceVersion", list_version_);
  }
  return out;
}

milliseconds Reflector::list() {
  const bool first_page = continue_token_.empty();
  const auto begun = [&] {
    answered();
    if (first_page) context_.sink.deliver(model::ListBegin{resource_.kind});
  };
  ListReader reader(decoder_, resource_.kind, begun,
                    [this](Decoded decoded) { return take_listed(std::move(decoded)); });
  const auto status = context_.transport.get(list_request(), reader);
  if (!reader.failure().ok()) return list_failed(reader.failure().message());
  if (!status.ok()) {
    continue_token_.clear();
    return connection_failed(status);
  }
  if (reader.http_status() != 200) return list_refused(reader.refusal());
  const auto envelope = reader.finish();
  if (!envelope) return list_failed(envelope.status().message());
  return list_done(*envelope);
}

milliseconds Reflector::list_done(const ListEnvelope& envelope) {
  if (!envelope.continue_token.empty()) {
    // Asked from its cache a server gives everything; this one has none.
    if (list_version_ == "0") paged_ = true;
    continue_token_ = envelope.continue_token;
    return kNow;
  }
  continue_token_.clear();
  unlimited_ = false;
  list_version_ = paged_ ? std::string() : envelope.resource_version;
  watch_version_ = envelope.resource_version;
  phase_ = Phase::watch;
  context_.sink.deliver(model::ListEnd{resource_.kind});
  ++counters_.lists;
  if (counters_.listed.exchange(true)) ++counters_.relists;
  context_.failures.succeeded("list " + resource_.plural);
  return kNow;
}

milliseconds Reflector::list_refused(const ApiStatus& refusal) {
  if (refusal.expired() || refusal.too_large_resource_version) {
    // A page's token lives five minutes; who needs longer is better off with one answer.
    if (!continue_token_.empty()) unlimited_ = true;
    const bool had_version = !list_version_.empty() || !continue_token_.empty();
    restart_list("");
    if (had_version) return kNow;
  }
  if (refusal.code == 400 && resource_.field_selector_optional && !resource_.field_selector.empty() &&
      refusal.message.find("field label not supported") != std::string::npos) {
    base::log_info(kComponent, "the server does not know fieldSelector " + resource_.field_selector + "; listing " +
                                   resource_.plural + " without it");
    resource_.field_selector.clear();
    return kNow;
  }
  continue_token_.clear();
  report_refusal("list ", refusal);
  return wait_for(refusal);
}

// What arrived is not a list.
milliseconds Reflector::list_failed(const std::string& reason) {
  continue_token_.clear();
  count_error(reason);
  context_.failures.failed("list " + resource_.plural, reason);
  return backoff_.next();
}

void Reflector::restart_list(std::string resource_version) {
  phase_ = Phase::list;
  continue_token_.clear();
  list_version_ = paged_ ? std::string() : std::move(resource_version);
}

base::Status Reflector::take_listed(Decoded decoded) {
  // An object of no use is gone after the list by not being in it.
  if (std::holds_alternative<Ignored>(decoded.result)) return {};
  take_changed(std::move(decoded));
  return {};
}

// ---- WATCH ----

Request Reflector::watch_request() {
  Request out;
  out.watch = true;
  out.path = resource_.path;
  if (!resource_.label_selector.empty()) out.query.emplace_back("labelSelector", resource_.label_selector);
  if (!resource_.field_selector.empty()) out.query.emplace_back("fieldSelector", resource_.field_selector);
  // Different for every node and every watch, so that they do not all end together.
  const auto seconds = static_cast<int>(kMinWatchSeconds + kMoreWatchSeconds * context_.random());
  out.query.emplace_back("watch", "true");
  out.query.emplace_back("resourceVersion", watch_version_);
  out.query.emplace_back("allowWatchBookmarks", "true");
  out.query.emplace_back("timeoutSeconds", std::to_string(seconds));
  return out;
}

milliseconds Reflector::watch() {
  watch_events_ = 0;
  watch_error_.reset();
  const auto begun = [&] {
    answered();
    ++counters_.watches;
    counters_.connected = true;
    context_.failures.succeeded("watch " + resource_.plural);
  };
  WatchReader reader(decoder_, resource_.kind, begun,
                     [this](WatchEvent event) { return take_event(std::move(event)); });
  const auto began = context_.clock.now();
  const auto status = context_.transport.get(watch_request(), reader);
  if (watch_error_) return watch_refused(*watch_error_, true);
  if (!reader.failure().ok()) {
    // Whatever that was, events may be lost behind it.
    counters_.connected = false;
    count_error(reader.failure().message());
    context_.failures.failed("watch " + resource_.plural, reader.failure().message());
    restart_list(watch_version_);
    return backoff_.next();
  }
  if (reader.http_status() == 0) return connection_failed(status);
  if (reader.http_status() != 200) return watch_refused(reader.refusal(), false);
  return watch_ended(status, context_.clock.now() - began);
}

// The server refuses to watch, with an HTTP status or with an ERROR event.
milliseconds Reflector::watch_refused(const ApiStatus& refusal, bool as_event) {
  counters_.connected = false;
  if (refusal.expired() || refusal.too_large_resource_version) {
    base::log_debug(kComponent, "watch " + resource_.plural + ": " + said(context_.transport.server(), refusal) + "; listing again");
    // A version of the future comes from a server that was set back: only its newest helps.
    restart_list(refusal.too_large_resource_version ? std::string() : watch_version_);
    return std::exchange(expired_before_, true) ? backoff_.next() : kNow;
  }
  report_refusal("watch ", refusal);
  const bool resume =
      refusal.code == 429 ||
      (!as_event && (refusal.code == 401 || refusal.code == 403 || refusal.code == 502 || refusal.code == 503));
  if (!resume) restart_list(watch_version_);
  return wait_for(refusal);
}

// The watch was accepted and is over: in good order, or its connection broke.
milliseconds Reflector::watch_ended(const base::Status& status, base::Clock::Duration lasted) {
  if (status.os_errno() == ECANCELED) return kNow;
  if (!status.ok()) base::log_debug(kComponent, "watch " + resource_.plural + ": " + status.message() + "; resuming");
  if (watch_events_ > 0 || lasted >= kShortWatch) expired_before_ = false;
  if (lasted >= kShortWatch) return kNow;
  if (status.ok() && watch_events_ == 0) {
    const std::string reason = "the server ends the watch at once, without an event";
    counters_.connected = false;
    count_error(reason);
    context_.failures.failed("watch " + resource_.plural, reason);
    restart_list(watch_version_);
  }
  return backoff_.next();
}

base::Status Reflector::take_event(WatchEvent event) {
  ++watch_events_;
  ++counters_.events;
  switch (event.type) {
    case WatchEvent::Type::error:
      watch_error_ = std::move(event.status);
      return base::unavailable("the watch ends with an error");
    case WatchEvent::Type::unknown:
      if (unknown_type_ != event.type_text) {
        base::log_warning(kComponent, "watch " + resource_.plural + ": events of type " + in_quotes(event.type_text) +
                                          " are skipped");
        unknown_type_ = event.type_text;
      }
      return {};
    case WatchEvent::Type::bookmark:
      if (went_back(watch_version_, event.object.resource_version)) {
        // Restored from a backup, the server waits for our version and tells nothing till then.
        watch_error_ = ApiStatus{410, "Expired", "the server was set back to an earlier version", {}, true};
        return base::unavailable("the watch ends with an error");
      }
      break;
    case WatchEvent::Type::deleted:
    case WatchEvent::Type::added:
    case WatchEvent::Type::modified:
      if (const auto* wrong = std::get_if<WrongKind>(&event.object.result)) {
        base::log_warning(kComponent,
                          "watch " + resource_.plural + ": an event about a " + in_quotes(wrong->kind) + " is skipped");
        return {};
      }
      break;
  }
  const std::string version = event.object.resource_version;
  if (event.type == WatchEvent::Type::deleted) {
    if (!event.object.name.name.empty()) {
      problems_.forget(event.object.name);
      context_.sink.deliver(model::Remove{resource_.kind, std::move(event.object.name)});
    }
  } else if (event.type != WatchEvent::Type::bookmark) {
    take_changed(std::move(event.object));
  }
  if (!version.empty()) watch_version_ = version;
  return {};
}

// ---- both ----

void Reflector::take_changed(Decoded decoded) {
  if (auto* object = std::get_if<Object>(&decoded.result)) {
    problems_.report(decoded.name, {}, decoded.notes);
    context_.sink.deliver(model::Upsert{std::move(*object)});
  } else if (const auto* ignored = std::get_if<Ignored>(&decoded.result)) {
    base::log_debug(kComponent, std::string(model::resource_kind_name(resource_.kind)) + " " +
                                    decoded.name.to_string() + " is left out: " + ignored->reason);
    // It may have been of use before.
    context_.sink.deliver(model::Remove{resource_.kind, std::move(decoded.name)});
  } else if (const auto* failed = std::get_if<Failed>(&decoded.result)) {
    ++counters_.unusable;
    problems_.report(decoded.name, failed->to_string(), decoded.notes);
    if (!decoded.name.name.empty()) context_.sink.deliver(model::Unusable{resource_.kind, std::move(decoded.name)});
  }
}

void Reflector::report_refusal(const std::string& action, const ApiStatus& refusal) {
  const std::string reason = said(context_.transport.server(), refusal) + remedy(refusal, resource_);
  count_error(reason);
  // Wrong credentials are one failure for all reflectors, like a server that is away.
  context_.failures.failed(refusal.code == 401 ? kConnection : action + resource_.plural, reason);
}

milliseconds Reflector::wait_for(const ApiStatus& refusal) {
  const milliseconds delay = backoff_.next();
  if (!refusal.retry_after) return delay;
  // All nodes were told the same number.
  const auto jitter = milliseconds(static_cast<long>(1000 * context_.random()));
  return milliseconds(*refusal.retry_after) + jitter;
}

milliseconds Reflector::connection_failed(const base::Status& status) {
  counters_.connected = false;
  if (status.os_errno() == ECANCELED) return kNow;
  count_error(status.message());
  context_.failures.failed(kConnection, status.message());
  return backoff_.next();
}

void Reflector::answered() { context_.failures.succeeded(kConnection); }

void Reflector::count_error(const std::string& reason) {
  ++counters_.errors;
  const std::lock_guard lock(error_mutex_);
  last_error_ = reason;
  last_error_time_ = std::chrono::system_clock::now();
}

ReflectorStatus Reflector::status() const {
  ReflectorStatus out;
  out.listed = counters_.listed;
  out.connected = counters_.connected;
  out.lists = counters_.lists;
  out.watches = counters_.watches;
  out.relists = counters_.relists;
  out.events = counters_.events;
  out.unusable = counters_.unusable;
  out.errors = counters_.errors;
  const std::lock_guard lock(error_mutex_);
  out.last_error = last_error_;
  out.last_error_time = last_error_time_;
  return out;
}

}  // namespace sluice::kube
