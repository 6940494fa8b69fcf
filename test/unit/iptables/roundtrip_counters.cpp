// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include <arpa/inet.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_acct.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <string>

#include "plugins/common/netfilter/accounting.hpp"
#include "test/unit/iptables/roundtrip.hpp"

namespace sluice::test {
namespace {

constexpr char kInvalid[] = "ct_state_invalid_dropped_pkts";
constexpr char kLocalhost[] = "localhost_nps_accepted_pkts";

// As an operator does with nfacct(8).
bool remove_counter(const std::string& name) {
  std::string request(netfilter::bytes_of(netfilter::ask_for_counter(name)));
  const std::uint16_t type = (NFNL_SUBSYS_ACCT << 8) | NFNL_MSG_ACCT_DEL;
  std::memcpy(request.data() + offsetof(nlmsghdr, nlmsg_type), &type, sizeof(type));
  struct {
    nlmsghdr header;
    nlmsgerr error;
  } answer{};
  const int made = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
  const bool done = send(made, request.data(), request.size(), 0) == static_cast<ssize_t>(request.size()) &&
                    recv(made, &answer, sizeof(answer), 0) >= static_cast<ssize_t>(sizeof(answer)) &&
                    answer.header.nlmsg_type == NLMSG_ERROR && answer.error.error == 0;
  close(made);
  return done;
}

// Sends the first packet of a connection to a node port; there is no reply.
void knock(std::uint16_t port) {
  const int made = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  (void)connect(made, reinterpret_cast<const sockaddr*>(&to), sizeof(to));
  close(made);
}

void check_packets(Roundtrip& trip, const std::vector<ServiceSpec>& services, Tap& tap) {
  call("ip", {"link", "set", "lo", "up"});
  tap.check(trip.full(services) == abi::Code::kOk, "a node port", trip);
  knock(services[1].node_port);
  const double counted =
      (trip.verify(), trip.host.metrics["kubeproxy_iptables_localhost_nodeports_accepted_packets_total{}"]);
  tap.check(counted >= 1, "a packet to a node port on 127.0.0.1 is counted", trip);
  trip.restart();
  trip.host.metrics.clear();
  tap.check(trip.full(services) == abi::Code::kOk && trip.result.kernel_writes == 0 &&
                trip.host.metrics["kubeproxy_iptables_localhost_nodeports_accepted_packets_total{}"] == counted,
            "after a restart nothing is written, and the counter continues", trip);
}

// Removes the counter that a rule refers to, so that the kernel refuses that rule.
void check_refusal_by_the_kernel(Roundtrip& trip, std::vector<ServiceSpec> services, Tap& tap) {
  services[1].node_port = 0;
  tap.check(trip.full(services) == abi::Code::kOk && remove_counter(kLocalhost), "the counter is removed", trip);
  for (ServiceSpec& service : services) service.affinity_seconds = 60;
  services[1].node_port = 30001;
  tap.check(trip.delta(services) == abi::Code::kOk && trip.host.not_programmed() == 1 &&
                trip.host.failed.back().starts_with("bench/svc-1:p80: "),
            "a refused service port is found and all others are written", trip);
  std::printf("# %s\n", trip.host.failed.empty() ? "" : trip.host.failed.back().c_str());
  const std::string rules = call("iptables-save", {"-t", "nat"}).output;
  tap.check(rules.find("30001") == std::string::npos && rules.find("svc-1:p80 -> ") != std::string::npos,
            "it has kept its old rules", trip);
  tap.check(trip.full(services) == abi::Code::kOk && trip.host.not_programmed() == 0,
            "the next full transaction creates the counter and writes all rules", trip);
  tap.check(trip.full(services) == abi::Code::kOk && trip.result.kernel_writes == 0 && trip.verify() == abi::Code::kOk,
            "a further full transaction writes nothing", trip);
}

}  // namespace

void check_counters(abi::Family family, Tap& tap) {
  Roundtrip trip(family);
  netfilter::Accounting accounting;
  if (accounting.ensure("sluice_test") != 0) {
    tap.check(trip.full({}) == abi::Code::kOk, "rules do not use missing counters", trip);
    tap.check(trip.cleanup() == abi::Code::kOk, "cleanup without counters", trip);
    return;
  }
  tap.check(accounting.ensure("sluice_test") == 0 && accounting.packets("sluice_test") == std::uint64_t{0} &&
                !accounting.packets("sluice_none") && remove_counter("sluice_test"),
            "counters are created, found and read", trip);
  std::vector<ServiceSpec> services = many_services(4, 2, family);
  services[1].node_port = 30001;
  tap.check(trip.full(services) == abi::Code::kOk && accounting.packets(kInvalid).has_value() &&
                accounting.packets(kLocalhost).has_value(),
            "the backend has created its counters", trip);
  const std::string tool = family == abi::Family::kIpv6 ? "ip6tables" : "iptables";
  tap.check(call(tool + "-save", {"-t", "filter"}).output.find(kInvalid) != std::string::npos,
            "the rule against INVALID packets counts", trip);
  if (family == abi::Family::kIpv4) {
    check_packets(trip, services, tap);
    check_refusal_by_the_kernel(trip, services, tap);
  }
  tap.check(trip.cleanup() == abi::Code::kOk && accounting.packets(kInvalid).has_value(),
            "cleanup leaves the counters", trip);
}

}  // namespace sluice::test
