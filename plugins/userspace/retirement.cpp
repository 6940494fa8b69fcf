// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/retirement.hpp"

#include <algorithm>
#include <map>

#include "plugins/userspace/cleanup.hpp"
#include "sluice/sdk/service.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::userspace {
namespace {

constexpr std::uint64_t kGraceNanoseconds = std::chrono::nanoseconds(Retirement::kGrace).count();
constexpr std::uint64_t kQuietNanoseconds = std::chrono::nanoseconds(Retirement::kQuiet).count();

std::string some(std::uint64_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string labels(abi::Family family, const char* protocol) {
  return std::string(family == abi::Family::kIpv6 ? "ip_family=\"IPv6\"" : "ip_family=\"IPv4\"") + ",protocol=\"" +
         protocol + "\"";
}

void metric(abi::Host& host, abi::MetricKind kind, const char* name, abi::Family family, const RelayedNow& relayed) {
  host.metric(kind, sdk::view(name), sdk::view(labels(family, "tcp")), static_cast<double>(relayed.connections));
  host.metric(kind, sdk::view(name), sdk::view(labels(family, "udp")), static_cast<double>(relayed.flows));
}

}  // namespace

std::string describe(const RelayedNow& relayed) {
  return some(relayed.connections, "TCP connection") + " and " + some(relayed.flows, "UDP flow");
}

void count_lost(abi::Host& host, abi::Family family, const RelayedNow& lost) {
  metric(host, abi::MetricKind::kCounterAdd, "sluice_userspace_connections_lost_total", family, lost);
}

bool Retirement::go_on(const std::vector<std::string>& claims, std::chrono::seconds drain) {
  const bool at_once = drain.count() == 0;
  if (claims_all(parts_.family, claims)) {
    // The other one tells the figures of both from now on.
    succeeded_ = true;
    parts_.metrics.yield();
  }
  if (stage_ == Stage::kBegin && !take_rules_off(claims, at_once)) return true;
  const std::uint64_t now = parts_.host.now();
  note_datagrams(now);
  if (stage_ == Stage::kListening && (at_once || now - since_ >= kGraceNanoseconds)) close_tcp();
  if (at_once && stage_ != Stage::kDone) end_everything();
  const bool any_udp = parts_.table.is_open(abi::Protocol::kUdp);
  if (stage_ == Stage::kUdpRemains && any_udp && now - quiet_since_ >= kQuietNanoseconds) move_udp(now);
  const bool moved = stage_ == Stage::kUdpMoved && now - std::max(since_, quiet_since_) >= kGraceNanoseconds;
  const bool udp_left = stage_ == Stage::kUdpRemains || stage_ == Stage::kUdpMoved;
  if (udp_left && (at_once || moved || !any_udp)) close_udp(claims);
  if (stage_ == Stage::kEstablished && parts_.relayed.now().connections == 0) finish();
  tell();
  return stage_ == Stage::kDone;
}

// False: rules are to stay, and what is left ends with the backend.
bool Retirement::take_rules_off(const std::vector<std::string>& claims, bool at_once) {
  const bool same = claims_all(parts_.family, claims);
  // The rules may lead here until the other one has written them again, so nothing is taken from them before.
  if (same && at_once) return false;
  remove_unclaimed(parts_.writer, parts_.family, claims, PortalWriter::Part::kDrops);
  remove_unclaimed(parts_.writer, parts_.family, claims, PortalWriter::Part::kLeads);
  if (same) {
    // The other one listens at those of our sockets that rules lead to.
    parts_.table.leave(parts_.writer.adopt());
  }
  stage_ = Stage::kListening;
  since_ = quiet_since_ = parts_.host.now();
  datagrams_ = parts_.relayed.datagrams();
  return true;
}

void Retirement::note_datagrams(std::uint64_t now) {
  const std::uint64_t datagrams = parts_.relayed.datagrams();
  if (datagrams == datagrams_ && parts_.relayed.now().flows == 0) return;
  datagrams_ = datagrams;
  quiet_since_ = now;
}

void Retirement::close_tcp() {
  // A backend of this kind that came meanwhile may listen at the same sockets.
  const std::map<PortalId, ProxyPorts> led = parts_.writer.adopt();
  parts_.table.leave(led);
  parts_.table.close(abi::Protocol::kTcp, succeeded_ || !led.empty());
  parts_.table.release_claims();
  stage_ = Stage::kUdpRemains;
}

void Retirement::move_udp(std::uint64_t now) {
  if (parts_.host_relay != nullptr) {
    for (const auto& [name, protocol] : parts_.table.open(abi::Protocol::kUdp)) {
      const abi::ServicePortKey key = sdk::parse_service_port_name(name, protocol);
      parts_.host_relay->set_relay_ports(&key, {});
    }
  }
  stage_ = Stage::kUdpMoved;
  since_ = now;
}

void Retirement::close_udp(const std::vector<std::string>& claims) {
  parts_.table.close(abi::Protocol::kUdp, succeeded_);
  remove_unclaimed(parts_.writer, parts_.family, claims, PortalWriter::Part::kAll);
  stage_ = Stage::kEstablished;
}

// All of TCP: UDP flows end with their sockets.
void Retirement::end_everything() {
  const RelayedNow lost = parts_.relayed.now();
  parts_.table.reset_connections();
  if (!lost.any()) return;
  parts_.log.warning(describe(lost) + " ended because the time to drain is over");
  count_lost(parts_.host, parts_.family, lost);
}

void Retirement::finish() {
  parts_.metrics.set_portals(0, 0, 0);
  parts_.metrics.report();
  stage_ = Stage::kDone;
}

std::string Retirement::left() const { return describe(parts_.relayed.now()) + " are still relayed"; }

void Retirement::tell() const {
  metric(parts_.host, abi::MetricKind::kGaugeSet, "sluice_userspace_draining", parts_.family,
         stage_ == Stage::kDone ? RelayedNow{} : parts_.relayed.now());
}

}  // namespace sluice::userspace
