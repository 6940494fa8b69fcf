// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The reflector's LIST, which resource it is, and doing without it.

#include <cerrno>
#include <utility>

#include "core/base/log.hpp"
#include "core/kube/watch/reflector.hpp"
#include "core/kube/watch/refusal.hpp"

namespace sluice::kube {
namespace {

using std::chrono::milliseconds;

// After so many damaged lists in a row, what is damaged is left out.
constexpr int kMaxDamagedLists = 3;
// How often a server is asked for what it does not have or does not show; between this and
// a minute more.
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
    return base::Status();
  });
  reader.set_tolerant(damaged_lists_ >= kMaxDamagedLists);
  const auto status = send(list_request(resource_, {list_version_, continue_token_, !unlimited_}), reader);
  if (!reader.failure().ok()) {
    ++damaged_lists_;
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
    // Asked from its cache a server gives everything; this one has none.
    if (list_version_ == "0") paged_ = true;
    continue_token_ = envelope->continue_token;
    return kNow;
  }
  list_done(envelope->resource_version);
  return kNow;
}

// Everything there is has been told.
void Reflector::list_done(const std::string& version) {
  continue_token_.clear();
  unlimited_ = false;
  damaged_lists_ = 0;
  cut_streams_ = 0;
  told_to_wait_ = 0;
  watch_version_ = version;
  unknown_paths_ = 0;
  none_told_ = false;
  counters_.absent = false;
  phase_ = Phase::watch;
  relay_.end_list();
  ++counters_.lists;
  if (counters_.listed.exchange(true)) ++counters_.relists;
  context_.failures.succeeded("list " + resource_.plural);
}

milliseconds Reflector::list_refused(const ApiStatus& refusal) {
  if (lost_version(refusal)) {
    // A page's token lives five minutes; who needs longer is better off with one answer.
    if (!continue_token_.empty()) unlimited_ = true;
    const bool had_version = !list_version_.empty() || !continue_token_.empty();
    continue_token_.clear();
    list_version_.clear();
    if (had_version) return kNow;
  }
  if (drop_field_selector(refusal)) return kNow;
  continue_token_.clear();
  if (ask_discovery(refusal)) return kNow;
  if (const auto delay = do_without(refusal)) return *delay;
  report_refusal("list ", refusal);
  return wait_for(refusal);
}

// What arrived is not a list, or not the whole of it.
milliseconds Reflector::list_failed(const std::string& reason) {
  continue_token_.clear();
  counters_.connected = false;
  count_error(reason);
  context_.failures.failed("list " + resource_.plural, reason);
  return backoff_.next();
}

void Reflector::begin_anew(std::string version) {
  again_ = false;
  continue_token_.clear();
  list_version_ = paged_ ? std::string() : std::move(version);
  // A server that had no EndpointSlices may have been upgraded.
  phase_ = resource_.endpoints ? Phase::discover : Phase::stream;
}

// Asks whether the server has EndpointSlices at all. Only its clear "no" is one: whatever
// else happens, what is used stays in use.
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

// Whether it was another one before.
bool Reflector::use(Resource resource) {
  if (resource.endpoints == resource_.endpoints) return false;
  if (resource.endpoints) {
    base::log_warning("kube", "the API server " + context_.transport.server() +
                                  " does not offer discovery.k8s.io/v1: core/v1 Endpoints are read in place of "
                                  "EndpointSlices, without topology hints and without terminating endpoints");
  } else {
    base::log_info("kube", "the API server " + context_.transport.server() +
                               " offers discovery.k8s.io/v1 now: EndpointSlices are read in place of Endpoints");
  }
  resource_ = std::move(resource);
  counters_.endpoints = resource_.endpoints;
  decoder_ = Decoder({.endpoints = resource_.endpoints});
  relay_ = ObjectRelay(resource_, context_.sink);
  list_version_ = "0";
  return true;
}

// For a resource that can be done without and that the server does not have, or does not
// let us list or watch: the time until it is asked again. Nobody waits for a list of it.
std::optional<milliseconds> Reflector::do_without(const ApiStatus& refusal) {
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
    if (without_ != why) base::log_info("kube", "list " + resource_.plural + ": " + why);
    counters_.absent = true;
    tell_that_there_are_none();
  } else {
    why = refusal_text(context_.transport.server(), refusal) + "; " + resource_.without +
          "; grant what ClusterRole system:node-proxier grants, " + resource_.rule;
    count_error(why);
    if (without_ != why) {
      base::log_warning("kube", "list " + resource_.plural + ": " + why + "; asked again every " +
                                    std::to_string(kSeldom.count()) + " minutes");
    }
    unknown_paths_ = 0;
    counters_.absent = false;
    // What was listed before it was hidden stays in force.
    if (!counters_.listed) tell_that_there_are_none();
  }
  without_ = why;
  // Not all nodes at the same time.
  return kSeldom + milliseconds(static_cast<long>(60'000 * context_.random()));
}

void Reflector::tell_that_there_are_none() {
  if (std::exchange(none_told_, true)) return;
  relay_.begin_list();
  relay_.end_list();
}

}  // namespace sluice::kube
