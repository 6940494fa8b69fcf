// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/portal/node_port_claims.hpp"

#include <linux/filter.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "plugins/common/sockets/port_holder.hpp"
#include "plugins/userspace/socket_address.hpp"
#include "sluice/sdk/address.hpp"

namespace sluice::userspace {
namespace {

const char* protocol_text(abi::Protocol protocol) { return protocol == abi::Protocol::kUdp ? "UDP" : "TCP"; }

bool set(int fd, int level, int option) {
  const int on = 1;
  return setsockopt(fd, level, option, &on, sizeof(on)) == 0;
}

// What no rule led away would otherwise wait in the socket for ever.
bool drop_everything(int fd) {
  sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
  const sock_fprog program{1, &nothing};
  return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) == 0;
}

}  // namespace

bool ClaimedAddress::operator==(const ClaimedAddress& other) const noexcept {
  return port == other.port && protocol == other.protocol && address == other.address;
}

// All claims to one port stand together, that to every address first.
bool ClaimedAddress::operator<(const ClaimedAddress& other) const noexcept {
  if (protocol != other.protocol) return protocol < other.protocol;
  if (port != other.port) return port < other.port;
  return address < other.address;
}

std::string NodePortClaims::claim(const ClaimedAddress& what, const std::string& owner) {
  if (const auto held = held_.find(what); held != held_.end()) {
    if (held->second.owner == owner) return {};
    return describe(what) + " belongs to Service port " + held->second.owner + "; give one of them another port";
  }
  Descriptor socket;
  const int error = is_covered(what) ? 0 : hold_alone(what, socket);
  if (error == EADDRINUSE) {
    std::string who = "a program of this node";
    if (looks_ > 0) {
      --looks_;
      who = sockets::find_port_holder(family_, what.protocol, what.address, what.port);
    }
    return describe(what) + " is in use by " + who + "; stop it, or give the Service another port";
  }
  if (error != 0) return describe(what) + " cannot be held: " + std::strerror(error);
  held_.emplace(what, Held{owner, std::move(socket)});
  return {};
}

// A node port of every address and an external IP with the same port are no conflict, whoever they belong to: the
// rules ask for the address first (BEH case 71). One socket holds the port for both.
bool NodePortClaims::is_covered(const ClaimedAddress& what) const {
  return !sdk::is_unspecified(what.address) && held_.contains({abi::Address{}, what.port, what.protocol});
}

int NodePortClaims::hold_alone(const ClaimedAddress& what, Descriptor& socket) {
  if (!sdk::is_unspecified(what.address)) return hold(what, socket);
  // Our own sockets at single addresses are in the way of the one that holds them all.
  each_at(what, [](const ClaimedAddress&, Held& held) { held.socket.close(); });
  const int error = hold(what, socket);
  if (error != 0) hold_each_at(what);
  return error;
}

template <class Visit>
void NodePortClaims::each_at(const ClaimedAddress& what, const Visit& visit) {
  for (auto at = held_.lower_bound({abi::Address{}, what.port, what.protocol});
       at != held_.end() && at->first.port == what.port && at->first.protocol == what.protocol; ++at) {
    visit(at->first, at->second);
  }
}

// Those that were covered are to be held by themselves now. Should somebody be quicker, the Service keeps its address
// all the same: it was there first.
void NodePortClaims::hold_each_at(const ClaimedAddress& what) {
  each_at(what, [this](const ClaimedAddress& other, Held& held) {
    Descriptor socket;
    if (!held.socket && hold(other, socket) == 0) held.socket = std::move(socket);
  });
}

void NodePortClaims::release(const ClaimedAddress& what, const std::string& owner) {
  held_.erase(find(what, owner));
  if (sdk::is_unspecified(what.address)) hold_each_at(what);
}

void NodePortClaims::hand_over(const ClaimedAddress& what, const std::string& from, const std::string& to) {
  find(what, from)->second.owner = to;
}

const std::string* NodePortClaims::holder(const ClaimedAddress& what) const {
  const auto held = held_.find(what);
  return held == held_.end() ? nullptr : &held->second.owner;
}

NodePortClaims::Map::iterator NodePortClaims::find(const ClaimedAddress& what, const std::string& owner) {
  const auto held = held_.find(what);
  if (held == held_.end() || held->second.owner != owner) {
    throw std::logic_error(describe(what) + " is not held by " + owner);
  }
  return held;
}

int NodePortClaims::hold(const ClaimedAddress& what, Descriptor& socket) const {
  const bool udp = what.protocol == abi::Protocol::kUdp;
  const int type = (udp ? SOCK_DGRAM : SOCK_STREAM) | SOCK_NONBLOCK | SOCK_CLOEXEC;
  Descriptor made(::socket(sdk::socket_family(family_), type, 0));
  if (!made) return errno;
  if (family_ == abi::Family::kIpv6) {
    // An address may be tentative, or have gone a moment ago.
    if (!set(made.get(), IPPROTO_IPV6, IPV6_V6ONLY) || !set(made.get(), IPPROTO_IPV6, IPV6_FREEBIND)) return errno;
  } else if (!set(made.get(), IPPROTO_IP, IP_FREEBIND)) {
    return errno;
  }
  if (udp && !drop_everything(made.get())) return errno;
  // Without SO_REUSEADDR, or it would not notice a program that has set it.
  const SocketAddress address(family_, what.address, what.port);
  if (bind(made.get(), address.get(), address.size()) != 0) return errno;
  socket = std::move(made);
  return 0;
}

std::string NodePortClaims::describe(const ClaimedAddress& what) const {
  const std::string protocol = protocol_text(what.protocol);
  if (sdk::is_unspecified(what.address)) return "node port " + std::to_string(what.port) + "/" + protocol;
  return "local address " + sdk::host_port(what.address, family_, what.port) + "/" + protocol;
}

}  // namespace sluice::userspace
