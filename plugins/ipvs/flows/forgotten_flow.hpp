// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Conntrack entries that the kernel deletes because of IPVS, as ctnetlink reports them, and the request that restores
// one.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/netlink/message.hpp"
#include "plugins/ipvs/server_types.hpp"

struct nlmsghdr;

namespace sluice::ipvs {

struct ForgottenFlow {
  // Original direction: client to service; reply direction: endpoint to `reply_to`.
  RealServer client;
  ServerKey service;
  RealServer endpoint;
  RealServer reply_to;            // the client, or the address that masquerades it
  std::uint32_t status = 0;       // IPS_… of nf_conntrack_common.h
  std::uint32_t mark = 0;
  std::uint32_t seconds = 0;      // remaining timeout
  std::uint8_t tcp_state = 0;     // TCP_CONNTRACK_… of nf_conntrack_tcp.h; 0: not TCP
  bool operator==(const ForgottenFlow&) const = default;
};

// Parses a notification. Empty unless the entry is worth restoring: translated by rules (IPS_DST_NAT, which IPVS does
// not set), deleted by the kernel itself (port ID 0), with time left (reported since Linux 5.11), and not closed by
// either side. TCP and UDP only: for SCTP the notification lacks the verification tags.
std::optional<ForgottenFlow> read_forgotten(nlmsghdr* message, abi::Family family);

// The kernel answers EEXIST if a packet has created a new entry meanwhile.
lib::netlink::Message restore_request(const ForgottenFlow& flow, abi::Family family);

}  // namespace sluice::ipvs
