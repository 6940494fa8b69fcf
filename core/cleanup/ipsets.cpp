// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cleanup/ipsets.hpp"

#include <netinet/in.h>  // first: the kernel headers then omit what it defines

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/ipset/ip_set.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "core/cleanup/netlink_request.hpp"

namespace sluice::cleanup {
namespace {

using lib::netlink::Message;
using lib::netlink::must;
using lib::netlink::nested_attribute;
using lib::netlink::Socket;

// The oldest protocol version that all supported kernels accept.
constexpr std::uint8_t kProtocol = 6;

Message request(int command, int flags) {
  auto message = netfilter_message(NFNL_SUBSYS_IPSET, command, flags, AF_INET);
  must(nla_put_u8(message.get(), IPSET_ATTR_PROTOCOL, kProtocol));
  return message;
}

std::string name_of(nlmsghdr* header) {
  return std::string(lib::netlink::string_attribute(nlmsg_find_attr(header, sizeof(nfgenmsg), IPSET_ATTR_SETNAME)));
}

std::optional<lib::IpAddress> address_of(const nlattr* nest) {
  if (const nlattr* v4 = nested_attribute(nest, IPSET_ATTR_IPADDR_IPV4); v4 != nullptr && nla_len(v4) == 4) {
    return lib::IpAddress::from_bytes(lib::Family::ipv4, nla_data(v4));
  }
  if (const nlattr* v6 = nested_attribute(nest, IPSET_ATTR_IPADDR_IPV6); v6 != nullptr && nla_len(v6) == 16) {
    return lib::IpAddress::from_bytes(lib::Family::ipv6, nla_data(v6));
  }
  return std::nullopt;
}

SetEntry entry_of(const nlattr* data) {
  SetEntry out;
  if (const nlattr* ip = nested_attribute(data, IPSET_ATTR_IP)) {
    if (const auto address = address_of(ip)) {
      out.has_address = true;
      out.address = *address;
    }
  }
  if (const nlattr* port = nested_attribute(data, IPSET_ATTR_PORT); port != nullptr && nla_len(port) >= 2) {
    out.port = ntohs(nla_get_u16(port));
  }
  if (const nlattr* protocol = nested_attribute(data, IPSET_ATTR_PROTO);
      protocol != nullptr && nla_len(protocol) >= 1) {
    out.protocol = nla_get_u8(protocol);
  }
  return out;
}

// The entries of one message; a large set takes several messages.
void each_entry(nlmsghdr* header, const std::function<void(const SetEntry&)>& take) {
  const nlattr* entries = nlmsg_find_attr(header, sizeof(nfgenmsg), IPSET_ATTR_ADT);
  if (entries == nullptr) return;
  int rest = 0;
  const nlattr* one = nullptr;
  nla_for_each_nested(one, entries, rest) {
    if (nla_type(one) == IPSET_ATTR_DATA) take(entry_of(one));
  }
}

std::string explain(int error) {
  switch (error) {
    case IPSET_ERR_BUSY:
      return "a rule or another set uses it";
    case IPSET_ERR_PROTOCOL:
      return "the kernel speaks another version of the ipset protocol";
    case EPERM:
      return "Operation not permitted; the capability CAP_NET_ADMIN is needed";
    default:
      return error < IPSET_ERR_PRIVATE ? std::strerror(error) : "ipset error " + std::to_string(error);
  }
}

// nf_tables releases the sets of a removed rule asynchronously.
constexpr int kBusyTries = 40;
constexpr std::chrono::milliseconds kBusyPause(50);

int destroy(Socket& kernel, const std::string& name) {
  auto message = request(IPSET_CMD_DESTROY, 0);
  must(nla_put_string(message.get(), IPSET_ATTR_SETNAME, name.c_str()));
  return ask(kernel, message);
}

}  // namespace

void remove_sets(const Selection& selection, Removal& into) {
  std::vector<std::string> names;
  Socket kernel(NETLINK_NETFILTER, "ipset");
  auto list = request(IPSET_CMD_LIST, NLM_F_DUMP);
  const std::uint32_t names_only = htonl(IPSET_FLAG_LIST_SETNAME);
  must(nla_put_u32(list.get(), IPSET_ATTR_FLAGS | NLA_F_NET_BYTEORDER, names_only));
  const int failed = ask(kernel, list, [&](nlmsghdr* header) {
    if (std::string name = name_of(header); selection.set(name)) names.push_back(std::move(name));
  });
  if (failed != 0) {
    if (!is_unsupported(failed)) into.failures.push_back("cannot list the ipsets: " + explain(failed));
    return;
  }
  int tries = kBusyTries;  // shared by all sets
  for (const std::string& name : names) {
    int refused = destroy(kernel, name);
    for (; refused == IPSET_ERR_BUSY && tries > 0; --tries) {
      std::this_thread::sleep_for(kBusyPause);
      refused = destroy(kernel, name);
    }
    if (refused == ENOENT) continue;  // another process removed it first
    if (refused != 0) {
      into.failures.push_back("cannot remove ipset " + name + ": " + explain(refused));
      continue;
    }
    ++into.sets;
    into.modes |= makers_of_set(name);
  }
}

void read_sets(const std::function<bool(std::string_view name)>& wanted,
               const std::function<void(std::string_view name, const SetEntry&)>& take) {
  Socket kernel(NETLINK_NETFILTER, "ipset");
  (void)ask(kernel, request(IPSET_CMD_LIST, NLM_F_DUMP), [&](nlmsghdr* header) {
    const std::string name = name_of(header);
    if (wanted(name)) each_entry(header, [&](const SetEntry& entry) { take(name, entry); });
  });
}

}  // namespace sluice::cleanup
