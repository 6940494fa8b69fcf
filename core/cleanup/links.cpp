// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cleanup/links.hpp"

#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "core/cleanup/netlink_request.hpp"
#include "names/objects.hpp"

namespace sluice::cleanup {
namespace {

using lib::netlink::make_message;
using lib::netlink::Socket;

int remove(Socket& kernel, unsigned index) {
  ifinfomsg header{};
  header.ifi_family = AF_UNSPEC;
  header.ifi_index = static_cast<int>(index);
  return ask(kernel, make_message(RTM_DELLINK, 0, header));
}

}  // namespace

void remove_links(const Selection& selection, Removal& into) {
  for (const std::string& name : selection.links()) {
    const unsigned index = if_nametoindex(name.c_str());
    if (index == 0) continue;
    Socket kernel(NETLINK_ROUTE, "the links of this node");
    const int refused = remove(kernel, index);
    if (refused == ENODEV) continue;  // another process removed it first
    if (refused != 0) {
      into.failures.push_back("cannot remove link " + name + ": " + std::strerror(refused) +
                              (refused == EPERM ? "; the capability CAP_NET_ADMIN is needed" : ""));
      continue;
    }
    into.links.push_back(name);
    if (name == names::kServiceLink.name) into.modes |= names::kServiceLink.modes;
  }
}

}  // namespace sluice::cleanup
