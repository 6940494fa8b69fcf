// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/netfilter/accounting.hpp"

#include <endian.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_acct.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <sys/socket.h>

#include <cerrno>

#include "sluice/sdk/error.hpp"

namespace sluice::netfilter {
namespace {

constexpr std::uint16_t kNew = (NFNL_SUBSYS_ACCT << 8) | NFNL_MSG_ACCT_NEW;
constexpr std::uint16_t kGet = (NFNL_SUBSYS_ACCT << 8) | NFNL_MSG_ACCT_GET;
constexpr std::chrono::milliseconds kAccountingTimeout{1000};  // short: rules work without counters

Message request(std::uint16_t type, std::uint16_t flags, const std::string& name) {
  nfgenmsg header{};
  header.nfgen_family = AF_UNSPEC;
  header.version = NFNETLINK_V0;
  Message message = lib::netlink::make_message(type, flags, header);
  lib::netlink::must(nla_put_string(message.get(), NFACCT_NAME, name.c_str()));
  return message;
}

}  // namespace

Message ask_for_counter(const std::string& name) { return request(kGet, NLM_F_ACK, name); }

Message make_counter(const std::string& name) { return request(kNew, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, name); }

Accounting::Accounting()
    : socket_([] { return netlink::open_raw_socket(NETLINK_NETFILTER); }, "nfacct", kAccountingTimeout) {}

int Accounting::exchange(const Message& request, std::optional<std::uint64_t>& packets) {
  try {
    // The kernel answers with an object of type "new", then with the acknowledgement.
    return socket_.request(request, [&packets](nlmsghdr* answer) {
      if (answer->nlmsg_type != kNew) return;
      const nlattr* const counted = nlmsg_find_attr(answer, sizeof(nfgenmsg), NFACCT_PKTS);
      if (counted != nullptr) packets = be64toh(lib::netlink::integer_attribute(counted));
    });
  } catch (const sdk::Failure& failure) {
    return failure.os_errno() != 0 ? failure.os_errno() : EIO;
  }
}

int Accounting::ensure(const std::string& name) {
  std::optional<std::uint64_t> packets;
  const int found = exchange(ask_for_counter(name), packets);
  if (found != ENOENT) return found;
  const int made = exchange(make_counter(name), packets);
  return made == EEXIST ? 0 : made;
}

std::optional<std::uint64_t> Accounting::packets(const std::string& name) {
  std::optional<std::uint64_t> packets;
  if (exchange(ask_for_counter(name), packets) != 0) return std::nullopt;
  return packets;
}

}  // namespace sluice::netfilter
