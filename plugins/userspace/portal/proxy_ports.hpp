// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The sockets the proxy listens on, and the ports they have.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plugins/userspace/descriptor.hpp"
#include "plugins/userspace/settings.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::userspace {

struct ProxySockets {
  std::vector<Descriptor> sockets;  // as Engine::serve() wants them
  std::uint16_t port = 0;
};

// Opens the sockets of one face. `preferred` (0: none) is tried first; then a port of the range, from a random place
// on (BEH 8.3), or one the kernel chooses. Throws sdk::Failure: kRetry when descriptors, memory or ports have run out
// (it says which and what to do), kKernel otherwise.
class ProxyPortOpener {
 public:
  ProxyPortOpener(abi::Family family, const std::optional<abi::Address>& listen_address, const PortRange& range,
                  unsigned udp_sockets, std::uint64_t seed);
  ProxySockets open(abi::Protocol protocol, std::uint16_t preferred);

 private:
  abi::Family family_;
  abi::Address address_;
  PortRange range_;
  unsigned udp_sockets_;
  std::uint64_t random_;
};

}  // namespace sluice::userspace
