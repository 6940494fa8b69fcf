// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/links/netlink_links.hpp"

#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <set>
#include <utility>

#include "lib/netlink/error.hpp"
#include "plugins/common/netlink/error.hpp"
#include "plugins/ipvs/server_types.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::ipvs {
namespace {

std::uint8_t number_of(abi::Family family) { return family == abi::Family::kIpv4 ? AF_INET : AF_INET6; }
std::size_t size_of(abi::Family family) { return family == abi::Family::kIpv4 ? 4 : 16; }

std::string count(std::size_t number) { return std::to_string(number) + (number == 1 ? " address" : " addresses"); }

lib::netlink::Message link_message(std::uint16_t type, std::uint16_t flags, int index) {
  ifinfomsg header{};
  header.ifi_family = AF_UNSPEC;
  header.ifi_index = index;
  return lib::netlink::make_message(type, flags, header);
}

lib::netlink::Message address_message(std::uint16_t type, std::uint16_t flags, int index, abi::Family family,
                                 const abi::Address& address) {
  ifaddrmsg header{};
  header.ifa_family = number_of(family);
  header.ifa_prefixlen = static_cast<std::uint8_t>(size_of(family) * 8);
  // The link stays down, where duplicate address detection would never finish.
  header.ifa_flags = family == abi::Family::kIpv6 && type == RTM_NEWADDR ? IFA_F_NODAD : 0;
  header.ifa_scope = RT_SCOPE_UNIVERSE;
  header.ifa_index = static_cast<std::uint32_t>(index);
  auto out = lib::netlink::make_message(type, flags, header);
  const int size = static_cast<int>(size_of(family));
  lib::netlink::must(nla_put(out.get(), IFA_LOCAL, size, address.bytes));
  // With IFA_ADDRESS the kernel also compares the prefix length on removal.
  lib::netlink::must(nla_put(out.get(), IFA_ADDRESS, size, address.bytes));
  if (family == abi::Family::kIpv6 && type == RTM_NEWADDR) {
    // Deprecated forever: masquerading selects a source from all links, including this one, and would choose a
    // service address. Incoming packets are not affected.
    ifa_cacheinfo times{};
    times.ifa_valid = UINT32_MAX;
    lib::netlink::must(nla_put(out.get(), IFA_CACHEINFO, sizeof(times), &times));
  }
  return out;
}

// The local route of an address, as the kernel creates it; without `source`, any such route.
lib::netlink::Message local_route_message(std::uint16_t type, std::uint16_t flags, int index, const abi::Address& address,
                                     const abi::Address* source) {
  rtmsg header{};
  header.rtm_family = AF_INET;
  header.rtm_dst_len = 32;
  header.rtm_table = RT_TABLE_LOCAL;
  header.rtm_protocol = RTPROT_KERNEL;
  header.rtm_scope = RT_SCOPE_HOST;
  header.rtm_type = RTN_LOCAL;
  auto out = lib::netlink::make_message(type, flags, header);
  lib::netlink::must(nla_put(out.get(), RTA_DST, 4, address.bytes));
  lib::netlink::must(nla_put_u32(out.get(), RTA_OIF, static_cast<std::uint32_t>(index)));
  if (source != nullptr) lib::netlink::must(nla_put(out.get(), RTA_PREFSRC, 4, source->bytes));
  return out;
}

struct LocalRoute {
  abi::Address address{};
  abi::Address source{};
};

std::optional<abi::Address> ipv4_of(nlmsghdr* message, int attribute) {
  const nlattr* found = nlmsg_find_attr(message, sizeof(rtmsg), attribute);
  if (found == nullptr || nla_len(found) < 4) return std::nullopt;
  abi::Address out{};
  std::memcpy(out.bytes, nla_data(found), 4);
  return out;
}

// A local route of a single address of this link.
std::optional<LocalRoute> local_route_in(nlmsghdr* message, int index) {
  if (message->nlmsg_type != RTM_NEWROUTE || message->nlmsg_len < NLMSG_LENGTH(sizeof(rtmsg))) return std::nullopt;
  const auto* header = static_cast<const rtmsg*>(nlmsg_data(message));
  if (header->rtm_family != AF_INET || header->rtm_table != RT_TABLE_LOCAL || header->rtm_type != RTN_LOCAL ||
      header->rtm_dst_len != 32) {
    return std::nullopt;
  }
  const nlattr* out = nlmsg_find_attr(message, sizeof(rtmsg), RTA_OIF);
  if (out == nullptr || nla_get_u32(out) != static_cast<std::uint32_t>(index)) return std::nullopt;
  const auto address = ipv4_of(message, RTA_DST);
  const auto source = ipv4_of(message, RTA_PREFSRC);
  if (!address || !source) return std::nullopt;
  return LocalRoute{*address, *source};
}

std::string kind_of(nlmsghdr* message) {
  const nlattr* const info = nlmsg_find_attr(message, sizeof(ifinfomsg), IFLA_LINKINFO);
  return std::string(lib::netlink::string_attribute(lib::netlink::nested_attribute(info, IFLA_INFO_KIND)));
}

// A single address of this link; this backend binds no other prefix length.
std::optional<abi::Address> address_in(nlmsghdr* message, int index, abi::Family family) {
  if (message->nlmsg_type != RTM_NEWADDR || message->nlmsg_len < NLMSG_LENGTH(sizeof(ifaddrmsg))) return std::nullopt;
  const auto* header = static_cast<const ifaddrmsg*>(nlmsg_data(message));
  if (header->ifa_index != static_cast<std::uint32_t>(index) || header->ifa_family != number_of(family))
    return std::nullopt;
  if (header->ifa_prefixlen != size_of(family) * 8) return std::nullopt;
  const nlattr* found = nlmsg_find_attr(message, sizeof(ifaddrmsg), IFA_LOCAL);
  if (found == nullptr) found = nlmsg_find_attr(message, sizeof(ifaddrmsg), IFA_ADDRESS);
  if (found == nullptr || static_cast<std::size_t>(nla_len(found)) < size_of(family)) return std::nullopt;
  abi::Address out{};
  std::memcpy(out.bytes, nla_data(found), size_of(family));
  return out;
}

[[noreturn]] void fail_to_bind(int error, abi::Family family, const abi::Address& address, std::size_t failed,
                               const std::string& reason) {
  const std::string text = sdk::to_string(address, family);
  if (error == ENODEV) {
    throw sdk::Failure(abi::Code::kRetry, text, "cannot bind " + count(failed) + ": the link has gone meanwhile",
                       error);
  }
  if (error == EACCES && family == abi::Family::kIpv6) {
    throw sdk::Failure(
        abi::Code::kKernel, text,
        "cannot bind " + count(failed) + ", " + text + " for one: IPv6 is turned off on this link; set net.ipv6.conf." +
            kLinkName +
            ".disable_ipv6 to 0, and net.ipv6.conf.default.disable_ipv6, for when the link is created again",
        error);
  }
  netlink::fail(
      error, text,
      "cannot bind " + count(failed) + ", " + text + " for one" + (reason.empty() ? "" : " (" + reason + ")"));
}

}  // namespace

