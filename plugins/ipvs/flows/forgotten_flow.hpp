// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Tracked flows that IPVS makes the kernel forget, as notifications of ctnetlink tell them, and the request that puts one back.
#pragma once

#include <cstdint>
#include <optional>

#include "plugins/common/netlink/message.hpp"
#include "plugins/ipvs/values.hpp"

struct nlmsghdr;

namespace sluice::ipvs {

struct ForgottenFlow {
  // What the client sent, and where what the endpoint answers goes to.
  RealServer client;
  ServerKey service;
  RealServer endpoint;
  RealServer answered;            // the client, or who masquerades it
  std::uint32_t status = 0;       // IPS_… of nf_conntrack_common.h
  std::uint32_t mark = 0;
  std::uint32_t seconds = 0;      // it would have been kept for, without another packet
  std::uint8_t tcp_state = 0;     // TCP_CONNTRACK_… of nf_conntrack_tcp.h; 0: not TCP
  bool operator==(const ForgottenFlow&) const = default;
};

// A notification; nothing unless it tells of a flow that somebody would miss: one that rules lead (IPVS's own have no IPS_DST_NAT),
// removed by the kernel itself (a request has a port) before its time was over (only then is one told, since Linux 5.11), and
// not ended by either side. TCP and UDP: of SCTP the notification does not tell the tags that a packet has to carry.
std::optional<ForgottenFlow> read_forgotten(nlmsghdr* message, abi::Family family);

// Refused with EEXIST when a packet was quicker, which then has made another one.
netlink::Message put_back(const ForgottenFlow& flow, abi::Family family);

}  // namespace sluice::ipvs
