// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Several Services that list the same address and port, as the store resolves them.
#include "core/store/frontend_claims.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/store/store.hpp"
#include "test/unit/repetitions.hpp"
#include "test/unit/store/fixtures.hpp"

namespace sluice::store {
namespace frontend_claims_test {

using lib::Family;
using model::ResourceKind;

constexpr const char* kVictim = "172.30.0.1";
constexpr const char* kThief = "172.30.0.2";
constexpr const char* kShared = "192.0.2.7";

model::Service service(const std::string& name, const char* cluster_ip, const std::vector<const char*>& external = {},
                       std::int64_t created = 0) {
  model::Service out = test::service(name);
  out.cluster_ips = {*lib::IpAddress::parse(cluster_ip)};
  for (const char* text : external) out.external_ips.push_back(*lib::IpAddress::parse(text));
  out.created = created;
  return out;
}

class FrontendClaimsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(FrontendClaimsTest);
  CPPUNIT_TEST(a_cluster_ip_belongs_to_its_service_whatever_the_order);
  CPPUNIT_TEST(a_load_balancer_address_cannot_take_a_cluster_ip);
  CPPUNIT_TEST(the_first_service_keeps_an_external_address_until_it_is_removed);
  CPPUNIT_TEST(during_the_initial_list_the_oldest_service_gets_an_address);
  CPPUNIT_TEST(after_the_initial_list_an_older_service_takes_nothing);
  CPPUNIT_TEST(a_service_that_waits_keeps_its_place_by_its_latest_object);
  CPPUNIT_TEST(a_node_port_has_one_owner);
  CPPUNIT_TEST(other_ports_and_protocols_are_no_conflict);
  CPPUNIT_TEST(a_service_without_service_ports_releases_its_addresses);
  CPPUNIT_TEST(a_list_without_the_owner_releases_its_address);
  CPPUNIT_TEST(external_ips_that_are_not_served_take_nothing);
  CPPUNIT_TEST(a_message_names_some_frontends_and_counts_the_rest);
  CPPUNIT_TEST(each_address_has_one_owner_through_random_changes);
  CPPUNIT_TEST_SUITE_END();

  Store store_{"N"};

  void put(const model::Service& one) { store_.apply(model::Upsert{one}); }
  void remove(const std::string& name) {
    store_.apply(model::Remove{ResourceKind::service, test::object("ns1", name)});
  }
  void listed() {
    store_.apply(model::ListBegin{ResourceKind::service});
    store_.apply(model::ListEnd{ResourceKind::service});
  }
  ServicePort port(const std::string& name) {
    return store_.resolve_service(test::object("ns1", name), Family::ipv4).at(0);
  }
  std::string frontends(const std::string& name) {
    std::string out;
    for (const auto& one : port(name).frontends) out += (out.empty() ? "" : " ") + one.address.to_string();
    return out;
  }
  std::set<std::string> dirty() {
    std::set<std::string> out;
    for (const auto& name : store_.take_changes(Family::ipv4).dirty) out.insert(name.name);
    return out;
  }
  static void same(const std::string& wanted, const std::string& found) { CPPUNIT_ASSERT_EQUAL(wanted, found); }

  void a_cluster_ip_belongs_to_its_service_whatever_the_order() {
    listed();
    put(service("thief", kThief, {kVictim, kShared}));
    same("172.30.0.2 172.30.0.1 192.0.2.7", frontends("thief"));
    dirty();
    put(service("victim", kVictim));
    CPPUNIT_ASSERT((dirty() == std::set<std::string>{"thief", "victim"}));
    same("172.30.0.2 192.0.2.7", frontends("thief"));
    same(kVictim, frontends("victim"));
    same("172.30.0.1:80/tcp belongs to Service ns1/victim; give one of them another port or address",
         port("thief").withheld);
    same("", port("victim").withheld);
    remove("victim");
    CPPUNIT_ASSERT(dirty().contains("thief"));
    same("172.30.0.2 172.30.0.1 192.0.2.7", frontends("thief"));
    same("", port("thief").withheld);
  }

  void a_load_balancer_address_cannot_take_a_cluster_ip() {
    listed();
    put(service("victim", kVictim));
    auto thief = service("thief", kThief);
    thief.load_balancer_ips = {*lib::IpAddress::parse(kVictim)};
    put(thief);
    same(kThief, frontends("thief"));
    same(kVictim, frontends("victim"));
    // It counts as reachable from outside because of the addresses that it lists, even if it does not get them.
    thief.internal_local = true;
    put(thief);
    CPPUNIT_ASSERT(port("thief").uses_cluster);
  }

  void the_first_service_keeps_an_external_address_until_it_is_removed() {
    listed();
    put(service("z-first", kVictim, {kShared}));
    put(service("a-second", kThief, {kShared}));
    same("172.30.0.1 192.0.2.7", frontends("z-first"));
    same(kThief, frontends("a-second"));
    put(service("z-first", kVictim, {kShared, "192.0.2.8"}));  // it changes and keeps the address
    same(kThief, frontends("a-second"));
    dirty();
    put(service("z-first", kVictim));
    CPPUNIT_ASSERT((dirty() == std::set<std::string>{"a-second", "z-first"}));
    same("172.30.0.2 192.0.2.7", frontends("a-second"));
    put(service("z-first", kVictim, {kShared}));
    same(kVictim, frontends("z-first"));
  }

