// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/retirement.hpp"

#include <algorithm>
#include <map>

#include "plugins/common/log_ids.hpp"
#include "plugins/userspace/cleanup.hpp"
#include "plugins/userspace/declared_metrics.hpp"
#include "sluice/sdk/service.hpp"

namespace sluice::userspace {
namespace {

constexpr std::uint64_t kGraceNanoseconds = std::chrono::nanoseconds(Retirement::kGrace).count();
constexpr std::uint64_t kQuietNanoseconds = std::chrono::nanoseconds(Retirement::kQuiet).count();

std::string some(std::uint64_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace

std::string describe(const RelayedNow& relayed) {
  return some(relayed.connections, "TCP connection") + " and " + some(relayed.flows, "UDP flow");
}

void count_lost(const sdk::Metrics& metrics, const RelayedNow& lost) {
  metrics.series(metric::kConnectionsLost, {"tcp"}).add(static_cast<double>(lost.connections));
  metrics.series(metric::kConnectionsLost, {"udp"}).add(static_cast<double>(lost.flows));
}

Retirement::Retirement(const Context& parts)
    : context_(parts),
      draining_connections_(parts.metrics.series(metric::kDraining, {"tcp"})),
      draining_flows_(parts.metrics.series(metric::kDraining, {"udp"})) {}

bool Retirement::advance(const std::vector<std::string>& claims, std::chrono::seconds drain) {
  const bool immediately = drain.count() == 0;
  if (claims_all(context_.family, claims)) {
    // The new backend reports the metrics of both from now on.
    has_successor_ = true;
    context_.reporter.yield();
  }
  if (stage_ == Stage::kBegin && !remove_redirects(claims, immediately)) return true;
  const std::uint64_t now = context_.host.now();
  note_datagrams(now);
  if (stage_ == Stage::kListening && (immediately || now - since_ >= kGraceNanoseconds)) close_tcp();
  if (immediately && stage_ != Stage::kDone) reset_connections();
  const bool any_udp = context_.table.is_open(abi::Protocol::kUdp);
  if (stage_ == Stage::kUdpRemains && any_udp && now - quiet_since_ >= kQuietNanoseconds) move_udp(now);
  const bool moved = stage_ == Stage::kUdpMoved && now - std::max(since_, quiet_since_) >= kGraceNanoseconds;
  const bool udp_left = stage_ == Stage::kUdpRemains || stage_ == Stage::kUdpMoved;
  if (udp_left && (immediately || moved || !any_udp)) close_udp(claims);
  if (stage_ == Stage::kEstablished && context_.relayed.now().connections == 0) finish();
  report_draining();
  return stage_ == Stage::kDone;
}

// Returns false if the rules must stay; the remaining connections then end with the backend.
bool Retirement::remove_redirects(const std::vector<std::string>& claims, bool immediately) {
  const bool same = claims_all(context_.family, claims);
  // The rules may redirect here until the new backend has rewritten them, so they are not removed here.
  if (same && immediately) return false;
  remove_unclaimed(context_.writer, context_.family, claims, PortalWriter::Part::kDrops);
  remove_unclaimed(context_.writer, context_.family, claims, PortalWriter::Part::kRedirects);
  if (same) {
    // The new backend shares the sockets to which the rules redirect.
    context_.table.share_sockets(context_.writer.read_proxy_ports());
  }
  stage_ = Stage::kListening;
  since_ = quiet_since_ = context_.host.now();
  datagrams_ = context_.relayed.datagrams();
  return true;
}

void Retirement::note_datagrams(std::uint64_t now) {
  const std::uint64_t datagrams = context_.relayed.datagrams();
  if (datagrams == datagrams_) return;
  datagrams_ = datagrams;
  quiet_since_ = now;
}

void Retirement::close_tcp() {
  // Another userspace backend may have started meanwhile and share the sockets.
  const std::map<PortalId, ProxyPorts> redirected = context_.writer.read_proxy_ports();
  context_.table.share_sockets(redirected);
  context_.table.close(abi::Protocol::kTcp, has_successor_ || !redirected.empty());
  context_.table.release_claims();
  stage_ = Stage::kUdpRemains;
}

void Retirement::move_udp(std::uint64_t now) {
  if (context_.host_relay != nullptr) {
    for (const auto& [name, protocol] : context_.table.open_ids(abi::Protocol::kUdp)) {
      const abi::ServicePortKey key = sdk::parse_service_port_name(name, protocol);
      context_.host_relay->set_relay_ports(&key, {});
    }
  }
  stage_ = Stage::kUdpMoved;
  since_ = now;
}

void Retirement::close_udp(const std::vector<std::string>& claims) {
  context_.table.close(abi::Protocol::kUdp, has_successor_);
  remove_unclaimed(context_.writer, context_.family, claims, PortalWriter::Part::kAll);
  stage_ = Stage::kEstablished;
}

// Resets all TCP connections. UDP flows end with their sockets.
void Retirement::reset_connections() {
  const RelayedNow lost = context_.relayed.now();
  context_.table.reset_connections();
  if (!lost.any()) return;
  context_.log.warning(log_id::kDrainTimeout, "drain timeout expired: " + describe(lost) + " ended");
  count_lost(context_.metrics, lost);
}

void Retirement::finish() {
  context_.reporter.set_portals(0, 0, 0);
  context_.reporter.report();
  stage_ = Stage::kDone;
}

std::string Retirement::remaining() const { return describe(context_.relayed.now()) + " are still relayed"; }

void Retirement::report_draining() const {
  const RelayedNow now = stage_ == Stage::kDone ? RelayedNow{} : context_.relayed.now();
  draining_connections_.set(static_cast<double>(now.connections));
  draining_flows_.set(static_cast<double>(now.flows));
}

}  // namespace sluice::userspace
