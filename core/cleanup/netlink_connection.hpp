// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Netlink requests to the kernel and their replies. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

struct nl_msg;
struct nl_sock;
struct nlmsghdr;

namespace sluice::cleanup {

struct FreeNetlinkMessage {
  void operator()(nl_msg* message) const noexcept;
};
using NetlinkMessage = std::unique_ptr<nl_msg, FreeNetlinkMessage>;

// These throw std::bad_alloc.
NetlinkMessage netlink_message(int type, int flags, const void* header, std::size_t size);
// `family`: AF_…, or a value that the subsystem defines.
NetlinkMessage netfilter_message(int subsystem, int type, int flags, int family);
void put_u8(NetlinkMessage& message, int attribute, std::uint8_t value);
void put_string(NetlinkMessage& message, int attribute, const std::string& value);

// Whether the error means that the kernel lacks the subsystem.
bool is_unsupported(int error);

class NetlinkConnection {
 public:
  using Take = std::function<void(nlmsghdr&)>;

  // `protocol`: NETLINK_…. If the socket cannot be opened, ask() returns the error.
  explicit NetlinkConnection(int protocol);
  ~NetlinkConnection();
  NetlinkConnection(const NetlinkConnection&) = delete;
  NetlinkConnection& operator=(const NetlinkConnection&) = delete;

  // Sends one request and passes each object of the reply to `take`. Returns 0 or the error of the kernel, usually an
  // errno. Times out after some seconds.
  int ask(const NetlinkMessage& request, const Take& take = {});

  // Sends nf_tables changes as one atomic transaction. Returns 0 or the first error.
  int commit(std::vector<NetlinkMessage> changes);

 private:
  int receive(std::size_t replies, const Take& take);

  struct Close {
    void operator()(nl_sock* socket) const noexcept;
  };
  std::unique_ptr<nl_sock, Close> socket_;
  int error_ = 0;  // of opening
};

}  // namespace sluice::cleanup
