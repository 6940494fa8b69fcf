// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The sockets the proxy listens on, and the ports they have.
#pragma once

#include <array>
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

// Opens the sockets of one face. One thread.
class ProxyPortOpener {
 public:
  ProxyPortOpener(abi::Family family, const std::optional<abi::Address>& listen_address, const PortRange& range,
                  unsigned udp_sockets, std::uint64_t seed);

  // `preferred` (0: none) is tried first, if it may be used; then a port of the range, from a random place on
  // (BEH 8.3), or one the kernel chooses. Throws sdk::Failure: kRetry when descriptors, memory or ports have run out
  // (it says which and what to do), kKernel otherwise.
  ProxySockets open(abi::Protocol protocol, std::uint16_t preferred);

  // A range that was found full is not searched again before this is called: ports may have become free.
  void search_again() noexcept { full_ = {}; }

 private:
  bool may_use(std::uint16_t port) const noexcept;
  // Empty when `port` is in use. 0: the kernel chooses.
  std::optional<ProxySockets> try_port(abi::Protocol protocol, std::uint16_t port) const;
  std::optional<Descriptor> bound(int type, std::uint16_t port, bool joins) const;
  std::optional<Descriptor> listener(std::uint16_t port) const;
  ProxySockets search(abi::Protocol protocol);

  abi::Family family_;
  abi::Address address_;
  PortRange range_;
  unsigned udp_sockets_;
  // Of TCP and UDP: where the next search begins, as a distance from the low end; whether the last one found nothing.
  std::array<std::uint32_t, 2> next_;
  std::array<bool, 2> full_{};
};

}  // namespace sluice::userspace
