// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/probe.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "plugins/common/netfilter/probe.hpp"
#include "plugins/common/netfilter/relay_mark.hpp"
#include "plugins/userspace/relay/endpoint_socket.hpp"
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

}  // namespace sluice::userspace
