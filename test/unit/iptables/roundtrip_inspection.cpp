// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sluice/sdk/address.hpp"
#include "sluice/sdk/service.hpp"
#include "sluice/sdk/views.hpp"
#include "test/unit/iptables/roundtrip.hpp"

namespace sluice::test {
namespace {

template <class Row>
std::vector<std::string> rows_of(Roundtrip& trip, abi::InspectionKind kind,
                                 const std::function<std::string(const Row&)>& print,
                                 const abi::InspectedPacket* packet = nullptr) {
  struct Sink final : abi::InspectionSink {
    explicit Sink(const std::function<std::string(const Row&)>& printer) : print(printer) {}
    std::int32_t add(abi::ArrayView rows) noexcept override {
      for (const Row& row : sdk::range<Row>(rows)) lines.push_back(print(row));
      return 1;
    }
    const std::function<std::string(const Row&)>& print;
    std::vector<std::string> lines;
  } sink(print);
  abi::InspectionQuery query{};
  query.struct_size = sizeof(query);
  query.kind = kind;
  query.packet = packet;
  trip.error = {};
  trip.error.struct_size = sizeof(trip.error);
  if (trip.inspection().inspect(&query, &sink, &trip.error) != abi::Code::kOk) return {"failed"};
  for (const std::string& line : sink.lines) std::printf("# %s\n", line.c_str());
  return sink.lines;
}

std::vector<std::string> drift(Roundtrip& trip) {
  return rows_of<abi::InspectedDrift>(trip, abi::InspectionKind::kInspectDrift, [](const abi::InspectedDrift& row) {
    return std::string(sdk::text(row.object)) + " wanted " + std::string(sdk::text(row.wanted)) + " found " +
           std::string(sdk::text(row.found));
  });
}

std::vector<std::string> counters(Roundtrip& trip) {
  return rows_of<abi::InspectedCounters>(
      trip, abi::InspectionKind::kInspectCounters, [](const abi::InspectedCounters& row) {
        const bool whole = (row.flags & (abi::kCountedFrontend | abi::kCountedTarget)) == 0;
        return sdk::service_port_name(row.key) + (whole ? "" : " part") + " " + std::to_string(row.connections) + " " +
               std::to_string(row.refused);
      });
}

class Inspection {
 public:
  Inspection(abi::Family family, Tap& tap) : family_(family), tap_(tap), trip_(family) {
    services_ = many_services(6, 2, family);
    services_[1].endpoints.clear();
    services_[2].affinity_seconds = 60;
    services_[3].external_local = true;
    services_[3].endpoints[0].local = true;
    services_[3].node_port = 30003;
    services_[4].protocol = abi::Protocol::kUdp;
    services_[5].vips = {family == abi::Family::kIpv6 ? "2001:db8::5" : "198.51.100.5"};
    services_[5].source_ranges = {family == abi::Family::kIpv6 ? "2001:db8:1::/48" : "203.0.113.0/25"};
  }

  void run() {
    set_up_routes();
    tap_.check(trip_.full(services_) == abi::Code::kOk, "Services to inspect", trip_);
    tap_.check(drift(trip_).empty(), "there is no drift", trip_);
    tap_.check(outcome(4) == "served", "a packet is served", trip_);
    tap_.check(outcome(1) == "rejected", "a packet to a Service without endpoints is rejected", trip_);
    knock(4);
    knock(1);
    const std::vector<std::string> counted = counters(trip_);
    tap_.check(has(counted, name(4) + " 1 0") && has(counted, name(4) + " part 1 0"), "a connection is counted", trip_);
    tap_.check(has(counted, name(1) + " 0 1"), "a refused connection is counted", trip_);
    ServiceSpec changed = services_[4];
    changed.endpoints.push_back(services_[0].endpoints[0]);
    tap_.check(trip_.delta({changed}) == abi::Code::kOk && drift(trip_).empty(), "a delta is no drift", trip_);
    tap_.check(has(counters(trip_), name(4) + " 1 0"), "a new endpoint resets no counter", trip_);
    tap_.check(trip_.full(services_) == abi::Code::kOk && drift(trip_).empty(), "nor is a full transaction", trip_);
    cause_drift();
    tap_.check(trip_.cleanup() == abi::Code::kOk, "cleanup", trip_);
  }

 private:
  static bool has(const std::vector<std::string>& lines, const std::string& line) {
    return std::find(lines.begin(), lines.end(), line) != lines.end();
  }
  std::string name(std::size_t index) const {
    return services_[index].namespace_name + "/" + services_[index].name + ":" + services_[index].port_name;
  }

