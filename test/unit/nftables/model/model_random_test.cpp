// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Random histories of service ports: after each step the elements have the meaning that the service ports require
// (BEH 3.3), and a new model that loads them has nothing to write.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "sluice/sdk/service.hpp"
#include "test/unit/nftables/model/model_rig.hpp"
#include "test/unit/nftables/random_services.hpp"
#include "test/unit/repetitions.hpp"

namespace sluice::test {
namespace model_random_test {

using namespace nftables;

// The owner of each frontend, and the service ports waiting for it: first come first served, then by name.
class Oracle {
 public:
  explicit Oracle(abi::Family family) : family_(family) {}

  void put(const ServiceSpec& spec) {
    const PortId id = ModelRig::id(spec);
    const auto world = std::make_shared<World>(family_);
    const abi::ServicePort port = world->service(spec);
    ports_.insert_or_assign(id, Port{world, port});
    std::vector<Key> now;
    for (const abi::Frontend& frontend : sdk::frontends(port)) {
      now.push_back(frontend_key(family_, frontend_of(port, frontend)));
    }
    settle(id, now);
  }
  void remove(const ServiceSpec& spec) {
    ports_.erase(ModelRig::id(spec));
    settle(ModelRig::id(spec), {});
  }

  // Takes the owners of frontends from the comments in the table.
  void adopt(const ModelRig& rig) {
    for (auto& [key, owner] : owners_) {
      for (const auto& [place, value] : rig.table.elements) {
        if (!(place.second == key) || value.comment.empty()) continue;
        for (const PortId& id : wants_.at(key)) {
          if (id.first == value.comment) owner = id;
        }
      }
    }
  }

  // The first fault of the table; empty if there is none.
  std::string check(const ModelRig& rig) const {
    const TableModel reading = rig.reading();
    for (const std::string& fault : reading.faults()) return fault;
    std::map<Key, bool> known;
    for (const auto& [id, held] : ports_) {
      const abi::ServicePort& port = held.port;
      std::map<Key, bool> mine;
      for (const abi::Frontend& frontend : sdk::frontends(port)) {
        const FrontendKey key = frontend_of(port, frontend);
        const Key bytes = frontend_key(family_, key);
        if (frontend.kind == abi::FrontendKind::kClusterIp && !reading.has_cluster_ip(frontend.address)) {
          return id.first + ": its address is not in cluster-ips";
        }
        if (owners_.at(bytes) != id || !mine.emplace(bytes, true).second) continue;
        known[bytes] = true;
        const std::string where = id.first + " " + nftables::to_string(family_, key);
        for (const Client client : {Client::kOutside, Client::kPod, Client::kNode}) {
          const Outcome wanted = wanted_outcome(port, client, frontend);
          const Outcome got = reading.ask(client, key);
          if (!(wanted == got)) {
            return where + ": " + test::to_string(family_, got) + " instead of " + test::to_string(family_, wanted);
          }
        }
        if (reading.firewall(key) != wanted_firewall(family_, port, rig_node_ip(family_), frontend)) {
          return where + ": another firewall";
        }
      }
      for (const abi::Endpoint& endpoint : sdk::endpoints(port)) {
        const bool reachable = sdk::has(endpoint, abi::kEndpointInCluster) || sdk::has(endpoint, abi::kEndpointInLocal);
        if (reachable && sdk::has(endpoint, abi::kEndpointOnThisNode) &&
            !reading.is_hairpin({endpoint.address, endpoint.port}, id.second)) {
          return id.first + ": a hairpin is missing";
        }
      }
    }
    return check_rest(rig, known);
  }

 private:
  void settle(const PortId& id, const std::vector<Key>& now) {
    for (const Key& key : now) {
      wants_[key].push_back(id);
      owners_.emplace(key, id);
    }
    for (auto& [key, ids] : wants_) {
      if (std::find(now.begin(), now.end(), key) == now.end()) std::erase(ids, id);
      std::sort(ids.begin(), ids.end());
      ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
      const auto owner = owners_.find(key);
      if (owner == owners_.end() || std::find(ids.begin(), ids.end(), owner->second) != ids.end()) continue;
      owners_.erase(owner);
      if (!ids.empty()) owners_.emplace(key, ids.front());
    }
  }

