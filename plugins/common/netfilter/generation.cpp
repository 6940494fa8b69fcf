// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/netfilter/generation.hpp"

#include <arpa/inet.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <sys/socket.h>

#include "lib/netlink/message.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::netfilter {
namespace {

constexpr std::uint16_t kGetGeneration = (NFNL_SUBSYS_NFTABLES << 8) | NFT_MSG_GETGEN;
constexpr std::uint16_t kNewGeneration = (NFNL_SUBSYS_NFTABLES << 8) | NFT_MSG_NEWGEN;
constexpr std::chrono::milliseconds kGenerationTimeout{1000};  // without an answer, the rules are read instead

}  // namespace

GenerationReader::GenerationReader()
    : socket_([] { return netlink::open_raw_socket(NETLINK_NETFILTER); }, "nf_tables", kGenerationTimeout) {}

std::optional<std::uint32_t> GenerationReader::read() {
  nfgenmsg header{};
  header.nfgen_family = AF_UNSPEC;
  header.version = NFNETLINK_V0;
  std::optional<std::uint32_t> generation;
  try {
    const int error = socket_.request(lib::netlink::make_message(kGetGeneration, 0, header), [&](nlmsghdr* answer) {
      if (answer->nlmsg_type != kNewGeneration) return;
      const nlattr* const id = nlmsg_find_attr(answer, sizeof(nfgenmsg), NFTA_GEN_ID);
      if (id != nullptr) generation = ntohl(static_cast<std::uint32_t>(lib::netlink::integer_attribute(id)));
    });
    if (error != 0) return std::nullopt;
  } catch (const sdk::Failure&) {
    return std::nullopt;
  }
  return generation;
}

}  // namespace sluice::netfilter