  void during_the_initial_list_the_oldest_service_gets_an_address() {
    store_.apply(model::ListBegin{ResourceKind::service});
    put(service("a-new", kThief, {kShared}, 2000));
    put(service("z-old", kVictim, {kShared}, 1000));
    store_.apply(model::ListEnd{ResourceKind::service});
    same("172.30.0.1 192.0.2.7", frontends("z-old"));
    same(kThief, frontends("a-new"));
  }

  void after_the_initial_list_an_older_service_takes_nothing() {
    listed();
    put(service("new", kVictim, {kShared}, 2000));
    put(service("old", kThief, {kShared}, 1000));
    same("172.30.0.1 192.0.2.7", frontends("new"));
    // Listed again, as after an outage of the API server.
    store_.apply(model::ListBegin{ResourceKind::service});
    put(service("old", kThief, {kShared}, 1000));
    put(service("new", kVictim, {kShared}, 2000));
    store_.apply(model::ListEnd{ResourceKind::service});
    same("172.30.0.1 192.0.2.7", frontends("new"));
  }

  void a_service_that_waits_keeps_its_place_by_its_latest_object() {
    listed();
    put(service("holder", kVictim, {kShared}, 1000));
    put(service("second", kThief, {kShared}, 2000));
    put(service("third", "172.30.0.3", {kShared}, 3000));
    put(service("second", kThief, {kShared}, 4000));  // deleted and created again, and the watch missed it
    remove("holder");
    same("172.30.0.3 192.0.2.7", frontends("third"));
    same(kThief, frontends("second"));
    remove("third");
    same("172.30.0.2 192.0.2.7", frontends("second"));
    put(service("second", kThief));
    put(service("last", kVictim, {kShared}));
    same("172.30.0.1 192.0.2.7", frontends("last"));
  }

  void a_node_port_has_one_owner() {
    listed();
    auto first = service("first", kVictim);
    auto second = service("second", kThief);
    first.ports[0].node_port = second.ports[0].node_port = 30001;
    put(first);
    put(second);
    same("172.30.0.1 0.0.0.0", frontends("first"));
    same(kThief, frontends("second"));
    same("node port 30001/tcp belongs to Service ns1/first; give one of them another port or address",
         port("second").withheld);
    remove("first");
    same("172.30.0.2 0.0.0.0", frontends("second"));
  }

  void other_ports_and_protocols_are_no_conflict() {
    listed();
    put(service("victim", kVictim));
    auto other_port = service("other-port", kThief, {kVictim});
    other_port.ports[0].port = 81;
    auto other_protocol = service("other-protocol", "172.30.0.3", {kVictim});
    other_protocol.ports[0].protocol = model::Protocol::udp;
    put(other_port);
    put(other_protocol);
    same("172.30.0.2 172.30.0.1", frontends("other-port"));
    same("172.30.0.3 172.30.0.1", frontends("other-protocol"));
  }

  void a_service_without_service_ports_releases_its_addresses() {
    listed();
    auto first = service("first", kVictim, {kShared});
    put(first);
    put(service("second", kThief, {kShared}));
    first.type = model::ServiceType::external_name;
    put(first);
    same("172.30.0.2 192.0.2.7", frontends("second"));
    first.type = model::ServiceType::cluster_ip;
    put(first);
    same("172.30.0.2 192.0.2.7", frontends("second"));
    auto second = service("second", "fd00::2", {kShared});
    put(second);
    same("172.30.0.1 192.0.2.7", frontends("first"));
  }

  void a_list_without_the_owner_releases_its_address() {
    listed();
    put(service("first", kVictim, {kShared}));
    put(service("second", kThief, {kShared}));
    dirty();
    store_.apply(model::ListBegin{ResourceKind::service});
    put(service("second", kThief, {kShared}));
    store_.apply(model::ListEnd{ResourceKind::service});
    CPPUNIT_ASSERT(dirty().contains("second"));
    same("172.30.0.2 192.0.2.7", frontends("second"));
  }

  void external_ips_that_are_not_served_take_nothing() {
    listed();
    store_.set_options({.external_ips = false});
    put(service("first", kVictim, {kShared}));
    auto balanced = service("balanced", kThief);
    balanced.load_balancer_ips = {*lib::IpAddress::parse(kShared)};
    put(balanced);
    same("172.30.0.2 192.0.2.7", frontends("balanced"));
    store_.set_options({.external_ips = true});
    same("172.30.0.2 192.0.2.7", frontends("balanced"));
    same(kVictim, frontends("first"));
    dirty();
    remove("balanced");
    CPPUNIT_ASSERT(dirty().contains("first"));
    put(balanced);
    store_.set_options({.external_ips = false});
    CPPUNIT_ASSERT((dirty() == std::set<std::string>{"balanced", "first"}));
    same("172.30.0.2 192.0.2.7", frontends("balanced"));
  }