  // No elements of frontends without a service port, and all shared elements.
  std::string check_rest(const ModelRig& rig, const std::map<Key, bool>& known) const {
    std::size_t shared = 0;
    for (const auto& [place, value] : rig.table.elements) {
      switch (place.first) {
        case SetId::kClusterIps:
        case SetId::kHairpin:
          ++shared;
          break;
        case SetId::kServiceIps:
        case SetId::kServiceNodePorts:
        case SetId::kNoEndpointServices:
        case SetId::kNoEndpointNodePorts:
        case SetId::kNoLocalServices:
        case SetId::kNoLocalNodePorts:
        case SetId::kFirewallIps:
        case SetId::kServiceTraffic:
        case SetId::kNodePortTraffic:
          if (known.count(place.second) == 0) return "an element of a frontend without a service port";
          break;
        default:
          break;
      }
    }
    std::map<StrictTable::Place, bool> wanted;
    for (const auto& [id, held] : ports_) {
      const abi::ServicePort& port = held.port;
      for (const abi::Frontend& frontend : sdk::frontends(port)) {
        if (frontend.kind != abi::FrontendKind::kClusterIp) continue;
        wanted[{SetId::kClusterIps, address_key(family_, frontend.address)}] = true;
      }
      for (const abi::Endpoint& endpoint : sdk::endpoints(port)) {
        const bool reachable = sdk::has(endpoint, abi::kEndpointInCluster) || sdk::has(endpoint, abi::kEndpointInLocal);
        if (!reachable || !sdk::has(endpoint, abi::kEndpointOnThisNode)) continue;
        wanted[{SetId::kHairpin, hairpin_key(family_, {endpoint.address, endpoint.port}, id.second)}] = true;
      }
    }
    return shared == wanted.size() ? "" : "unexpected shared elements";
  }

  abi::Family family_;
  struct Port {
    std::shared_ptr<const World> world;  // owns what `port` points to
    abi::ServicePort port;
  };
  std::map<PortId, Port> ports_;
  std::map<Key, PortId> owners_;
  std::map<Key, std::vector<PortId>> wants_;
};

class NftablesModelRandomTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(NftablesModelRandomTest);
  CPPUNIT_TEST(histories_of_ipv4);
  CPPUNIT_TEST(histories_of_ipv6);
  CPPUNIT_TEST(one_step_has_the_same_meaning);
  CPPUNIT_TEST(a_restart_writes_nothing);
  CPPUNIT_TEST(drift_is_repaired_and_nothing_else);
  CPPUNIT_TEST_SUITE_END();

  // One history; calls after(rig, services) now and then.
  template <class After>
  void history(abi::Family family, std::uint64_t seed, unsigned steps, bool counters, After&& after) {
    RandomServices random(family, seed);
    ModelRig rig(family, counters);
    Oracle oracle(family);
    Services services;
    for (unsigned step = 0; step < steps; ++step) {
      for (unsigned changes = 1 + random.pick(4); changes > 0; --changes) {
        const unsigned number = random.pick(RandomServices::kMost);
        const std::string name = RandomServices::name(number);
        const auto known = services.find(name);
        if (known != services.end() && random.chance(20)) {
          rig.remove(known->second);
          oracle.remove(known->second);
          services.erase(known);
          continue;
        }
        ServiceSpec spec = known != services.end() ? known->second : random.make(number);
        if (known != services.end()) {
          if (random.chance(50)) {
            random.nudge(spec);
          } else {
            spec = random.make(number);
          }
        }
        services[name] = spec;
        rig.put(spec);
        oracle.put(spec);
      }
      rig.sync();
      const std::string where = "seed " + std::to_string(seed) + ", step " + std::to_string(step) + ": ";
      const std::string wrong = oracle.check(rig);
      CPPUNIT_ASSERT_MESSAGE(where + wrong, wrong.empty());
      CPPUNIT_ASSERT_MESSAGE(where + "the table is not what the model wants", rig.wanted() == rig.table.elements);
      CPPUNIT_ASSERT_EQUAL_MESSAGE(where, rig.table.elements.size(), rig.model.elements());
      if (step % 3 == 0) remove_unused_chains(rig);
      after(rig, services, oracle, where);
    }
  }

  // Removes unused chains; chains with gotos first.
  static void remove_unused_chains(ModelRig& rig) {
    for (;;) {
      std::vector<SharedChain> unused;
      for (const SharedChain& chain : rig.model.chains()) {
        if (chain.users == 0) unused.push_back(chain);
      }
      if (unused.empty()) return;
      rig.table.remove_chains(unused);
      rig.model.removed(unused);
    }
  }

  static std::size_t restart(ModelRig& again, const ModelRig& rig, const Services& services, std::mt19937_64& random) {
    again.table = rig.table;
    const Listing listing = again.table.listing(rig.family);
    again.model.start_over(&listing);
    std::vector<ServiceSpec> specs = list_of(services);
    std::shuffle(specs.begin(), specs.end(), random);
    for (const ServiceSpec& spec : specs) again.put(spec);
    return again.load();
  }

  void histories_of_ipv4() {
    for (std::uint64_t seed = 1; seed <= repetitions(40); ++seed) {
      history(abi::Family::kIpv4, seed, 50, seed % 2 == 0, [](auto&&...) {});
    }
  }

