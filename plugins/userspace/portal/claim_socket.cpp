// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/portal/claim_socket.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <utility>

#include "plugins/userspace/portal/kept_sockets.hpp"
#include "plugins/userspace/socket_address.hpp"
#include "sluice/sdk/address.hpp"

namespace sluice::userspace {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const noexcept { closedir(folder); }
};

bool set(int fd, int level, int option) {
  const int on = 1;
  return setsockopt(fd, level, option, &on, sizeof(on)) == 0;
}

constexpr sock_filter kDropEverything = BPF_STMT(BPF_RET | BPF_K, 0);

// What no rule led away would otherwise wait in a UDP socket for ever. It is the mark of a claim, too: a socket that is
// to receive anything has no such filter.
bool mark(int fd) {
  sock_filter nothing = kDropEverything;
  const sock_fprog program{1, &nothing};
  return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) == 0;
}

bool is_marked(int fd) {
  sock_filter found{};
  socklen_t instructions = 1;
  return getsockopt(fd, SOL_SOCKET, SO_GET_FILTER, &found, &instructions) == 0 && instructions == 1 &&
         found.code == kDropEverything.code && found.k == kDropEverything.k;
}

std::optional<ClaimedAddress> bound(int fd) {
  SocketAddress address;
  socklen_t size = SocketAddress::capacity();
  int type = 0;
  socklen_t type_size = sizeof(type);
  if (getsockname(fd, address.get(), &size) != 0) return std::nullopt;
  if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_size) != 0) return std::nullopt;
  return ClaimedAddress{address.address(), address.port(),
                        type == SOCK_DGRAM ? abi::Protocol::kUdp : abi::Protocol::kTcp};
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

int open_claim_socket(abi::Family family, const ClaimedAddress& what, Descriptor& socket) {
  const int type = (what.protocol == abi::Protocol::kUdp ? SOCK_DGRAM : SOCK_STREAM) | SOCK_NONBLOCK | SOCK_CLOEXEC;
  Descriptor made(::socket(sdk::socket_family(family), type, 0));
  if (!made) return errno;
  if (family == abi::Family::kIpv6) {
    // An address may be tentative, or have gone a moment ago.
    if (!set(made.get(), IPPROTO_IPV6, IPV6_V6ONLY) || !set(made.get(), IPPROTO_IPV6, IPV6_FREEBIND)) return errno;
  } else if (!set(made.get(), IPPROTO_IP, IP_FREEBIND)) {
    return errno;
  }
  if (!mark(made.get())) return errno;
  // Without SO_REUSEADDR, or it would not notice a program that has set it.
  const SocketAddress address(family, what.address, what.port);
  if (bind(made.get(), address.get(), address.size()) != 0) return errno;
  socket = std::move(made);
  return 0;
}

ClaimedAddress claimed_by(const Descriptor& socket) { return bound(socket.get()).value_or(ClaimedAddress{}); }

Descriptor ProcessClaims::find(const ClaimedAddress& what) {
  if (!seen_) look();
  const ClaimedAddress first{{}, what.port, what.protocol};
  for (auto at = std::lower_bound(seen_->begin(), seen_->end(), first,
                                  [](const Seen& seen, const ClaimedAddress& wanted) { return seen.what < wanted; });
       at != seen_->end() && at->what.port == what.port && at->what.protocol == what.protocol; ++at) {
    const bool overlap =
        sdk::is_unspecified(what.address) || sdk::is_unspecified(at->what.address) || at->what.address == what.address;
    // Its owner may close it at any time, and the number may be given to something else.
    if (!overlap || !is(at->descriptor, at->what)) continue;
    Descriptor duplicate(fcntl(at->descriptor, F_DUPFD_CLOEXEC, 0));
    if (duplicate && is(duplicate.get(), at->what)) return duplicate;
  }
  return {};
}

bool ProcessClaims::is(int descriptor, const ClaimedAddress& what) const {
  return unfit(descriptor, {family_, what.protocol, what.address, what.port, false}).empty() && is_marked(descriptor);
}

void ProcessClaims::look() {
  seen_.emplace();
  const std::unique_ptr<DIR, CloseFolder> folder(opendir("/proc/self/fd"));
  if (folder == nullptr) return;
  while (const dirent* entry = readdir(folder.get())) {
    char* end = nullptr;
    const long number = std::strtol(entry->d_name, &end, 10);
    if (end == entry->d_name || *end != '\0') continue;
    const int descriptor = static_cast<int>(number);
    if (!is_marked(descriptor)) continue;
    const std::optional<ClaimedAddress> what = bound(descriptor);
    if (what && is(descriptor, *what)) seen_->push_back({*what, descriptor});
  }
  std::sort(seen_->begin(), seen_->end(), [](const Seen& one, const Seen& other) { return one.what < other.what; });
}

}  // namespace sluice::userspace
