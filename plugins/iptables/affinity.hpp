// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Clients that session affinity binds to endpoints: which they are, and those of another backend taken over. The kernel
// has them in one list for each endpoint (recent_lists.hpp); here is whose list that is. The apply thread.
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

class AffinityBook {
 public:
  // `lists` outlives this.
  AffinityBook(RecentLists& lists, abi::Family family) : lists_(lists), family_(family) {}

  // Service ports with affinity as they are from now on.
  void note(const abi::Transaction& transaction);
  bool empty() const noexcept { return ports_.empty(); }

  void export_clients(abi::AffinitySink& sink);
  // Keeps copies until bind().
  void keep(const abi::ArrayView& clients);
  // Binds those that are kept, where nobody is bound; of more than a list remembers, those that stay bound longest. To be
  // called when the rules that name the lists are there. Empty, or why some are left out.
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
    std::vector<Endpoint> endpoints;  // in the order of the rules: the first that knows a client has it
  };
  struct Kept {
    abi::Address client{};
    abi::Address endpoint{};
    std::uint16_t endpoint_port = 0;
    std::uint32_t remaining = 0;
  };
  struct LeftOut {
    std::size_t no_room = 0;
    std::size_t failed = 0;
    int error = 0;
  };
  struct Bound {
    abi::Address client{};
    const Endpoint* endpoint;
    std::uint32_t remaining;
  };

  // By client, each once.
  std::vector<Bound> bound(const Port& port);
  void bind(const Port& port, const std::vector<Kept>& clients, std::size_t capacity, LeftOut& left_out);

  RecentLists& lists_;
  abi::Family family_;
  std::map<std::string, Port> ports_;  // by hash_input()
  std::map<std::string, std::vector<Kept>> kept_;  // as ports_
};

}  // namespace sluice::iptables
