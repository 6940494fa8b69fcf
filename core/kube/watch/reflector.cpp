// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/watch/reflector.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/base/log_messages.hpp"
#include "core/kube/watch/refusal.hpp"

namespace sluice::kube {
namespace {

using std::chrono::milliseconds;

constexpr const char* kConnection = "connection";  // the topic that all reflectors share
// After this many consecutive responses with Retry-After, the own backoff applies, too.
constexpr int kMaxRetryAfter = 10;
constexpr std::chrono::seconds kNone{0};
// 403s without a warning. With the backoff they last for 6 to 11 seconds.
constexpr int kSoonForbidden = 3;

}  // namespace

Reflector::Reflector(Resource resource, ReflectorContext context)
    : object_kind_(resource.object_kind),
      resource_(std::move(resource)),
      context_(std::move(context)),
      backoff_(lib::BackoffOptions{}, context_.clock, context_.random),
      decoder_({.details = context_.details}),
      relay_(resource_, context_.sink, context_.details) {}

milliseconds Reflector::step() {
  if (phase_ == Phase::stream && !context_.streaming.may_be_supported()) phase_ = Phase::list;
  switch (phase_) {
    case Phase::discover:
      return discover();
    case Phase::list:
      return list();
    case Phase::stream:
    case Phase::watch:
      break;
  }
  return watch();
}

bool Reflector::drop_field_selector(const ApiStatus& refusal) {
  if (!unknown_field_label(refusal) || !resource_.field_selector_optional || resource_.field_selector.empty()) {
    return false;
  }
  base::log(base::message::kFieldSelectorUnknown,
            "the server does not know fieldSelector " + resource_.field_selector + "; listing " + resource_.plural +
                " without it",
            {{"resource", resource_.plural}});
  resource_.field_selector.clear();
  return true;
}

// Whether the error may mean that the server does not offer EndpointSlices. If so, discovery comes next.
bool Reflector::ask_discovery(const ApiStatus& refusal) {
  if (resource_.discovery_path.empty() || !maybe_no_such_resource(refusal)) return false;
  before_discovery_ = refusal;
  phase_ = Phase::discover;
  return true;
}

std::string Reflector::unusable_answer(const std::string& reason) const {
  return "the answer of the API server " + context_.transport.server() + " cannot be used: " + reason;
}

void Reflector::report_refusal(const std::string& action, const ApiStatus& refusal) {
  const std::string reason = refusal_text(context_.transport.server(), refusal) + refusal_remedy(refusal, resource_);
  count_error(reason);
  if (may_be_starting(refusal)) return;
  // Wrong credentials are one failure for all reflectors, like an unreachable server.
  context_.failures.failed(refusal.code == 401 ? kConnection : action + resource_.plural, reason);
}

// Whether the server may be one that has just started, which answers 403 until it has read its roles. Counts the 403s.
bool Reflector::may_be_starting(const ApiStatus& refusal) {
  if (refusal.code != 403 || forbidden_ >= kSoonForbidden) return false;
  // The delays grew while the server was away.
  if (forbidden_++ == 0) backoff_.reset();
  return true;
}

lib::Status Reflector::send(Request request, AnswerReader& reader) {
  if (cancelled_) return cancelled_status();
  reader.set_cancelled(cancelled_);
  request.again = std::exchange(again_, false);
  return context_.transport.send(request, reader);
}

milliseconds Reflector::wait_for(const ApiStatus& refusal) {
  const milliseconds own_pace = backoff_.next();
  const bool has_retry_after =
      (refusal.code == 429 || refusal.code >= 500) && refusal.retry_after.value_or(kNone) > kNone;
  again_ = has_retry_after;
  if (!has_retry_after) return own_pace;
  // Jitter, because all nodes receive the same Retry-After.
  const auto jitter = milliseconds(static_cast<long>(1000 * context_.random()));
  const milliseconds requested = milliseconds(*refusal.retry_after) + jitter;
  return ++retry_after_count_ > kMaxRetryAfter ? std::max(requested, own_pace) : requested;
}

milliseconds Reflector::connection_failed(const lib::Status& status) {
  counters_.connected = false;
  if (status.os_errno() == ECANCELED) return milliseconds(0);
  context_.streaming.unreachable();
  count_error(status.message());
  context_.failures.failed(kConnection, status.message());
  return backoff_.next();
}

void Reflector::answered() { context_.failures.succeeded(kConnection); }

void Reflector::count_error(const std::string& reason) {
  ++counters_.errors;
  const lib::Lock lock(error_mutex_);
  last_error_ = reason;
  last_error_time_ = std::chrono::system_clock::now();
}

void Reflector::count_usable(bool usable) {
  if (!usable) ++counters_.unusable;
}

ReflectorStatus Reflector::status() const {
  ReflectorStatus out;
  out.object_kind = counters_.endpoints ? endpoints_resource().object_kind : object_kind_;
  out.listed = counters_.listed;
  out.connected = counters_.connected;
  out.absent = counters_.absent;
  out.lists = counters_.lists;
  out.streamed = counters_.streamed;
  out.watches = counters_.watches;
  out.relists = counters_.relists;
  out.events = counters_.events;
  out.unusable = counters_.unusable;
  out.errors = counters_.errors;
  const lib::Lock lock(error_mutex_);
  out.last_error = last_error_;
  out.last_error_time = last_error_time_;
  return out;
}

}  // namespace sluice::kube
