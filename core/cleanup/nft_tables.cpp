// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cleanup/nft_tables.hpp"

#include <netinet/in.h>  // first: the kernel headers then omit what it defines

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/cleanup/netlink_request.hpp"
#include "lib/text.hpp"
#include "names/objects.hpp"

namespace sluice::cleanup {
namespace {

using lib::netlink::Message;
using lib::netlink::must;
using lib::netlink::Socket;

struct FamilyName {
  int number;
  std::string_view name;
};
constexpr std::array kFamilyNames = {FamilyName{NFPROTO_IPV4, "ip"},       FamilyName{NFPROTO_IPV6, "ip6"},
                                     FamilyName{NFPROTO_INET, "inet"},     FamilyName{NFPROTO_ARP, "arp"},
                                     FamilyName{NFPROTO_BRIDGE, "bridge"}, FamilyName{NFPROTO_NETDEV, "netdev"}};

std::string_view family_of(int number) {
  for (const FamilyName& family : kFamilyNames) {
    if (family.number == number) return family.name;
  }
  return {};
}

int number_of(std::string_view name) {
  for (const FamilyName& family : kFamilyNames) {
    if (family.name == name) return family.number;
  }
  return NFPROTO_UNSPEC;
}

std::string text_of(nlmsghdr* header, int attribute) {
  return std::string(lib::netlink::string_attribute(nlmsg_find_attr(header, sizeof(nfgenmsg), attribute)));
}

struct NftTable {
  int family;
  std::string name;
  std::string to_string() const { return std::string(family_of(family)) + " " + name; }
};

int find(Socket& kernel, const Selection& selection, std::vector<NftTable>& into) {
  return ask(kernel, netfilter_message(NFNL_SUBSYS_NFTABLES, NFT_MSG_GETTABLE, NLM_F_DUMP, NFPROTO_UNSPEC),
             [&](nlmsghdr* header) {
               const int family = static_cast<const nfgenmsg*>(nlmsg_data(header))->nfgen_family;
               std::string name = text_of(header, NFTA_TABLE_NAME);
               if (selection.table(family_of(family), name)) into.push_back({family, std::move(name)});
             });
}

int remove(Socket& kernel, const std::vector<NftTable>& tables) {
  nfgenmsg frame{};
  frame.res_id = htons(NFNL_SUBSYS_NFTABLES);
  const Message begin = lib::netlink::make_message(NFNL_MSG_BATCH_BEGIN, 0, frame);
  const Message end = lib::netlink::make_message(NFNL_MSG_BATCH_END, 0, frame);
  std::vector<Message> messages;
  std::vector<nlmsghdr*> changes;
  for (const NftTable& table : tables) {
    messages.push_back(netfilter_message(NFNL_SUBSYS_NFTABLES, NFT_MSG_DELTABLE, 0, table.family));
    must(nla_put_string(messages.back().get(), NFTA_TABLE_NAME, table.name.c_str()));
    changes.push_back(header_of(messages.back()));
  }
  const auto answer = kernel.transact(header_of(begin), changes, header_of(end));
  return answer ? *answer : answer.status().os_errno();
}

}  // namespace

void remove_tables(const Selection& selection, Removal& into) {
  int failed = 0;
  std::vector<NftTable> tables;
  // Another process may remove a table between listing and removal: then try again.
  for (int pass = 0; pass < 3; ++pass) {
    Socket kernel(NETLINK_NETFILTER, "nf_tables");
    tables.clear();
    failed = find(kernel, selection, tables);
    if (is_unsupported(failed) || (failed == 0 && tables.empty())) return;
    if (failed == 0) failed = remove(kernel, tables);
    if (failed != ENOENT && failed != EINTR) break;
  }
  const std::string names = lib::joined(tables, " and ", &NftTable::to_string);
  if (failed != 0) {
    into.failures.push_back(
        (names.empty() ? "cannot list the tables of nftables: " : "cannot remove nftables table " + names + ": ") +
        std::strerror(failed) +
        (failed == EPERM ? "; the capability CAP_NET_ADMIN is needed, and no other program may own "
                           "the table"
                         : ""));
    return;
  }
  for (const NftTable& table : tables) into.tables.push_back(table.to_string());
  into.modes |= names::kNftTable.modes;
}

std::vector<std::string> nft_chains(std::string_view family, const std::string& table) {
  std::vector<std::string> out;
  Socket kernel(NETLINK_NETFILTER, "nf_tables");
  auto request = netfilter_message(NFNL_SUBSYS_NFTABLES, NFT_MSG_GETCHAIN, NLM_F_DUMP, number_of(family));
  (void)ask(kernel, request, [&](nlmsghdr* header) {
    if (text_of(header, NFTA_CHAIN_TABLE) == table) out.push_back(text_of(header, NFTA_CHAIN_NAME));
  });
  return out;
}

}  // namespace sluice::cleanup
