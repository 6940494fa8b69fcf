// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cleanup/virtual_servers.hpp"

#include <arpa/inet.h>
#include <linux/genetlink.h>
#include <linux/ip_vs.h>
#include <linux/netlink.h>
#include <netinet/in.h>  // first: the kernel headers then omit what it defines
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "core/cleanup/names.hpp"
#include "core/cleanup/netlink_request.hpp"
#include "core/node/addresses.hpp"
#include "lib/protocol.hpp"
#include "names/objects.hpp"

namespace sluice::cleanup {
namespace {

using lib::netlink::make_generic;
using lib::netlink::must;
using lib::netlink::Socket;

// The generic netlink family of IPVS; 0 if the kernel has none. The request loads the module if it exists, so call this
// only if needed.
std::uint16_t ipvs_family(Socket& kernel) {
  std::uint16_t number = 0;
  auto request = make_generic(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 1);
  must(nla_put_string(request.get(), CTRL_ATTR_FAMILY_NAME, IPVS_GENL_NAME));
  (void)ask(kernel, request, [&](nlmsghdr* header) {
    const nlattr* id = nlmsg_find_attr(header, sizeof(genlmsghdr), CTRL_ATTR_FAMILY_ID);
    if (id != nullptr && nla_len(id) >= 2) number = nla_get_u16(id);
  });
  return number;
}

int remove(Socket& kernel, std::uint16_t family, const VirtualServer& server) {
  auto request = make_generic(family, IPVS_CMD_DEL_SERVICE, IPVS_GENL_VERSION);
  const bool v4 = server.address.family() == lib::Family::ipv4;
  nl_msg* message = request.get();
  nlattr* service = must(nla_nest_start(message, IPVS_CMD_ATTR_SERVICE | NLA_F_NESTED));
  must(nla_put_u16(message, IPVS_SVC_ATTR_AF, v4 ? AF_INET : AF_INET6));
  must(nla_put_u16(message, IPVS_SVC_ATTR_PROTOCOL, server.protocol));
  // The attribute always has the size of an IPv6 address.
  must(nla_put(message, IPVS_SVC_ATTR_ADDR, 16, server.address.bytes().data()));
  must(nla_put_u16(message, IPVS_SVC_ATTR_PORT, htons(server.port)));
  nla_nest_end(message, service);
  return ask(kernel, request);
}

const nlattr* nested_attribute(const nlattr* nest, int type, int size) {
  const nlattr* found = lib::netlink::nested_attribute(nest, type);
  return found != nullptr && nla_len(found) >= size ? found : nullptr;
}

}  // namespace

std::string VirtualServer::to_string() const {
  const std::string_view name = lib::upper_protocol_name(protocol);
  return (lib::host_port(address, port) + "/").append(name.empty() ? "?" : name);
}

void IpvsOwnership::listed(std::string_view name, const SetEntry& entry) {
  const names::KnownSet known = names::find_set(name);
  if (known.set == nullptr) return;
  const names::SetRole role = known.set->role;
  const bool ports = role == names::SetRole::kServerPorts;
  if (entry.has_address && entry.protocol != 0 && (ports || role == names::SetRole::kFrontends)) {
    fronts_.insert({entry.address, entry.protocol, entry.port});
  } else if (ports && !entry.has_address) {
    const lib::Family family = known.ipv6 ? lib::Family::ipv6 : lib::Family::ipv4;
    node_ports_.insert({family, known.set->protocol, entry.port});
  } else if (role == names::SetRole::kNodeAddresses && entry.has_address) {
    local(entry.address);
  }
}

bool IpvsOwnership::is_ours(const VirtualServer& server) const {
  if (bound_.contains(server.address) || fronts_.contains(server)) return true;
  return local_.contains(server.address) &&
         node_ports_.contains({server.address.family(), server.protocol, server.port});
}

lib::Result<IpvsOwnership> read_ipvs_ownership() {
  const auto addresses = node::read_interface_addresses();
  if (!addresses) return addresses.status();
  IpvsOwnership out;
  for (const auto& one : *addresses) {
    if (one.interface_name == names::kServiceLink.name)
      out.bound(one.address);
    else
      out.local(one.address);
  }
  read_sets([](std::string_view name) { return makers_of_set(name) != 0; },
            [&](std::string_view name, const SetEntry& entry) { out.listed(name, entry); });
  return out;
}

std::optional<VirtualServer> parse_virtual_server(const nlattr* service) {
  const nlattr* af = nested_attribute(service, IPVS_SVC_ATTR_AF, 2);
  const nlattr* protocol = nested_attribute(service, IPVS_SVC_ATTR_PROTOCOL, 2);
  const nlattr* address = nested_attribute(service, IPVS_SVC_ATTR_ADDR, 4);
  const nlattr* port = nested_attribute(service, IPVS_SVC_ATTR_PORT, 2);
  if (af == nullptr || protocol == nullptr || address == nullptr || port == nullptr) return std::nullopt;
  const bool v4 = nla_get_u16(af) == AF_INET;
  if (!v4 && nla_len(address) < 16) return std::nullopt;
  return VirtualServer{lib::IpAddress::from_bytes(v4 ? lib::Family::ipv4 : lib::Family::ipv6, nla_data(address)),
                       static_cast<std::uint8_t>(nla_get_u16(protocol)), ntohs(nla_get_u16(port))};
}

void remove_virtual_servers(Removal& into) {
  const auto ownership = read_ipvs_ownership();
  if (!ownership) {
    into.failures.push_back("cannot determine which IPVS virtual servers kube-proxy made: " +
                            ownership.status().message());
    return;
  }
  if (ownership->empty()) return;
  Socket kernel(NETLINK_GENERIC, "IPVS");
  const std::uint16_t family = ipvs_family(kernel);
  if (family == 0) return;
  std::vector<VirtualServer> ours;
  const int failed =
      ask(kernel, make_generic(family, IPVS_CMD_GET_SERVICE, IPVS_GENL_VERSION, NLM_F_DUMP), [&](nlmsghdr* header) {
        const nlattr* service = nlmsg_find_attr(header, sizeof(genlmsghdr), IPVS_CMD_ATTR_SERVICE);
        if (service == nullptr) return;
        const auto server = parse_virtual_server(service);
        if (server && ownership->is_ours(*server)) ours.push_back(*server);
      });
  if (failed != 0) {
    into.failures.push_back(std::string("cannot list the virtual servers of IPVS: ") + std::strerror(failed));
    return;
  }
  for (const VirtualServer& server : ours) {
    const int refused = remove(kernel, family, server);
    if (refused == ESRCH) continue;  // another process removed it first
    if (refused != 0) {
      into.failures.push_back("cannot remove the virtual server " + server.to_string() +
                              " of IPVS: " + std::strerror(refused));
      continue;
    }
    ++into.servers;
    into.modes |= names::kVirtualServers.modes;
  }
}

}  // namespace sluice::cleanup
