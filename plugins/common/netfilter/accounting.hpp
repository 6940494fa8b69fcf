// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Named packet counters of the kernel (nfacct) that rules refer to. Names are unique per
// network namespace, shared by both IP families. Counters outlive rules and processes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lib/netlink/message.hpp"
#include "plugins/common/netlink/socket.hpp"

namespace sluice::netfilter {

using lib::netlink::bytes_of;  // for tests
using lib::netlink::Message;

// The netlink requests. Throw std::bad_alloc.
Message ask_for_counter(const std::string& name);
Message make_counter(const std::string& name);

// Keeps its socket; one thread at a time. Belongs to the namespace it was first used in.
class Accounting {
 public:
  Accounting();

  // Creates the counter unless it exists. Returns 0 or an errno; EINVAL and EOPNOTSUPP mean
  // a kernel without nfacct.
  [[nodiscard]] int ensure(const std::string& name);

  // Packets counted; empty if there is no such counter.
  std::optional<std::uint64_t> packets(const std::string& name);

 private:
  // Returns 0 or an errno. Sets `packets` if the kernel answers with a counter.
  int exchange(const Message& request, std::optional<std::uint64_t>& packets);

  netlink::Socket socket_;
};

}  // namespace sluice::netfilter
