// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conntrack/work.hpp"

#include <algorithm>

namespace sluice::conntrack {
namespace {

template <class T>
bool holds(const std::vector<T>& sorted, const T& one) {
  return std::binary_search(sorted.begin(), sorted.end(), one);
}

}  // namespace

void ConntrackWork::query(const FlowQuery& query) {
  if (full_scan_ || std::find(queries_.begin(), queries_.end(), query) != queries_.end()) return;
  if (queries_.size() == kMostQueries) {
    full_scan_ = true;
    queries_.clear();
  } else {
    queries_.push_back(query);
  }
}

void ConntrackWork::note_retired(const lib::SocketAddress& frontend) {
  if (retired_.size() < kMostRetired) retired_.insert(frontend);
  query({frontend.address, frontend.port, std::nullopt, 0});
}

void ConntrackWork::note_retired_node_port(std::uint16_t port) {
  retired_node_ports_.insert(port);
  query({std::nullopt, port, std::nullopt, 0});
}

void ConntrackWork::note(const UdpPort* before, const UdpPort* after) {
  static const UdpPort kNone;
  const UdpPort& was = before == nullptr ? kNone : *before;
  const UdpPort& is = after == nullptr ? kNone : *after;
  for (const auto& frontend : was.frontends) {
    if (!holds(is.frontends, frontend)) note_retired(frontend);
  }
  if (was.node_port != 0 && was.node_port != is.node_port) note_retired_node_port(was.node_port);

  // A flow that began before the address was served has an untranslated entry and would keep it.
  const bool first = is.served() && (!was.served() || (was.relays.empty() && !is.relays.empty()));
  if (is.served()) {
    for (const auto& frontend : is.frontends) {
      if (first || !holds(was.frontends, frontend)) query({frontend.address, frontend.port, std::nullopt, 0});
    }
    if (is.node_port != 0 && (first || was.node_port != is.node_port)) {
      query({std::nullopt, is.node_port, std::nullopt, 0});
    }
  }
  // Without a frontend the queries above cover all flows.
  if (is.frontends.empty() && is.node_port == 0) return;
  for (const auto& endpoint : was.serving) {
    if (!holds(is.serving, endpoint)) query({std::nullopt, 0, endpoint.address, endpoint.port});
  }
  for (const std::uint16_t port : was.relays) {
    if (!holds(is.relays, port)) query({std::nullopt, 0, std::nullopt, port});
  }
}

void ConntrackWork::merge(const ConntrackWork& other) {
  if (other.full_scan_) {
    full_scan_ = true;
    queries_.clear();
  }
  for (const auto& one : other.queries_) query(one);
  for (const auto& frontend : other.retired_) {
    if (retired_.size() == kMostRetired) break;
    retired_.insert(frontend);
  }
  retired_node_ports_.insert(other.retired_node_ports_.begin(), other.retired_node_ports_.end());
}

std::vector<FlowQuery> ConntrackWork::queries() const {
  if (full_scan_) return {FlowQuery{}};
  return queries_;
}

}  // namespace sluice::conntrack
