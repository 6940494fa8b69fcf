// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// All service ports together as elements of sets, and what changes when one of them does. Knows numbers the kernel remembers for
// us (slots, class numbers, affinity ids), and takes them from there again after a restart. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/nftables/kernel/batch.hpp"
#include "plugins/nftables/kernel/listing.hpp"
#include "plugins/nftables/layout/layout.hpp"
#include "plugins/nftables/model/affinity.hpp"
#include "plugins/nftables/model/plan.hpp"

namespace sluice::nftables {

// Of a service port: printed name and protocol.
using PortId = std::pair<std::string, abi::Protocol>;

// A chain that Services share, and its number in service-chains or firewall-chains.
struct SharedChain {
  bool firewall = false;
  std::uint32_t number = 0;
  Treatment treatment;                // unless firewall
  std::vector<abi::Prefix> allowed;   // of firewalls
  std::string name;
  std::size_t users = 0;              // frontends, and chains that go to it; 0: may be removed
};

// What is to be written, in the size of what changed.
struct Changes {
  std::vector<SharedChain> chains;      // not yet in the kernel; in an order in which each refers to earlier ones only
  std::vector<ElementWrite> elements;   // removals before additions of the same key; owners as in `owners`
  std::vector<std::string> owners{std::string()};
  bool empty() const noexcept { return chains.empty() && elements.empty(); }
};

class Model {
 public:
  struct Options {
    abi::Family family = abi::Family::kIpv4;
    bool counters = false;
    std::uint32_t affinity_ids = kMaxAffinityNumber;  // fewer for tests
    // Ids begin after this one. Clients are remembered with ids of Services that are gone, also through a restart, and nobody
    // knows which: by chance, it is one that was not used lately.
    std::uint32_t last_affinity_id = 0;
  };
  // A frontend that somebody wants and another one has.
  struct Conflict {
    FrontendKey key;
    std::string owner;  // printed name of who has it
    std::string loser;  // of who does not: that frontend of it is not served
  };
  // What service ports do not get.
  struct Unserved {
    std::vector<Conflict> conflicts;   // by loser
    std::vector<PortId> without_ids;   // not served at all, as there are no numbers left for affinity; sorted
  };

  explicit Model(Options options);
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // Forgets everything. Numbers that `seen` has are used again where they still fit; null: there is no table.
  // Until the next take_changes() changes are not collected, as there may be many: all of it is walked instead. `seen`, sorted,
  // is borrowed until then. A chain of `seen` that has its number there counts as written, whatever its rules; chains of it that
  // nobody asks for are not in chains().
  void start_over(const Listing* seen);

  // Replaces what `id` wanted. Of several that want a frontend one has it: whoever had it first keeps it until it goes, the next
  // in the order of names gets it then. While `seen` is borrowed whoever comes later may take it back: comments in it tell who
  // had it before. Without a number for affinity `id` stays as it was until settle().
  // Throws sdk::Failure when it has more than 65,535 endpoints.
  void put(const PortId& id, ServicePlan plan);
  void remove(const PortId& id);
  // When everything that changes at once has been put and removed: what those that were put since the last call do not get in the
  // end. What others gave up meanwhile is theirs.
  Unserved settle();
  // Somebody who was put got no number for affinity, and there are some now.
  bool has_ids_again() const;
  // Those that got a frontend since the last call, because somebody else went. Sorted, each once.
  std::vector<PortId> take_gained();

  // Since the last call, or since start_over(): then only chains, as elements are walked.
  Changes take_changes();

  // Elements of one service port, those it shares with others included; removals none.
  using Sink = std::function<void(const Record& record, std::string_view comment)>;
  void walk(const PortId& id, const Sink& sink) const;
  std::vector<PortId> ids() const;           // sorted
  std::size_t size() const noexcept;         // service ports
  std::size_t elements() const noexcept;     // of all, shared ones once
  // Printed name of who has that frontend. Valid until the next call that changes something.
  std::optional<std::string_view> owner(const FrontendKey& frontend) const;

  // All shared chains with users, and those without that are still in the kernel; each after those it goes to. Valid until
  // the next call that changes something.
  const std::vector<SharedChain>& chains() const;
  // These are in the kernel from now on, or are not any more.
  void wrote(const std::vector<SharedChain>& chains);
  void removed(const std::vector<SharedChain>& chains);

  // A service port with session affinity: clients are remembered with its id, and a token for each of its endpoints.
  struct Sticky {
    const std::string& name;
    abi::Protocol protocol;
    std::uint32_t id;
    std::uint32_t seconds;
    const std::vector<AffinityTokens::Entry>& endpoints;  // sorted by endpoint; a token is id | number
  };
  void each_sticky(const std::function<void(const Sticky&)>& take) const;

  // What a client meets: one line for each frontend with its endpoints, for people.
  void describe(const PortId& id, const std::function<void(const std::string&)>& line) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice::nftables