NetlinkLinks::NetlinkLinks() : socket_(NETLINK_ROUTE, "the links of this node") {}

NetlinkLinks::NetlinkLinks(netlink::OpenRawSocket open) : socket_(std::move(open), "the links of this node") {}

std::optional<LinkState> NetlinkLinks::find(const std::string& name) {
  auto message = link_message(RTM_GETLINK, 0, 0);
  lib::netlink::must(nla_put_string(message.get(), IFLA_IFNAME, name.c_str()));
  std::optional<LinkState> out;
  const int refused = socket_.request(message, [&](nlmsghdr* answer) {
    if (answer->nlmsg_type != RTM_NEWLINK || answer->nlmsg_len < NLMSG_LENGTH(sizeof(ifinfomsg))) return;
    out = LinkState{static_cast<const ifinfomsg*>(nlmsg_data(answer))->ifi_index, kind_of(answer)};
  });
  if (refused == ENODEV) return std::nullopt;
  if (refused != 0) netlink::fail(refused, name, "cannot query link " + name);
  return out;
}

void NetlinkLinks::create(const std::string& name) {
  auto message = link_message(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, 0);
  lib::netlink::must(nla_put_string(message.get(), IFLA_IFNAME, name.c_str()));
  nlattr* info = lib::netlink::must(nla_nest_start(message.get(), IFLA_LINKINFO));
  lib::netlink::must(nla_put_string(message.get(), IFLA_INFO_KIND, "dummy"));
  nla_nest_end(message.get(), info);
  ++messages_;
  const int refused = socket_.request(message);
  if (refused == 0 || refused == EEXIST) return;
  const std::string what = "cannot make link " + name;
  if (refused == EOPNOTSUPP) {
    throw sdk::Failure(
        abi::Code::kUnsupported, name,
        what +
            ": the kernel has no links of kind dummy; load the module dummy, or install the package of the "
            "kernel that has it",
        refused);
  }
  netlink::fail(refused, name, what);
}

void NetlinkLinks::remove(int index) {
  ++messages_;
  const int refused = socket_.request(link_message(RTM_DELLINK, 0, index));
  if (refused != 0 && refused != ENODEV) {
    netlink::fail(refused, std::to_string(index), "cannot remove link number " + std::to_string(index));
  }
}

std::vector<abi::Address> NetlinkLinks::addresses(int index, abi::Family family) {
  ifaddrmsg header{};
  header.ifa_family = number_of(family);
  // Kernels before 4.20 ignore the index and list all links.
  header.ifa_index = static_cast<std::uint32_t>(index);
  std::vector<abi::Address> out;
  const int refused = socket_.dump(
      lib::netlink::make_message(RTM_GETADDR, 0, header), [&] { out.clear(); },
      [&](nlmsghdr* message) {
        if (const auto address = address_in(message, index, family)) out.push_back(*address);
      });
  if (refused == ENODEV) return {};  // the link is gone, with its addresses
  if (refused != 0) {
    netlink::fail(refused, std::to_string(index), "cannot read the addresses of link number " + std::to_string(index));
  }
  return out;
}

