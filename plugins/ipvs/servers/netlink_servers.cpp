// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/servers/netlink_servers.hpp"

#include <linux/netlink.h>

#include <cerrno>
#include <utility>

#include "plugins/common/netlink/error.hpp"
#include "plugins/ipvs/servers/ipvs_codec.hpp"

namespace sluice::ipvs {

NetlinkServers::NetlinkServers(abi::Family family)
    : family_(family), socket_(NETLINK_GENERIC, "IPVS"), ipvs_("IPVS", "ip_vs") {}

NetlinkServers::NetlinkServers(abi::Family family, netlink::OpenRawSocket open, std::chrono::milliseconds timeout)
    : family_(family), socket_(std::move(open), "IPVS", timeout), ipvs_("IPVS", "ip_vs") {}

// A module that is reloaded gets another family number. The old one yields ENOENT, as does a missing scheduler, so
// the request is repeated if all commands failed that way.
template <class Body>
int NetlinkServers::with_family(const Body& body) {
  const std::uint16_t id = ipvs_.id(socket_);
  const int error = body(id);
  if (error != ENOENT && error != EOPNOTSUPP) return error;
  ipvs_.forget();
  const std::uint16_t fresh = ipvs_.id(socket_);
  return fresh == id ? error : body(fresh);
}

void NetlinkServers::refused(int error, const char* what) const {
  netlink::fail(error, "IPVS", std::string("cannot ") + what);
}

std::vector<VirtualServerState> NetlinkServers::servers() {
  std::vector<VirtualServerState> list;
  const int error = with_family([&](std::uint16_t id) {
    return socket_.dump(
        ask_for_servers(id), [&] { list.clear(); },
        [&](nlmsghdr* message) {
          if (auto server = decode_server(message, family_)) list.push_back(std::move(*server));
        });
  });
  if (error != 0) refused(error, "read the virtual servers");
  return list;
}

std::vector<RealServerState> NetlinkServers::real_servers(const ServerKey& key) {
  std::vector<RealServerState> list;
  const int error = with_family([&](std::uint16_t id) {
    return socket_.dump(
        ask_for_real_servers(id, key, family_), [&] { list.clear(); },
        [&](nlmsghdr* message) {
          if (const auto state = decode_real_server(message, family_)) list.push_back(*state);
        });
  });
  if (error == ESRCH) return {};
  if (error != 0) refused(error, "read the real servers of a virtual server");
  return list;
}

std::vector<int> NetlinkServers::execute(const std::vector<ServerCommand>& commands) {
  std::vector<int> results;
  if (commands.empty()) return results;
  const auto carry_out = [&](std::uint16_t id) {
    results = socket_.batch(commands.size(), [&](std::size_t i) { return encode(id, commands[i], family_); });
    changes_ += commands.size();
    for (const int result : results) {
      if (result != results.front()) return 0;
    }
    return results.front();
  };
  with_family(carry_out);
  return results;
}

void NetlinkServers::set_timeouts(const IpvsTimeouts& timeouts) {
  ++changes_;
  const int error = with_family([&](std::uint16_t id) { return socket_.request(encode(id, timeouts)); });
  if (error != 0) refused(error, "set the timeouts of connections");
}

IpvsTimeouts NetlinkServers::timeouts() {
  IpvsTimeouts found;
  const int error = with_family([&](std::uint16_t id) {
    return socket_.request(ask_for_timeouts(id), [&](nlmsghdr* message) {
      if (const auto decoded = decode_timeouts(message)) found = *decoded;
    });
  });
  if (error != 0) refused(error, "read the timeouts of connections");
  return found;
}

}  // namespace sluice::ipvs
