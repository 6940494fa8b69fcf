// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Named counters of the kernel (nfacct), which rules count packets with: one name space
// per network namespace, shared by both IP families. They outlive rules and processes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "plugins/common/netlink/message.hpp"
#include "plugins/common/netlink/socket.hpp"

namespace sluice::netfilter {

using netlink::bytes;  // for tests
using netlink::Message;

// The requests as they go to the kernel. Throw std::bad_alloc.
Message ask_for_counter(const std::string& name);
Message make_counter(const std::string& name);

// Keeps its socket; one thread at a time. Belongs to the namespace it was first used in.
class Accounting {
 public:
  Accounting();

  // Makes the counter unless it is there. 0, or the errno that tells why it cannot be:
  // EINVAL and EOPNOTSUPP come from a kernel without nfacct.
  [[nodiscard]] int ensure(const std::string& name);

  // Packets counted; empty when there is no such counter.
  std::optional<std::uint64_t> packets(const std::string& name);

 private:
  // 0 or an errno; what the kernel says of a counter goes into `packets`.
  int talk(const Message& request, std::optional<std::uint64_t>& packets);

  netlink::Socket socket_;
};

}  // namespace sluice::netfilter
