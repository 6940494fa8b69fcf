// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The sockets the proxy listens on, and the ports they have.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plugins/userspace/descriptor.hpp"
#include "plugins/userspace/portal/kept_sockets.hpp"
#include "plugins/userspace/portal/portal_plan.hpp"
#include "plugins/userspace/settings.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::userspace {

struct ProxySockets {
  std::vector<Descriptor> sockets;  // as Engine::serve() wants them
  std::vector<std::string> names;   // by which each is kept; none where nothing is
  std::uint16_t port = 0;
};

// What is done with sockets that are kept.
enum class Takeover {
  kAll,  // they are used
  // Another backend of this process may read the UDP ones: of the two that read from one socket each would get some of
  // what a client sends. They are used only where no other port can be had.
  kBesidePredecessor,
};

// Whether no socket of this node has it, at any address of `family`. False where that cannot be told.
bool is_free_udp_port(abi::Family family, std::uint16_t port) noexcept;

// Opens the sockets of one face. One thread.
class ProxyPortOpener {
 public:
  // `kept` may be null; otherwise it outlives this.
  ProxyPortOpener(abi::Family family, const std::optional<abi::Address>& listen_address, const PortRange& range,
                  unsigned udp_sockets, std::uint64_t seed, KeptSockets* kept = nullptr,
                  Takeover takeover = Takeover::kAll);

  // Of the face `of`: those that are kept are used, and new ones are kept. A new one: `preferred` (0: none) is tried
  // first, if it may be used; then a port of the range, from a random place on (BEH 8.3), or one the kernel chooses.
  // Throws sdk::Failure: kRetry when descriptors, memory or ports have run out (it says which and what to do), kKernel
  // otherwise.
  ProxySockets open(abi::Protocol protocol, std::uint16_t preferred, const FaceName& of = {});

  // A range that was found full is not searched again before this is called: ports may have become free.
  void search_again() noexcept { full_ = {}; }

 private:
  bool may_use(std::uint16_t port) const noexcept;
  std::optional<ProxySockets> take(abi::Protocol protocol, const FaceName& of) const;
  bool fill_group(ProxySockets& opened) const;
  ProxySockets open_new(abi::Protocol protocol, std::uint16_t preferred);
  // Empty when `port` is in use. 0: the kernel chooses.
  std::optional<ProxySockets> try_port(abi::Protocol protocol, std::uint16_t port) const;
  std::optional<Descriptor> bound(int type, std::uint16_t port, bool joins) const;
  std::optional<Descriptor> listener(std::uint16_t port) const;
  ProxySockets search(abi::Protocol protocol);

  abi::Family family_;
  abi::Address address_;
  PortRange range_;
  unsigned udp_sockets_;
  KeptSockets* kept_;
  Takeover takeover_;
  // Of TCP and UDP: where the next search begins, as a distance from the low end; whether the last one found nothing.
  std::array<std::uint32_t, 2> next_;
  std::array<bool, 2> full_{};
};

}  // namespace sluice::userspace
