// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The reflector's LIST, the choice of the resource, and optional resources.

#include <cerrno>
#include <utility>

#include "core/base/log_messages.hpp"
#include "core/kube/watch/reflector.hpp"
#include "core/kube/watch/refusal.hpp"

namespace sluice::kube {
namespace {

using std::chrono::milliseconds;

// After this many consecutive broken lists, invalid objects are skipped.
constexpr int kMaxBrokenLists = 3;
// Retry interval for an optional resource that the server does not offer or to which it denies access, plus up to a
// minute of jitter.
constexpr std::chrono::minutes kSeldom{5};

}  // namespace

milliseconds Reflector::list() {
  const bool first_page = continue_token_.empty();
  const auto begun = [&] {
    answered();
    if (first_page) relay_.begin_list();
  };
  ListReader reader(decoder_, resource_.kind, begun, [this](Decoded decoded) {
    count_usable(relay_.listed(std::move(decoded)));
    return lib::Status();
  });
  reader.set_tolerant(broken_lists_ >= kMaxBrokenLists);
  Request request = list_request(resource_, {list_version_, continue_token_, !unlimited_});
  request.accept = context_.accept;
  const auto status = send(std::move(request), reader);
  if (!reader.failure().ok()) {
    ++broken_lists_;
    return list_failed(unusable_answer(reader.failure().message()));
  }
  if (reader.http_status() == 0) {
    continue_token_.clear();
    return connection_failed(status);
  }
  if (status.os_errno() == ECANCELED) return kNow;
  if (!status.ok()) return list_failed(status.message());
  if (reader.http_status() != 200) return list_refused(reader.refusal());
  const auto envelope = reader.finish();
  if (!envelope) return list_failed(unusable_answer(envelope.status().message()));
  if (!envelope->continue_token.empty()) {
    // A list from the server's cache has no pages, so this server has no cache.
    if (list_version_ == "0") paged_ = true;
    continue_token_ = envelope->continue_token;
    return kNow;
  }
  list_done(envelope->resource_version);
  return kNow;
}

// The list is complete.
void Reflector::list_done(const std::string& version) {
  continue_token_.clear();
  unlimited_ = false;
  broken_lists_ = 0;
  broken_streams_ = 0;
  retry_after_count_ = 0;
  watch_version_ = version;
  unknown_paths_ = 0;
  empty_list_delivered_ = false;
  counters_.absent = false;
  phase_ = Phase::watch;
  relay_.end_list();
  ++counters_.lists;
  if (counters_.listed.exchange(true)) ++counters_.relists;
  context_.failures.succeeded("list " + resource_.plural);
}

milliseconds Reflector::list_refused(const ApiStatus& refusal) {
  if (version_expired(refusal)) {
    // A continue token expires after five minutes. If paging takes longer, request the list in one response.
    if (!continue_token_.empty()) unlimited_ = true;
    const bool had_version = !list_version_.empty() || !continue_token_.empty();
    continue_token_.clear();
    list_version_.clear();
    if (had_version) return kNow;
  }
  if (drop_field_selector(refusal)) return kNow;
  continue_token_.clear();
  if (ask_discovery(refusal)) return kNow;
  if (const auto delay = skip_if_optional(refusal)) return *delay;
  report_refusal("list ", refusal);
  return wait_for(refusal);
}

// The response is not a list, or is incomplete.
milliseconds Reflector::list_failed(const std::string& reason) {
  continue_token_.clear();
  counters_.connected = false;
  count_error(reason);
  context_.failures.failed("list " + resource_.plural, reason);
  return backoff_.next();
}

void Reflector::restart(std::string version) {
  again_ = false;
  continue_token_.clear();
  list_version_ = paged_ ? std::string() : std::move(version);
  // A server without EndpointSlices may have been upgraded.
  phase_ = resource_.endpoints ? Phase::discover : Phase::stream;
}

// Asks whether the server offers EndpointSlices. Only 404 means that it does not; after any other error the current
// resource stays in use.
milliseconds Reflector::discover() {
  ProbeReader reader(decoder_);
  const auto status = send(discovery_request(resource_), reader);
  if (reader.http_status() == 0) return connection_failed(status);
  answered();
  const auto refusal = std::exchange(before_discovery_, std::nullopt);
  phase_ = Phase::stream;
  const bool offered = reader.http_status() == 200 && reader.failure().ok() && status.ok();
  bool switched = false;
  if (reader.http_status() == 404) switched = use(endpoints_resource());
  if (offered) switched = use(endpoint_slices_resource());
  if (switched || !refusal) return kNow;
  report_refusal("list ", *refusal);
  return wait_for(*refusal);
}

// Switches between EndpointSlices and Endpoints. Returns whether the resource has changed.
bool Reflector::use(Resource resource) {
  if (resource.endpoints == resource_.endpoints) return false;
  if (resource.endpoints) {
    base::log(base::message::kEndpointsFallback,
              "the API server " + context_.transport.server() +
                  " does not offer discovery.k8s.io/v1: core/v1 Endpoints are read in place of "
                  "EndpointSlices, without topology hints and without terminating endpoints",
              {{"server", context_.transport.server()}});
  } else {
    base::log(base::message::kEndpointslicesAvailable,
              "the API server " + context_.transport.server() +
                  " offers discovery.k8s.io/v1 now: EndpointSlices are read in place of Endpoints",
              {{"server", context_.transport.server()}});
  }
  resource_ = std::move(resource);
  counters_.endpoints = resource_.endpoints;
  decoder_ = Decoder({.endpoints = resource_.endpoints, .details = context_.details});
  relay_ = ObjectRelay(resource_, context_.sink, context_.details);
  list_version_ = "0";
  return true;
}

// If the resource is optional and the server does not offer it or denies access, returns the time until the next
// attempt. The initial sync does not wait for such a resource.
std::optional<milliseconds> Reflector::skip_if_optional(const ApiStatus& refusal) {
  if (!resource_.optional || !maybe_no_such_resource(refusal)) return std::nullopt;
  counters_.connected = false;
  continue_token_.clear();
  list_version_ = "0";
  phase_ = Phase::stream;
  std::string why;
  if (refusal.code == 404) {
    std::swap(resource_.path, resource_.older_path);
    if (++unknown_paths_ < 2) return kNow;
    unknown_paths_ = 0;
    why = "the API server " + context_.transport.server() + " does not have any; " + resource_.without;
    if (without_ != why)
      base::log(base::message::kResourceAbsent, "list " + resource_.plural + ": " + why,
                {{"resource", resource_.plural}, {"reason", why}});
    counters_.absent = true;
    deliver_empty_list();
  } else {
    why = refusal_text(context_.transport.server(), refusal) + "; " + resource_.without +
          "; grant what ClusterRole system:node-proxier grants, " + resource_.rule;
    count_error(why);
    unknown_paths_ = 0;
    counters_.absent = false;
    // Objects that were listed before access was denied are kept.
    if (!counters_.listed) deliver_empty_list();
    if (may_be_starting(refusal)) return backoff_.next();
    if (without_ != why) {
      base::log(
          base::message::kResourceForbidden,
          "list " + resource_.plural + ": " + why + "; retrying every " + std::to_string(kSeldom.count()) + " minutes",
          {{"resource", resource_.plural}, {"error", why}});
    }
  }
  without_ = why;
  // Jitter, so that nodes do not retry at the same time.
  return kSeldom + milliseconds(static_cast<long>(60'000 * context_.random()));
}

void Reflector::deliver_empty_list() {
  if (std::exchange(empty_list_delivered_, true)) return;
  relay_.begin_list();
  relay_.end_list();
}

}  // namespace sluice::kube
