// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/portal/kept_sockets.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "lib/text.hpp"
#include "plugins/common/log_ids.hpp"
#include "plugins/common/netfilter/base32_hash.hpp"
#include "plugins/userspace/socket_address.hpp"
#include "sluice/sdk/address.hpp"
#include "sluice/sdk/error.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::userspace {
namespace {

constexpr std::size_t kLongestName = 200;

// -1: getsockopt() failed.
int option(int fd, int name) {
  int value = 0;
  socklen_t size = sizeof(value);
  return getsockopt(fd, SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
}

// '_' separates the words of a name, so it is not allowed in a word.
bool is_plain(std::string_view word) {
  return std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  });
}

bool is_one(int a, int b) {
  struct stat left {};
  struct stat right {};
  return fstat(a, &left) == 0 && fstat(b, &right) == 0 && left.st_dev == right.st_dev && left.st_ino == right.st_ino;
}

class Names final : public abi::StringSink {
 public:
  void add(abi::StringView text) noexcept override {
    try {
      all.emplace_back(sdk::text(text));
    } catch (const std::bad_alloc&) {
      // A later call drops it.
    }
  }
  std::vector<std::string> all;
};

}  // namespace

std::string unfit_reason(int fd, const SocketNeeds& needs) {
  const bool udp = needs.protocol == abi::Protocol::kUdp;
  const int domain = option(fd, SO_DOMAIN);
  if (domain < 0) return "not a socket";
  if (domain != sdk::socket_family(needs.family)) return "it is of another address family";
  if (option(fd, SO_TYPE) != (udp ? SOCK_DGRAM : SOCK_STREAM) ||
      option(fd, SO_PROTOCOL) != (udp ? IPPROTO_UDP : IPPROTO_TCP)) {
    return "it is of another protocol";
  }
  SocketAddress bound;
  socklen_t size = SocketAddress::capacity();
  if (getsockname(fd, bound.get(), &size) != 0 || bound.port() == 0) return "it has no port";
  if (needs.port != 0 && bound.port() != needs.port) return "it has port " + std::to_string(bound.port());
  if (needs.address && bound.address() != *needs.address) {
    return "it is bound to " + sdk::host_port(bound.address(), needs.family, bound.port());
  }
  SocketAddress peer;
  size = SocketAddress::capacity();
  if (getpeername(fd, peer.get(), &size) == 0) return "it is connected";
  if (!udp && (option(fd, SO_ACCEPTCONN) == 1) != needs.listens) {
    return needs.listens ? "it does not listen" : "it listens";
  }
  return {};
}

lib::Fd KeptSockets::take(const std::string& name, const SocketNeeds& needs) {
  if (store_ == nullptr) return {};
  lib::Fd socket(store_->take(sdk::view(name)));
  if (!socket) return {};
  std::string why = unfit_reason(socket.get(), needs);
  const int flags = fcntl(socket.get(), F_GETFL);
  if (why.empty() && (flags < 0 || fcntl(socket.get(), F_SETFL, flags | O_NONBLOCK) != 0)) {
    why = std::string("it cannot be used: ") + std::strerror(errno);
  }
  if (why.empty()) return socket;
  if (unfit_reported_.insert(name).second)
    log_.warning(log_id::kKeptSocketIgnored, "kept socket ignored: " + name + ": " + why);
  socket.reset();
  drop(name);
  return {};
}

void KeptSockets::keep(const std::string& name, int socket) {
  if (store_ == nullptr) return;
  // Saves a message to the service manager if the socket is kept already.
  if (holds(name, socket)) return;
  abi::Error error = sdk::empty_error();
  if (store_->keep(sdk::view(name), socket, &error) == abi::Code::kOk || std::exchange(keep_failure_reported_, true))
    return;
  log_.warning(log_id::kSocketsNotKept, "sockets are not kept for the next process: " + name + ": " + error.message);
}

void KeptSockets::drop(const std::string& name) {
  if (store_ != nullptr) store_->drop(sdk::view(name));
}

bool KeptSockets::holds(const std::string& name, int socket) const {
  if (store_ == nullptr) return false;
  const lib::Fd kept(store_->take(sdk::view(name)));
  return kept && is_one(kept.get(), socket);
}

void KeptSockets::drop(const std::string& name, int socket) {
  if (holds(name, socket)) store_->drop(sdk::view(name));
}

void KeptSockets::drop_all_except(const std::set<std::string>& wanted) {
  if (store_ == nullptr) return;
  for (const std::string& name : names()) {
    if (!wanted.contains(name)) drop(name);
  }
}

std::vector<std::string> KeptSockets::names() const {
  Names names;
  if (store_ != nullptr) store_->names(&names);
  return std::move(names.all);
}

std::string kept_name(abi::Protocol protocol, bool local, std::string_view service_port, std::size_t number) {
  std::string name(protocol == abi::Protocol::kUdp ? "udp" + std::to_string(number) : "tcp");
  name.append(local ? "_local_" : "_cluster_");
  std::string words(service_port);
  const bool plain = std::all_of(words.begin(), words.end(), [](char c) {
    return c == '/' || c == ':' || is_plain({&c, 1});
  });
  if (plain && name.size() + words.size() <= kLongestName) {
    std::replace_if(
        words.begin(), words.end(), [](char c) { return c == '/' || c == ':'; }, '_');
    return name + words;
  }
  // 160 bits. The extra '_' keeps hashes apart from plain names.
  const netfilter::ShortHash first = netfilter::base32_hash("1" + words);
  const netfilter::ShortHash second = netfilter::base32_hash("2" + words);
  return name.append("_").append(first.data(), first.size()).append(second.data(), second.size());
}

std::string kept_claim_name(abi::Protocol protocol, std::uint16_t port, const abi::Address& address) {
  std::string name = (protocol == abi::Protocol::kUdp ? "claim_udp_" : "claim_tcp_") + std::to_string(port) + "_";
  for (const std::uint8_t byte : address.bytes) name += lib::hex_byte(byte);
  return name;
}

}  // namespace sluice::userspace
