// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The generation number of nf_tables in this network namespace. It grows by one with every
// committed transaction of any process, so equal numbers mean that nothing changed.
#pragma once

#include <cstdint>
#include <optional>

#include "plugins/common/netlink/socket.hpp"

namespace sluice::netfilter {

// Keeps its socket; one thread at a time. Belongs to the namespace it was first used in.
class GenerationReader {
 public:
  GenerationReader();

  // Empty if the kernel does not report it (no nf_tables, no privilege).
  std::optional<std::uint32_t> read();

 private:
  netlink::Socket socket_;
};

}  // namespace sluice::netfilter
