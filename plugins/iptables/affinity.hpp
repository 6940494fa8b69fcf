// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Exports the clients that session affinity binds to endpoints, and imports those of another backend. The kernel stores
// them in one list per endpoint (recent_lists.hpp); this class maps service ports to lists. The apply thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "plugins/common/netfilter/base32_hash.hpp"
#include "plugins/iptables/recent_lists.hpp"
#include "sluice/abi/affinity.hpp"
#include "sluice/abi/transaction.hpp"

namespace sluice::iptables {

class AffinityClients {
 public:
  // `lists` outlives this.
  AffinityClients(RecentLists& lists, abi::Family family) : lists_(lists), family_(family) {}

  // Records the service ports with affinity.
  void note(const abi::Transaction& transaction);
  bool empty() const noexcept { return ports_.empty(); }

  void export_clients(abi::AffinitySink& sink);
  // Stores copies until bind().
  void keep(const abi::ArrayView& clients);
  // Adds the stored clients that are not bound yet to the lists; if a list has too little room, those with the longest
  // remaining time. Must be called after the rules that name the lists are written. Returns empty, or why some clients
  // were not imported.
  std::string bind();

 private:
  struct Endpoint {
    abi::Address address{};
    std::uint16_t port = 0;
    netfilter::ShortHash hash{};
  };
  struct Port {
    std::string name_space;
    std::string service;
    std::string name;
    abi::Protocol protocol{};
    std::uint32_t seconds = 0;
    std::vector<Endpoint> endpoints;  // in the order of the rules: the first one whose list has a client gets it
  };
  struct Kept {
    abi::Address client{};
    abi::Address endpoint{};
    std::uint16_t endpoint_port = 0;
    std::uint32_t remaining = 0;
  };
  struct NotImported {
    std::size_t no_room = 0;
    std::size_t failed = 0;
    int error = 0;
  };
  struct Bound {
    abi::Address client{};
    const Endpoint* endpoint;
    std::uint32_t remaining;
  };

  // Sorted by client, each client once.
  std::vector<Bound> bound(const Port& port);
  void bind(const Port& port, const std::vector<Kept>& clients, std::size_t capacity, NotImported& not_imported);

  RecentLists& lists_;
  abi::Family family_;
  std::map<std::string, Port> ports_;  // by hash_input()
  std::map<std::string, std::vector<Kept>> kept_;  // same keys as ports_
};

}  // namespace sluice::iptables
