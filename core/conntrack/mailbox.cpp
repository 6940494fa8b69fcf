// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conntrack/mailbox.hpp"

#include <utility>

namespace sluice::conntrack {

void ConntrackMailbox::put(UdpChange change) {
  if (change.empty()) return;
  any_ = true;
  if (change.node_ports) node_ports_ = std::move(change.node_ports);
  Ports superseded;
  if (change.full) {
    superseded.swap(ports_);
    full_ = true;
  }
  for (auto& [key, port] : change.ports) {
    if (const auto at = superseded.find(key); at != superseded.end()) {
      work_.note(at->second.get(), port.get());
      superseded.erase(at);
    }
    const auto [at, fresh] = ports_.try_emplace(key);
    if (!fresh) work_.note(at->second.get(), port.get());
    at->second = std::move(port);
  }
  // A full state removes every port that it does not contain.
  for (const auto& [key, port] : superseded) work_.note(port.get(), nullptr);
}

ConntrackMailbox::Contents ConntrackMailbox::take() {
  Contents out;
  out.change.full = full_;
  out.change.node_ports = std::move(node_ports_);
  out.change.ports.reserve(ports_.size());
  for (auto& [key, port] : ports_) out.change.ports.emplace_back(key, std::move(port));
  out.work = std::move(work_);
  *this = {};
  return out;
}

}  // namespace sluice::conntrack
