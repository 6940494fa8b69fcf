// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Requests to the kernel by netlink, and their answers. One thread.
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

// Throw std::bad_alloc when memory is out.
NetlinkMessage netlink_message(int type, int flags, const void* header, std::size_t size);
// For the protocols of netfilter: `family` is AF_…, or what the subsystem makes of it.
NetlinkMessage netfilter_message(int subsystem, int type, int flags, int family);
void put_u8(NetlinkMessage& message, int attribute, std::uint8_t value);
void put_string(NetlinkMessage& message, int attribute, const std::string& value);

// Whether the kernel answered that it lacks the subsystem.
bool is_unsupported(int error);

class NetlinkTalk {
 public:
  using Take = std::function<void(nlmsghdr&)>;

  // A socket of NETLINK_…; ask() fails when there is none.
  explicit NetlinkTalk(int protocol);
  ~NetlinkTalk();
  NetlinkTalk(const NetlinkTalk&) = delete;
  NetlinkTalk& operator=(const NetlinkTalk&) = delete;

  // Sends one request and hands over each object it answers with. Returns 0 or the error
  // the kernel gives, usually an errno. Waits some seconds at most.
  int ask(const NetlinkMessage& request, const Take& take = {});

  // Sends `changes` of nf_tables as one transaction: all of them or none. 0, or the first error.
  int commit(std::vector<NetlinkMessage> changes);

 private:
  int receive(std::size_t answers, const Take& take);

  struct Close {
    void operator()(nl_sock* socket) const noexcept;
  };
  std::unique_ptr<nl_sock, Close> socket_;
  int error_ = 0;  // of opening
};

}  // namespace sluice::cleanup