  // So that packets leave the node.
  void set_up_routes() {
    const bool ipv6 = family_ == abi::Family::kIpv6;
    const std::string family = ipv6 ? "-6" : "-4";
    call("ip", {"link", "set", "lo", "up"});
    call("ip", {"link", "add", "sluice0", "type", "veth", "peer", "name", "sluice1"});
    for (const char* const link : {"sluice0", "sluice1"}) call("ip", {"link", "set", link, "up"});
    std::vector<std::string> address{family, "addr", "add", ipv6 ? "2001:db8:ffff::1/64" : "192.0.2.1/24", "dev",
                                     "sluice0"};
    if (ipv6) address.emplace_back("nodad");
    call("ip", address);
    call("ip", {family, "route", "add", "default", "dev", "sluice0"});
  }

  // Sends the first packet of a connection; there is no reply.
  void knock(std::size_t index) const {
    const ServiceSpec& service = services_[index];
    const abi::Address address = *sdk::parse_address(service.cluster_ip, family_);
    const int type = service.protocol == abi::Protocol::kUdp ? SOCK_DGRAM : SOCK_STREAM;
    const int made = socket(sdk::socket_family(family_), type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    sockaddr_in6 to6{};
    to6.sin6_family = AF_INET6;
    to6.sin6_port = htons(service.port);
    std::memcpy(&to6.sin6_addr, address.bytes, 16);
    sockaddr_in to4{};
    to4.sin_family = AF_INET;
    to4.sin_port = htons(service.port);
    std::memcpy(&to4.sin_addr, address.bytes, 4);
    const bool ipv6 = family_ == abi::Family::kIpv6;
    const auto* const to = ipv6 ? reinterpret_cast<const sockaddr*>(&to6) : reinterpret_cast<const sockaddr*>(&to4);
    (void)connect(made, to, ipv6 ? sizeof(to6) : sizeof(to4));
    (void)send(made, "x", 1, MSG_NOSIGNAL);
    close(made);
  }

  // Of a packet that a process of this node sends.
  std::string outcome(std::size_t index) {
    const ServiceSpec& service = services_[index];
    abi::InspectedPacket packet{};
    packet.struct_size = sizeof(packet);
    packet.flags = abi::kPacketOfNode;
    packet.client = *sdk::parse_address(family_ == abi::Family::kIpv6 ? "2001:db8:ffff::1" : "192.0.2.1", family_);
    packet.address = *sdk::parse_address(service.cluster_ip, family_);
    packet.port = service.port;
    packet.protocol = service.protocol;
    std::string last;
    rows_of<abi::InspectedStep>(
        trip_, abi::InspectionKind::kInspectExplanation,
        [&](const abi::InspectedStep& row) {
          static constexpr const char* kVerdicts[] = {"continues", "served", "rejected", "dropped", "not proxied"};
          last = kVerdicts[static_cast<std::size_t>(row.verdict)];
          return std::string(sdk::text(row.object)) + ": " + std::string(sdk::text(row.effect)) + " (" +
                 std::string(sdk::text(row.remarks)) + ") " + last;
        },
        &packet);
    return last;
  }

  void cause_drift() {
    const std::string tool = family_ == abi::Family::kIpv6 ? "ip6tables" : "iptables";
    call(tool, {"-t", "nat", "-F", "KUBE-SERVICES"});
    call(tool, {"-t", "nat", "-I", "KUBE-MARK-MASQ", "-j", "RETURN"});
    const std::vector<std::string> found = drift(trip_);
    tap_.check(found.size() == 8, "each missing rule and the changed chain are drift", trip_);
    tap_.check(outcome(4) == "not proxied", "a packet is not proxied without its rule", trip_);
    tap_.check(trip_.full(services_) == abi::Code::kOk && drift(trip_).empty(), "the drift is repaired", trip_);
    call(tool, {"-t", "nat", "-I", "OUTPUT", "-j", "ACCEPT"});
    tap_.check(drift(trip_).size() == 1 && outcome(4) == "not proxied", "a rule above the jump is shown", trip_);
    call(tool, {"-t", "nat", "-D", "OUTPUT", "-j", "ACCEPT"});
  }

  const abi::Family family_;
  Tap& tap_;
  Roundtrip trip_;
  std::vector<ServiceSpec> services_;
};

}  // namespace

void check_inspection(abi::Family family, Tap& tap) { Inspection(family, tap).run(); }

}  // namespace sluice::test