std::vector<int> NetlinkLinks::change(std::uint16_t type, std::uint16_t flags, int index, abi::Family family,
                                      const std::vector<abi::Address>& addresses) {
  messages_ += addresses.size();
  return socket_.batch(addresses.size(),
                       [&](std::size_t i) { return address_message(type, flags, index, family, addresses[i]); });
}

std::vector<RefusedAddress> NetlinkLinks::bind(int index, abi::Family family,
                                               const std::vector<abi::Address>& addresses) {
  const std::vector<int> answers = change(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, index, family, addresses);
  std::vector<RefusedAddress> refused;
  std::size_t failed = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (answers[i] == 0 || answers[i] == EEXIST) continue;
    if (answers[i] == EADDRNOTAVAIL || answers[i] == EINVAL) {
      refused.push_back({addresses[i], "cannot bind " + sdk::to_string(addresses[i], family) + " to " + kLinkName + ": " +
                                           lib::netlink::error_text(answers[i])});
      continue;
    }
    if (failed++ == 0) first = i;
  }
  if (failed != 0) fail_to_bind(answers[first], family, addresses[first], failed, socket_.reason());
  return refused;
}

void NetlinkLinks::unbind(int index, abi::Family family, const std::vector<abi::Address>& addresses) {
  const std::vector<int> answers = change(RTM_DELADDR, 0, index, family, addresses);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const int error = answers[i];
    // A link that is gone has no addresses either.
    if (error == 0 || error == EADDRNOTAVAIL || error == ENODEV) continue;
    const std::string text = sdk::to_string(addresses[i], family);
    netlink::fail(error, text, "cannot take " + text + " off link number " + std::to_string(index));
  }
  if (family == abi::Family::kIpv4) remove_routes(index, addresses);
}

// The routes of set_source(). Removing an address removes only the route that the kernel created; any other route
// would keep the address local, where no program receives its packets.
void NetlinkLinks::remove_routes(int index, const std::vector<abi::Address>& addresses) {
  const std::vector<int> answers = socket_.batch(addresses.size(), [&](std::size_t i) {
    return local_route_message(RTM_DELROUTE, 0, index, addresses[i], nullptr);
  });
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const int error = answers[i];
    if (error == 0) ++messages_;
    if (error == 0 || error == ESRCH || error == ENODEV) continue;
    const std::string text = sdk::to_string(addresses[i], abi::Family::kIpv4);
    netlink::fail(error, text, "cannot remove the local route to " + text);
  }
}

void NetlinkLinks::set_source(int index, const std::vector<abi::Address>& addresses, const abi::Address& source) {
  messages_ += addresses.size();
  const std::vector<int> answers = socket_.batch(addresses.size(), [&](std::size_t i) {
    return local_route_message(RTM_NEWROUTE, NLM_F_REPLACE, index, addresses[i], &source);
  });
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (answers[i] == 0 || answers[i] == ENODEV || answers[i] == ENOENT) continue;
    const std::string text = sdk::to_string(addresses[i], abi::Family::kIpv4);
    netlink::fail(answers[i], text,
                  "cannot make " + sdk::to_string(source, abi::Family::kIpv4) + " the source of what is sent to " + text);
  }
}

void NetlinkLinks::restore_source(int index, const std::vector<abi::Address>& addresses) {
  const std::set<abi::Address> ours(addresses.begin(), addresses.end());
  std::vector<LocalRoute> other;
  rtmsg header{};
  header.rtm_family = AF_INET;
  const int refused = socket_.dump(
      lib::netlink::make_message(RTM_GETROUTE, 0, header), [&] { other.clear(); },
      [&](nlmsghdr* message) {
        const auto route = local_route_in(message, index);
        if (route && route->source != route->address && ours.contains(route->address)) other.push_back(*route);
      });
  if (refused != 0) {
    netlink::fail(refused, std::to_string(index), "cannot read the routes of link number " + std::to_string(index));
  }
  messages_ += other.size();
  const std::vector<int> answers = socket_.batch(other.size(), [&](std::size_t i) {
    return local_route_message(RTM_NEWROUTE, NLM_F_REPLACE, index, other[i].address, &other[i].address);
  });
  for (std::size_t i = 0; i < answers.size(); ++i) {
    int error = answers[i];
    if (error == EEXIST) {  // the original route exists, too: another process has bound the address again
      error = socket_.request(local_route_message(RTM_DELROUTE, 0, index, other[i].address, &other[i].source));
      if (error == ESRCH) error = 0;
    }
    if (error == 0 || error == ENODEV || error == ENOENT) continue;
    const std::string text = sdk::to_string(other[i].address, abi::Family::kIpv4);
    netlink::fail(error, text, "cannot make " + text + " the source of what is sent to it");
  }
}

}  // namespace sluice::ipvs
