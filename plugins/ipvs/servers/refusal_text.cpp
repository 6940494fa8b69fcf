// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/servers/refusal_text.hpp"

#include <cerrno>

#include "lib/netlink/error.hpp"

namespace sluice::ipvs {
namespace {

bool of_server(ServerCommandKind kind) {
  return kind == ServerCommandKind::kAddServer || kind == ServerCommandKind::kEditServer ||
         kind == ServerCommandKind::kDeleteServer;
}

const char* action(ServerCommandKind kind) {
  switch (kind) {
    case ServerCommandKind::kAddServer:
    case ServerCommandKind::kAddReal:
      return "add";
    case ServerCommandKind::kEditServer:
    case ServerCommandKind::kEditReal:
      return "change";
    default:
      return "remove";
  }
}

std::string remedy(const ServerCommand& command, int error) {
  switch (error) {
    case ENOENT:
      if (!of_server(command.kind)) break;
      return "this kernel has no scheduler '" + command.server.scheduler + "': load the module ip_vs_" +
             command.server.scheduler + " (modprobe ip_vs_" + command.server.scheduler + ") or set another scheduler";
    case EAFNOSUPPORT:
      return "this kernel's IPVS does not know the address family: enable IPv6 (no ipv6.disable=1, CONFIG_IP_VS_IPV6)";
    case EPROTONOSUPPORT:
      return "this kernel's IPVS does not know the protocol";
    case EINVAL:
      if (!of_server(command.kind)) return "IPVS takes unicast addresses only, in IPv6 none of one link";
      return "the kernel does not take these settings with scheduler '" + command.server.scheduler + "'";
    case EEXIST:
    case ESRCH:
      return "another program changes this virtual server at the same time: find it and stop it";
    default:
      break;
  }
  return "see the kernel's log (dmesg)";
}

}  // namespace

std::string refusal_text(const ServerCommand& command, int error, abi::Family family) {
  std::string text = std::string("cannot ") + action(command.kind) + " ";
  if (!of_server(command.kind)) text += "real server " + to_string(command.real, family) + " of ";
  return text + "virtual server " + to_string(command.server.key, family) + ": " + lib::netlink::error_text(error) + "; " +
         remedy(command, error);
}

}  // namespace sluice::ipvs