  void a_message_names_some_frontends_and_counts_the_rest() {
    listed();
    auto victim = service("victim", kVictim);
    auto thief = service("thief", kThief);
    for (int i = 1; i < 8; ++i) {
      victim.load_balancer_ips.push_back(*lib::IpAddress::parse("192.0.2." + std::to_string(i)));
    }
    thief.load_balancer_ips = victim.load_balancer_ips;
    put(victim);
    put(thief);
    const std::string said = port("thief").withheld;
    CPPUNIT_ASSERT(said.find("192.0.2.4:80/tcp") != std::string::npos);
    CPPUNIT_ASSERT(said.find("192.0.2.5:80/tcp") == std::string::npos);
    CPPUNIT_ASSERT(said.ends_with("; and so do 3 more"));
  }

  // Invariants: each listed frontend has one owner, and a cluster IP its own Service. A Service that is not reported as
  // dirty has not changed. An owner keeps its frontend as long as it lists it and no cluster IP takes precedence.
  void each_address_has_one_owner_through_random_changes() {
    for (unsigned seed = 0; seed < test::repetitions(20, 500); ++seed) random_history(seed);
  }

  static constexpr int kServices = 5;

  static model::Service random_service(std::mt19937& random, int number) {
    const auto some = [&](unsigned of) { return static_cast<int>(random() % of); };
    auto out = service("s" + std::to_string(number), ("172.30.0." + std::to_string(number)).c_str(), {}, some(3));
    for (int i = some(4); i > 0; --i) {
      out.external_ips.push_back(*lib::IpAddress::parse("172.30.0." + std::to_string(some(kServices + 2))));
    }
    if (some(6) == 0) out.type = model::ServiceType::external_name;
    if (some(3) == 0) out.ports[0].node_port = static_cast<std::uint16_t>(30000 + some(2));
    return out;
  }

  using Address = std::pair<std::string, std::uint16_t>;
  std::map<Address, std::vector<std::string>> owners() {
    std::map<Address, std::vector<std::string>> out;
    for (int i = 0; i < kServices; ++i) {
      const std::string name = "s" + std::to_string(i);
      for (const auto& one : store_.resolve_service(test::object("ns1", name), Family::ipv4)) {
        std::set<Address> own;
        for (const auto& frontend : one.frontends) own.emplace(frontend.address.to_string(), frontend.port);
        for (const auto& address : own) out[address].push_back(name);
      }
    }
    return out;
  }

  void random_history(unsigned seed) {
    std::mt19937 random(seed);
    store_ = Store("N");
    std::map<std::string, model::Service> there;
    bool is_listed = false;
    for (int step = 0; step < 60; ++step) {
      const auto before = owners();
      const bool keeps = is_listed;
      store_.take_changes(Family::ipv4);
      const int number = static_cast<int>(random() % kServices);
      const std::string name = "s" + std::to_string(number);
      if (random() % 4 == 0) {
        remove(name);
        there.erase(name);
      } else {
        there[name] = random_service(random, number);
        put(there[name]);
      }
      if (!is_listed && random() % 10 == 0) {
        store_.apply(model::ListBegin{ResourceKind::service});
        for (const auto& [_, one] : there) put(one);
        store_.apply(model::ListEnd{ResourceKind::service});
        is_listed = true;
      }
      const auto now = owners();
      const auto changed = dirty();
      std::map<Address, std::set<std::string>> wanted;
      for (const auto& [owner, one] : there) {
        for (const auto& key : FrontendClaims::wanted(one, true))
          wanted[{key.address.to_string(), key.port}].insert(owner);
      }
      const std::string where = "seed " + std::to_string(seed) + ", step " + std::to_string(step);
      CPPUNIT_ASSERT_EQUAL_MESSAGE(where, wanted.size(), now.size());
      for (const auto& [address, names] : now) {
        CPPUNIT_ASSERT_EQUAL_MESSAGE(where, std::size_t(1), names.size());
        const std::string& owner = names.front();
        CPPUNIT_ASSERT_MESSAGE(where, wanted[address].contains(owner));
        const std::string own = "s" + address.first.substr(address.first.rfind('.') + 1);
        const bool is_cluster_ip = address.second == 80 && wanted[address].contains(own);
        if (is_cluster_ip) CPPUNIT_ASSERT_EQUAL_MESSAGE(where, own, owner);
        const auto earlier = before.find(address);
        if (earlier == before.end() || earlier->second.front() == owner) continue;
        const std::string& loser = earlier->second.front();
        CPPUNIT_ASSERT_MESSAGE(where, changed.contains(owner) && (changed.contains(loser) || !there.contains(loser)));
        if (keeps && wanted[address].contains(loser)) CPPUNIT_ASSERT_MESSAGE(where, is_cluster_ip);
      }
    }
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(FrontendClaimsTest);

}  // namespace frontend_claims_test
}  // namespace sluice::store
