// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// All service ports as elements of sets, and the changes when a service port changes. After a restart it continues
// with the numbers in the kernel (slots, class numbers, affinity ids). Pure.
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

// A service port: printed name and protocol.
using PortId = std::pair<std::string, abi::Protocol>;

// A chain that Services share, and its number in service-chains or firewall-chains.
struct SharedChain {
  bool firewall = false;
  std::uint32_t number = 0;
  ServiceClass service_class;        // unless firewall
  std::vector<abi::Prefix> allowed;  // clients that a firewall chain allows
  std::string name;
  std::size_t users = 0;  // frontends, and chains that refer to it; 0: may be removed
};

// Changes to write, proportional to what changed.
struct Changes {
  std::vector<SharedChain> chains;     // not in the kernel yet; each refers to earlier ones only
  std::vector<ElementWrite> elements;  // removals before additions of the same key; `owner` is an index into `owners`
  std::vector<std::string> owners{std::string()};
  bool empty() const noexcept { return chains.empty() && elements.empty(); }
};

class Model {
 public:
  struct Options {
    abi::Family family = abi::Family::kIpv4;
    bool counters = false;
    std::uint32_t affinity_ids = kMaxAffinityNumber;  // fewer for tests
    // The first id is the one after this. Random, as clients may still be stored with ids of deleted Services, even
    // across a restart.
    std::uint32_t last_affinity_id = 0;
  };
  // A frontend that several service ports want.
  struct Conflict {
    FrontendKey key;
    std::string owner;  // printed name of the service port that has it
    std::string loser;  // printed name of the service port that is not served there
  };
  // Service ports that are not, or not completely, served.
  struct Unserved {
    std::vector<Conflict> conflicts;   // by loser
    std::vector<PortId> without_ids;   // not served, as no affinity id is left; sorted
  };

  explicit Model(Options options);
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // Starts empty. Numbers in `listing` are reused if they still fit; null: there is no table. Until the next
  // take_changes(), changes are not collected, as walk() covers everything, and `listing` (sorted) must stay valid. A
  // chain with its number in `listing` counts as written, whatever its rules; other chains in it are not in chains().
  void start_over(const Listing* listing);

  // Replaces the plan of `id`. A frontend belongs to the first service port that wants it; when that goes, to the
  // next one by name. While `listing` is valid, a later service port may take a frontend back if the comment in the
  // kernel names it. Without a free affinity id, `id` stays unchanged until settle(). Throws sdk::Failure if the plan
  // has more than 65,535 endpoints.
  void put(const PortId& id, ServicePlan plan);
  void remove(const PortId& id);
  // Call after all put() and remove() of a transaction. Returns what service ports put since the last call do not
  // get, after everything that others released has been assigned.
  Unserved settle();
  // Whether affinity ids are available again for service ports without one.
  bool has_ids_again() const;
  // Service ports that got a frontend since the last call because its owner went. Sorted and unique.
  std::vector<PortId> take_gained();

  // Changes since the last call. After start_over(), chains only: walk() has the elements.
  Changes take_changes();

  // Visits the elements of one service port, including shared ones.
  using Sink = std::function<void(const Record& record, std::string_view comment)>;
  void walk(const PortId& id, const Sink& sink) const;
  std::vector<PortId> ids() const;           // sorted
  std::size_t size() const noexcept;         // service ports
  std::size_t elements() const noexcept;     // shared ones count once
  // Printed name of the service port that has this frontend. Valid until the next modification.
  std::optional<std::string_view> owner(const FrontendKey& frontend) const;

  // Shared chains with users, and unused ones that are still in the kernel; each after the chains it refers to. Valid
  // until the next modification.
  const std::vector<SharedChain>& chains() const;
  // Records that chains were written to, or removed from, the kernel.
  void wrote(const std::vector<SharedChain>& chains);
  void removed(const std::vector<SharedChain>& chains);

  // A service port with session affinity. Clients are stored with its id and the token of an endpoint.
  struct Sticky {
    const std::string& name;
    abi::Protocol protocol;
    std::uint32_t id;
    std::uint32_t seconds;
    const std::vector<AffinityTokens::Entry>& endpoints;  // sorted by endpoint; a token is id | number
  };
  void each_sticky(const std::function<void(const Sticky&)>& take) const;

  // Describes how a service port is served: one line per frontend with its endpoints.
  void describe(const PortId& id, const std::function<void(const std::string&)>& line) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice::nftables
