// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Opens the listening sockets of the proxy.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/fd.hpp"
#include "plugins/userspace/portal/kept_sockets.hpp"
#include "plugins/userspace/portal/portal_plan.hpp"
#include "plugins/userspace/settings.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::userspace {

struct ProxySockets {
  std::vector<lib::Fd> sockets;     // for Engine::serve()
  std::vector<std::string> names;   // under which each is kept; empty if sockets are not kept
  std::uint16_t port = 0;
};

// How kept sockets are used.
enum class Takeover {
  kAll,  // always
  // Another backend of this process may read the UDP sockets, and each reader would get a part of a client's datagrams.
  // Use them only if no other port is available.
  kBesideOldBackend,
};

// Whether no socket of this node has the port at any address of `family`. False if that cannot be determined.
bool is_free_udp_port(abi::Family family, std::uint16_t port) noexcept;

// Single-threaded.
class ProxyPortOpener {
 public:
  // `kept` may be null; otherwise it outlives this object.
  ProxyPortOpener(abi::Family family, const std::optional<abi::Address>& listen_address, const PortRange& range,
                  unsigned udp_sockets, std::uint64_t seed, KeptSockets* kept = nullptr,
                  Takeover takeover = Takeover::kAll);

  // Opens the sockets of `listener`: uses kept sockets, otherwise opens and keeps new ones. For new ones it tries
  // `preferred` first (0: none), then ports of the range from a random one on (BEH 8.3), or lets the kernel choose.
  // Throws sdk::Failure: kRetry if descriptors, memory or ports have run out, kKernel otherwise.
  ProxySockets open(abi::Protocol protocol, std::uint16_t preferred, const ListenerName& listener = {});

  // Allows another search of a range that was full: ports may have become free.
  void search_again() noexcept { full_ = {}; }

 private:
  bool may_use(std::uint16_t port) const noexcept;
  std::optional<ProxySockets> take(abi::Protocol protocol, const ListenerName& listener) const;
  bool fill_group(ProxySockets& opened) const;
  ProxySockets open_new(abi::Protocol protocol, std::uint16_t preferred);
  // Empty if `port` is in use. 0: the kernel chooses.
  std::optional<ProxySockets> try_port(abi::Protocol protocol, std::uint16_t port) const;
  std::optional<lib::Fd> bound(int type, std::uint16_t port, bool joins) const;
  std::optional<lib::Fd> listening_socket(std::uint16_t port) const;
  ProxySockets search(abi::Protocol protocol);

  abi::Family family_;
  abi::Address address_;
  PortRange range_;
  unsigned udp_sockets_;
  KeptSockets* kept_;
  Takeover takeover_;
  // For TCP and UDP: where the next search begins, as an offset into the range; whether the range is full.
  std::array<std::uint32_t, 2> next_;
  std::array<bool, 2> full_{};
};

}  // namespace sluice::userspace