  void histories_of_ipv6() {
    for (std::uint64_t seed = 1; seed <= repetitions(15); ++seed) {
      history(abi::Family::kIpv6, seed, 50, seed % 2 == 0, [](auto&&...) {});
    }
  }

  void one_step_has_the_same_meaning() {
    for (std::uint64_t seed = 300; seed < 300 + repetitions(10); ++seed) {
      history(abi::Family::kIpv4, seed, 20, false,
              [&](const ModelRig& rig, const Services& services, const Oracle& oracle, const std::string& where) {
                ModelRig fresh(rig.family);
                fresh.model.start_over(nullptr);
                for (const auto& [name, spec] : services) fresh.put(spec);
                fresh.load();
                Oracle other = oracle;
                other.adopt(fresh);
                CPPUNIT_ASSERT_EQUAL_MESSAGE(where, std::string(), other.check(fresh));
              });
    }
  }

  void a_restart_writes_nothing() {
    std::mt19937_64 random(7);
    for (std::uint64_t seed = 100; seed < 100 + repetitions(15); ++seed) {
      history(abi::Family::kIpv4, seed, 30, false,
              [&](const ModelRig& rig, const Services& services, const Oracle& oracle, const std::string& where) {
                ModelRig again(rig.family);
                CPPUNIT_ASSERT_EQUAL_MESSAGE(where, std::size_t{0}, restart(again, rig, services, random));
                CPPUNIT_ASSERT_MESSAGE(where, again.wanted() == rig.wanted());
                CPPUNIT_ASSERT_EQUAL_MESSAGE(where, std::string(), oracle.check(again));
                // The new model continues with the history.
                for (const auto& [name, spec] : services) again.remove(spec);
                again.sync();
                CPPUNIT_ASSERT_MESSAGE(where, again.table.elements.empty());
                CPPUNIT_ASSERT_EQUAL_MESSAGE(where, std::size_t{0}, again.model.elements());
              });
    }
  }

  // Removes, changes or swaps some elements.
  static std::size_t drift(StrictTable& table, std::mt19937_64& random) {
    std::size_t drifted = 0;
    std::vector<StrictTable::Place> places;
    for (const auto& [place, value] : table.elements) places.push_back(place);
    for (std::size_t i = 0; i < 4 && !places.empty(); ++i) {
      const StrictTable::Place place = places[random() % places.size()];
      const StrictTable::Place other = places[random() % places.size()];
      if (table.elements.count(place) == 0) continue;
      ++drifted;
      if (random() % 3 == 0) {
        table.elements.erase(place);
      } else if (random() % 2 == 0 && other.first == place.first && table.elements.count(other) != 0) {
        std::swap(table.elements[place], table.elements[other]);
        ++drifted;
      } else if (other.first == place.first && table.elements.count(other) != 0) {
        table.elements[place] = table.elements[other];
      } else if (!table.elements[place].data.empty()) {
        Data data = table.elements[place].data;
        std::uint8_t bytes[20] = {};
        std::copy(data.data(), data.data() + data.size(), bytes);
        bytes[random() % 4] ^= static_cast<std::uint8_t>(1 + random() % 255);
        table.elements[place].data = Data();
        table.elements[place].data.append(bytes, data.size());
      }
    }
    return drifted;
  }

  // A wrong number may affect all numbers of one service port, but of no other.
  void drift_is_repaired_and_nothing_else() {
    std::mt19937_64 random(8);
    for (std::uint64_t seed = 200; seed < 200 + repetitions(15); ++seed) {
      history(abi::Family::kIpv4, seed, 30, false,
              [&](const ModelRig& rig, const Services& services, const Oracle& oracle, const std::string& where) {
                ModelRig harmed(rig.family);
                harmed.table = rig.table;
                const std::size_t drifted = drift(harmed.table, random);
                ModelRig again(rig.family);
                const std::size_t writes = restart(again, harmed, services, random);
                std::size_t most = 0;
                for (const PortId& id : rig.model.ids()) {
                  std::size_t elements = 0;
                  rig.model.walk(id, [&](const Record&, std::string_view) { ++elements; });
                  most = std::max(most, elements);
                }
                CPPUNIT_ASSERT_MESSAGE(where + std::to_string(writes) + " writes after " + std::to_string(drifted),
                                       writes <= drifted * 2 * most * 2);
                Oracle other = oracle;
                other.adopt(again);
                CPPUNIT_ASSERT_EQUAL_MESSAGE(where, std::string(), other.check(again));
              });
    }
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(NftablesModelRandomTest);

}  // namespace model_random_test
}  // namespace sluice::test
