// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/probe.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>

#include "lib/netlink/error.hpp"
#include "plugins/common/netfilter/probe.hpp"
#include "plugins/common/netfilter/relay_mark.hpp"
#include "plugins/userspace/relay/conntrack_entry.hpp"
#include "plugins/userspace/relay/endpoint_socket.hpp"
#include "plugins/userspace/relay/foreign_nat.hpp"
#include "sluice/sdk/address.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::userspace {

using netfilter::Table;

void probe_kernel(netfilter::Kernel& kernel, abi::Family family) {
  const std::string target = family == abi::Family::kIpv6 ? "[fd00::1]:80" : "10.0.0.1:80";
  const char* const reject = family == abi::Family::kIpv6 ? "IP6_NF_TARGET_REJECT" : "IP_NF_TARGET_REJECT";
  netfilter::probe_needs(
      kernel, {{"NETFILTER_XT_MATCH_COMMENT", Table::kNat, "-m comment --comment probe"},
               {"NETFILTER_XT_MATCH_ADDRTYPE", Table::kNat, "-m addrtype --dst-type LOCAL"},
               {"NETFILTER_XT_MATCH_ADDRTYPE", Table::kFilter, "-m addrtype ! --src-type LOCAL"},
               {"NETFILTER_XT_MATCH_MARK", Table::kNat, netfilter::not_relayed_match(netfilter::kRelayMarks[0])},
               {"NETFILTER_XT_MATCH_STATE", Table::kFilter, "-m state --state NEW -j ACCEPT"},
               {"NETFILTER_XT_MATCH_CONNTRACK", Table::kFilter, "-m conntrack --ctstate NEW -j DROP"},
               {reject, Table::kFilter, "-j REJECT"},
               {"NETFILTER_XT_TARGET_REDIRECT", Table::kNat, "-p tcp -m tcp -j REDIRECT --to-ports 80"},
               {"NETFILTER_XT_NAT", Table::kNat, "-p udp -m udp -j DNAT --to-destination " + target}});
}

void probe_socket_mark(abi::Family family) {
  const std::uint32_t mark = netfilter::kRelayMarks[0];
  lib::Fd socket;
  int failure = open_endpoint_socket(sdk::socket_family(family), SOCK_DGRAM, 0, socket);
  if (failure == 0) failure = set_mark(socket.get(), mark);
  if (failure == 0) return;
  throw sdk::Failure(failure == EPERM ? abi::Code::kDenied : abi::Code::kUnsupported, "SO_MARK",
                     "cannot mark the packets of a socket (SO_MARK): " + std::string(std::strerror(failure)) +
                         "; run the daemon with the capability CAP_NET_ADMIN",
                     failure);
}

ClientAddressProblem client_address_problem(abi::Family family) {
  const auto documentation = [family](std::uint8_t last) {
    abi::Address address{};
    const std::uint8_t v4[] = {192, 0, 2, last};
    const std::uint8_t v6[] = {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last};
    if (family == abi::Family::kIpv6) {
      std::copy(std::begin(v6), std::end(v6), address.bytes);
    } else {
      std::copy(std::begin(v4), std::end(v4), address.bytes);
    }
    return SocketAddress(family, address, static_cast<std::uint16_t>(1024 + last));
  };
  const RelayFlow flow{IPPROTO_TCP, documentation(1), documentation(2)};
  const SocketAddress client = documentation(3);
  Conntrack conntrack;
  const int failure = conntrack.create(flow, {client, client.port(), client.port()}, 1);
  conntrack.remove(flow);
  if (failure == EPERM || failure == EACCES) {
    return {kNetAdmin, "cannot create conntrack entries; run the daemon with the capability CAP_NET_ADMIN"};
  }
  // EEXIST: a backend of the other family or an old one probes at the same time.
  if (failure != 0 && failure != EEXIST) {
    return {kConntrackNetlink, "cannot create conntrack entries: " + lib::netlink::error_text(failure) +
                                   "; load the kernel modules nf_conntrack_netlink and nf_nat"};
  }
  lib::Fd socket;
  const int raw = open_raw_packet_socket(sdk::socket_family(family), 0, socket);
  if (raw == 0) return {};
  return {kNetRaw, "cannot open a raw socket: " + lib::netlink::error_text(raw) +
                       "; run the daemon with the capability CAP_NET_RAW"};
}

}  // namespace sluice::userspace
