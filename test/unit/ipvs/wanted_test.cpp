// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The desired state of all service ports: counted, changed step by step, and equal to a fresh computation.
#include "plugins/ipvs/wanted.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "test/unit/repetitions.hpp"

namespace sluice::ipvs {
namespace wanted_test {

abi::Address address(unsigned last) {
  abi::Address out{};
  out.bytes[0] = 10;
  out.bytes[3] = static_cast<std::uint8_t>(last);
  return out;
}

ServerKey key(unsigned last, std::uint16_t port = 80) { return {address(last), port, abi::Protocol::kTcp}; }

SetItem item(SetId set, unsigned last, std::uint16_t port = 80) {
  SetEntry entry;
  entry.address = address(last);
  entry.port = port;
  entry.protocol = abi::Protocol::kTcp;
  return {set, entry};
}

PortId id(const std::string& name) { return {name, abi::Protocol::kTcp}; }

WantedServer server(const std::string& owner, const ServerKey& at, unsigned real = 1) {
  WantedServer wanted;
  wanted.server.key = at;
  wanted.server.scheduler = "rr";
  wanted.real = std::make_shared<const std::vector<RealServer>>(std::vector<RealServer>{{address(real), 8080}});
  wanted.owner = owner;
  return wanted;
}

ServicePlan plan(const std::string& owner, const std::vector<ServerKey>& own,
                 const std::vector<ServerKey>& node_ports = {}, unsigned real = 1) {
  ServicePlan made;
  made.name = owner;
  for (const ServerKey& at : own) made.servers.push_back(server(owner, at, real));
  for (const ServerKey& at : node_ports) made.servers.push_back(server(owner, at, real));
  made.node_ports = node_ports.size();
  return made;
}

// The kernel's contents if every change is carried out.
struct Followed {
  std::map<ServerKey, WantedServer> servers;
  std::set<SetItem> items;
  std::set<abi::Address> addresses;

  void follow(const Changes& changes) {
    for (const WantedServer& one : changes.put) servers.insert_or_assign(one.server.key, one);
    for (const ServerKey& one : changes.drop) CPPUNIT_ASSERT_EQUAL(std::size_t{1}, servers.erase(one));
    for (const SetItem& one : changes.add) CPPUNIT_ASSERT(items.insert(one).second);
    for (const SetItem& one : changes.remove) CPPUNIT_ASSERT_EQUAL(std::size_t{1}, items.erase(one));
    for (const abi::Address& one : changes.bind) CPPUNIT_ASSERT(addresses.insert(one).second);
    for (const abi::Address& one : changes.unbind) CPPUNIT_ASSERT_EQUAL(std::size_t{1}, addresses.erase(one));
  }
};

class WantedTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(WantedTest);
  CPPUNIT_TEST(a_service_port_comes_and_goes);
  CPPUNIT_TEST(shared_objects_go_with_the_last_claim);
  CPPUNIT_TEST(additions_that_are_removed_again_are_no_change);
  CPPUNIT_TEST(the_first_owner_keeps_a_virtual_server);
  CPPUNIT_TEST(the_next_owner_is_the_first_by_name);
  CPPUNIT_TEST(a_frontend_address_goes_before_a_node_port);
  CPPUNIT_TEST(a_named_service_port_is_written_again);
  CPPUNIT_TEST(changes_of_closed_are_reported);
  CPPUNIT_TEST(a_missing_server_holds_its_frontend_back);
  CPPUNIT_TEST(a_node_port_goes_with_its_last_address);
  CPPUNIT_TEST(a_foreign_frontend_is_removed_from_all_claimants);
  CPPUNIT_TEST(an_external_address_of_an_endpoint_is_withheld);
  CPPUNIT_TEST(a_withheld_address_survives_other_changes_of_the_plan);
  CPPUNIT_TEST(everything_is_sorted_and_complete);
  CPPUNIT_TEST(random_histories);
  CPPUNIT_TEST(random_rejections);
  CPPUNIT_TEST_SUITE_END();

  void a_service_port_comes_and_goes() {
    Wanted wanted;
    ServicePlan made = plan("a", {key(1)});
    made.items = {item(SetId::kClusterIp, 1)};
    made.addresses = {address(1)};
    CPPUNIT_ASSERT(wanted.put(id("a"), made).empty());
    CPPUNIT_ASSERT(wanted.wants(key(1)) && wanted.wants(item(SetId::kClusterIp, 1)) && wanted.wants(address(1)));
    Changes changes = wanted.take_changes();
    CPPUNIT_ASSERT(changes.put.size() == 1 && changes.add.size() == 1 && changes.bind.size() == 1);
    CPPUNIT_ASSERT(changes.drop.empty() && changes.remove.empty() && changes.unbind.empty());
    wanted.remove(id("a"));
    wanted.remove(id("unknown"));
    changes = wanted.take_changes();
    CPPUNIT_ASSERT(changes.put.empty() && changes.add.empty() && changes.bind.empty());
    CPPUNIT_ASSERT(changes.drop.size() == 1 && changes.remove.size() == 1 && changes.unbind.size() == 1);
    CPPUNIT_ASSERT(!wanted.wants(key(1)) && !wanted.wants(item(SetId::kClusterIp, 1)) && !wanted.wants(address(1)));
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, wanted.size());
  }

  // Case 117.
  void shared_objects_go_with_the_last_claim() {
    Wanted wanted;
    for (const std::string name : {"a", "b"}) {
      ServicePlan made = plan(name, {key(1, name == "a" ? 80 : 81)});
      made.items = {item(SetId::kIpvsAddresses, 1, 0)};
      made.addresses = {address(1)};
      wanted.put(id(name), made);
    }
    Changes changes = wanted.take_changes();
    CPPUNIT_ASSERT(changes.bind.size() == 1 && changes.add.size() == 1 && changes.put.size() == 2);
    wanted.remove(id("a"));
    changes = wanted.take_changes();
    CPPUNIT_ASSERT(changes.unbind.empty() && changes.remove.empty() && changes.drop.size() == 1);
    wanted.remove(id("b"));
    changes = wanted.take_changes();
    CPPUNIT_ASSERT(changes.unbind.size() == 1 && changes.remove.size() == 1 && changes.drop.size() == 1);
  }

  void additions_that_are_removed_again_are_no_change() {
    Wanted wanted;
    ServicePlan made = plan("a", {key(1)});
    made.items = {item(SetId::kClusterIp, 1)};
    made.addresses = {address(1)};
    wanted.put(id("a"), made);
    wanted.remove(id("a"));
    Changes changes = wanted.take_changes();
    CPPUNIT_ASSERT(changes.put.empty() && changes.drop.empty() && changes.add.empty() && changes.remove.empty());
    CPPUNIT_ASSERT(changes.bind.empty() && changes.unbind.empty());
    wanted.put(id("a"), made);
    wanted.take_changes();
    wanted.remove(id("a"));
    wanted.put(id("a"), made);
    changes = wanted.take_changes();
    CPPUNIT_ASSERT(changes.drop.empty() && changes.add.empty() && changes.remove.empty() && changes.unbind.empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, changes.put.size());
  }

  void the_first_owner_keeps_a_virtual_server() {
    Wanted wanted;
    wanted.put(id("b"), plan("b", {key(1)}));
    const auto conflicts = wanted.put(id("a"), plan("a", {key(1), key(2)}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, conflicts.size());
    CPPUNIT_ASSERT(conflicts[0].key == key(1));
    CPPUNIT_ASSERT_EQUAL(std::string("b"), conflicts[0].owner);
    CPPUNIT_ASSERT_EQUAL(std::string("a"), conflicts[0].loser);
    const Changes changes = wanted.take_changes();
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, changes.put.size());
    CPPUNIT_ASSERT_EQUAL(std::string("b"), changes.put[0].owner);
    CPPUNIT_ASSERT_EQUAL(std::string("a"), changes.put[1].owner);
    CPPUNIT_ASSERT(wanted.put(id("b"), plan("b", {key(1)})).empty());
    CPPUNIT_ASSERT(wanted.take_gained().empty());
  }

  void the_next_owner_is_the_first_by_name() {
    Wanted wanted;
    for (const std::string name : {"c", "b", "a"}) wanted.put(id(name), plan(name, {key(1)}));
    wanted.take_changes();
    wanted.remove(id("c"));
    Changes changes = wanted.take_changes();
    CPPUNIT_ASSERT(changes.drop.empty() && changes.put.size() == 1);
    CPPUNIT_ASSERT_EQUAL(std::string("a"), changes.put[0].owner);
    CPPUNIT_ASSERT(wanted.take_gained() == std::vector<PortId>{id("a")});
    CPPUNIT_ASSERT(wanted.take_gained().empty());
    // It moves to another address.
    wanted.put(id("a"), plan("a", {key(2)}));
    changes = wanted.take_changes();
    CPPUNIT_ASSERT(changes.drop.empty() && changes.put.size() == 2);
    CPPUNIT_ASSERT_EQUAL(std::string("b"), changes.put[0].owner);
    CPPUNIT_ASSERT(wanted.take_gained() == std::vector<PortId>{id("b")});
  }

  // Case 71.
  void a_frontend_address_goes_before_a_node_port() {
    Wanted wanted;
    wanted.put(id("a"), plan("a", {key(5)}, {key(1)}));
    wanted.take_changes();
    const auto conflicts = wanted.put(id("b"), plan("b", {key(1)}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, conflicts.size());
    CPPUNIT_ASSERT_EQUAL(std::string("b"), conflicts[0].owner);
    CPPUNIT_ASSERT_EQUAL(std::string("a"), conflicts[0].loser);
    CPPUNIT_ASSERT_EQUAL(std::string("b"), wanted.take_changes().put.at(0).owner);
    CPPUNIT_ASSERT(wanted.take_gained().empty());
    CPPUNIT_ASSERT_EQUAL(std::string("b"), wanted.put(id("a"), plan("a", {key(5)}, {key(1)})).at(0).owner);
    wanted.take_changes();
    wanted.remove(id("b"));
    CPPUNIT_ASSERT_EQUAL(std::string("a"), wanted.take_changes().put.at(0).owner);
    CPPUNIT_ASSERT(wanted.take_gained() == std::vector<PortId>{id("a")});
  }

  void a_named_service_port_is_written_again() {
    Wanted wanted;
    wanted.put(id("a"), plan("a", {key(1), key(2)}));
    wanted.put(id("b"), plan("b", {key(3)}));
    wanted.take_changes();
    wanted.put(id("a"), plan("a", {key(1), key(2)}, {}, 7));
    const Changes changes = wanted.take_changes();
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, changes.put.size());
    CPPUNIT_ASSERT(changes.put[0].real->front().address == address(7));
    CPPUNIT_ASSERT(changes.drop.empty());
  }

  void changes_of_closed_are_reported() {
    Wanted wanted;
    ServicePlan made = plan("a", {key(1)});
    made.closed = {key(1)};
    const auto changed = [&](const std::vector<ServerKey>& close, const std::vector<ServerKey>& reopen) {
      const Changes changes = wanted.take_changes();
      return changes.close == close && changes.reopen == reopen;
    };
    wanted.put(id("a"), made);
    CPPUNIT_ASSERT(changed({key(1)}, {}));
    CPPUNIT_ASSERT(changed({}, {}));
    wanted.put(id("a"), made);
    CPPUNIT_ASSERT(changed({}, {}));
    wanted.put(id("b"), made);
    CPPUNIT_ASSERT(changed({}, {}));
    wanted.remove(id("a"));
    CPPUNIT_ASSERT(changed({}, {}));
    CPPUNIT_ASSERT(wanted.closed() == std::set<ServerKey>{key(1)});
    made.closed = {key(2)};
    wanted.put(id("b"), made);
    CPPUNIT_ASSERT(changed({key(2)}, {key(1)}));
    wanted.remove(id("b"));
    CPPUNIT_ASSERT(changed({}, {key(2)}));
    CPPUNIT_ASSERT(wanted.closed().empty());
  }

  // Two load balancer ports at one address, a cluster IP, a node port at two addresses, an endpoint.
  static ServicePlan many_frontends(const std::string& owner) {
    ServicePlan made = plan(owner, {key(1), key(2, 80), key(2, 81)}, {key(8, 30001), key(9, 30001)});
    made.items = {item(SetId::kLoopBack, 5),          item(SetId::kClusterIp, 1),
                  item(SetId::kLoadBalancer, 2, 80),  item(SetId::kLoadBalancer, 2, 81),
                  item(SetId::kNodePortTcp, 0, 30001), item(SetId::kIpvsAddresses, 1, 0),
                  item(SetId::kIpvsAddresses, 2, 0)};
    made.addresses = {address(1), address(2)};
    made.closed = {key(2, 80), key(2, 81)};
    return made;
  }

  void a_missing_server_holds_its_frontend_back() {
    Wanted wanted;
    wanted.put(id("a"), many_frontends("a"));
    const Changes first = wanted.take_changes();
    CPPUNIT_ASSERT(first.add.size() == 7 && first.bind.size() == 2);
    wanted.note_put(first.put, {key(1), key(2, 80)});
    Changes changes = wanted.take_changes();
    CPPUNIT_ASSERT((changes.remove == std::vector<SetItem>{item(SetId::kClusterIp, 1), item(SetId::kLoadBalancer, 2, 80),
                                                           item(SetId::kIpvsAddresses, 1, 0)}));
    CPPUNIT_ASSERT(changes.unbind == std::vector<abi::Address>{address(1)});
    CPPUNIT_ASSERT(changes.reopen == std::vector<ServerKey>{key(2, 80)} && changes.close.empty());
    CPPUNIT_ASSERT(changes.put.empty() && changes.drop.empty() && changes.add.empty() && changes.bind.empty());
    CPPUNIT_ASSERT(wanted.closed() == std::set<ServerKey>{key(2, 81)} && wanted.wants(key(1)));
    // A full transaction retries them.
    wanted.clear();
    wanted.put(id("a"), many_frontends("a"));
    wanted.take_changes();
    const Changes all = wanted.everything();
    CPPUNIT_ASSERT(all.put.size() == 5 && all.add.size() == 4 && all.bind == std::vector<abi::Address>{address(2)});
    wanted.note_put(all.put, {key(1)});
    changes = wanted.take_changes();
    CPPUNIT_ASSERT(changes.add == std::vector<SetItem>{item(SetId::kLoadBalancer, 2, 80)});
    CPPUNIT_ASSERT(changes.close == std::vector<ServerKey>{key(2, 80)} && changes.remove.empty() && changes.bind.empty());
    wanted.note_put(all.put, {});
    CPPUNIT_ASSERT(wanted.take_changes().bind == std::vector<abi::Address>{address(1)});
    // Another service port that wants a withheld address does not bind it; removed ones are forgotten.
    wanted.note_put(all.put, {key(1)});
    wanted.remove(id("a"));
    changes = wanted.take_changes();
    CPPUNIT_ASSERT(changes.drop.size() == 5 && changes.unbind.size() == 2 && changes.remove.size() == 7);
    wanted.put(id("b"), many_frontends("b"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{7}, wanted.take_changes().add.size());
  }

  void a_node_port_goes_with_its_last_address() {
    Wanted wanted;
    wanted.put(id("a"), many_frontends("a"));
    const Changes first = wanted.take_changes();
    wanted.note_put(first.put, {key(8, 30001)});
    CPPUNIT_ASSERT(wanted.take_changes().remove.empty());
    wanted.note_put(first.put, {key(8, 30001), key(9, 30001)});
    CPPUNIT_ASSERT(wanted.take_changes().remove == std::vector<SetItem>{item(SetId::kNodePortTcp, 0, 30001)});
  }

  void a_foreign_frontend_is_removed_from_all_claimants() {
    Wanted wanted;
    wanted.put(id("a"), many_frontends("a"));
    wanted.put(id("b"), many_frontends("b"));
    wanted.take_changes();
    wanted.exclude({key(2, 81), key(9, 30001)});
    const Changes changes = wanted.take_changes();
    // Its entry would also name the foreign node port.
    CPPUNIT_ASSERT((changes.drop == std::vector<ServerKey>{key(2, 81), key(8, 30001), key(9, 30001)}));
    CPPUNIT_ASSERT((changes.remove == std::vector<SetItem>{item(SetId::kLoadBalancer, 2, 81),
                                                           item(SetId::kNodePortTcp, 0, 30001)}));
    CPPUNIT_ASSERT(changes.unbind.empty() && changes.reopen.size() == 1 && wanted.node_ports().empty());
    CPPUNIT_ASSERT(!wanted.wants(key(2, 81)) && wanted.wants(key(2, 80)));
  }

  // A cluster IP and an external IP.
  static ServicePlan with_external(const std::string& owner, unsigned cluster_ip, unsigned external,
                                   unsigned real = 3) {
    ServicePlan made = plan(owner, {key(cluster_ip), key(external)}, {}, real);
    made.items = {item(SetId::kClusterIp, cluster_ip), item(SetId::kExternalIp, external),
                  item(SetId::kIpvsAddresses, cluster_ip, 0), item(SetId::kIpvsAddresses, external, 0)};
    made.addresses = {address(cluster_ip), address(external)};
    made.external = {address(external)};
    return made;
  }
  using Ids = std::vector<PortId>;
  using Addresses = std::vector<abi::Address>;

  void an_external_address_of_an_endpoint_is_withheld() {
    Wanted wanted;
    wanted.put(id("thief"), with_external("thief", 1, 7));
    CPPUNIT_ASSERT(wanted.withheld(id("thief")).empty() && wanted.wants(address(7)));
    wanted.take_changes();
    wanted.put(id("victim"), plan("victim", {key(2)}, {}, 7));
    CPPUNIT_ASSERT(wanted.take_affected() == Ids{id("thief")});
    wanted.put_again(id("thief"));
    CPPUNIT_ASSERT(wanted.withheld(id("thief")) == Addresses{address(7)});
    Changes changes = wanted.take_changes();
    CPPUNIT_ASSERT(changes.drop == std::vector<ServerKey>{key(7)} && changes.unbind == Addresses{address(7)});
    CPPUNIT_ASSERT(
        (changes.remove == std::vector<SetItem>{item(SetId::kExternalIp, 7), item(SetId::kIpvsAddresses, 7, 0)}));
    CPPUNIT_ASSERT(wanted.wants(key(1)) && !wanted.wants(key(7)));
    // A frontend address that is also an endpoint stays.
    wanted.put(id("own"), plan("own", {key(3)}, {}, 2));
    CPPUNIT_ASSERT(wanted.take_affected().empty() && wanted.wants(key(2)));
    wanted.take_changes();
    // Another endpoint of the same service port.
    wanted.put(id("victim"), plan("victim", {key(2)}, {}, 8));
    CPPUNIT_ASSERT(wanted.take_affected() == Ids{id("thief")});
    wanted.put_again(id("thief"));
    changes = wanted.take_changes();
    CPPUNIT_ASSERT(changes.bind == Addresses{address(7)} && changes.add.size() == 2 && changes.drop.empty());
    CPPUNIT_ASSERT(wanted.withheld(id("thief")).empty() && wanted.take_affected().empty());
    // The endpoint comes first.
    wanted.put(id("late"), with_external("late", 4, 8));
    CPPUNIT_ASSERT(wanted.withheld(id("late")) == Addresses{address(8)} && !wanted.wants(address(8)));
    wanted.remove(id("victim"));
    CPPUNIT_ASSERT(wanted.take_affected() == Ids{id("late")});
    wanted.remove(id("late"));
    wanted.put(id("victim"), plan("victim", {key(2)}, {}, 8));
    CPPUNIT_ASSERT(wanted.take_affected().empty());
  }

  void a_withheld_address_survives_other_changes_of_the_plan() {
    Wanted wanted;
    wanted.put(id("victim"), plan("victim", {key(2)}, {}, 7));
    ServicePlan thief = with_external("thief", 1, 7);
    thief.servers.push_back(server("thief", key(9)));
    thief.addresses.push_back(address(9));
    thief.external.push_back(address(9));
    wanted.put(id("thief"), thief);
    wanted.exclude({key(9)});  // another process has it
    CPPUNIT_ASSERT(!wanted.wants(key(9)) && !wanted.wants(key(7)));
    CPPUNIT_ASSERT(wanted.withheld(id("thief")) == Addresses{address(7)});
    wanted.remove(id("victim"));
    CPPUNIT_ASSERT(wanted.take_affected() == Ids{id("thief")});
    wanted.put_again(id("thief"));
    CPPUNIT_ASSERT(!wanted.wants(key(9)) && wanted.wants(key(7)) && wanted.wants(address(7)));
  }

  void everything_is_sorted_and_complete() {
    Wanted wanted;
    for (unsigned i = 9; i > 0; --i) {
      ServicePlan made = plan(std::to_string(i), {key(i)});
      made.items = {item(SetId::kClusterIp, i)};
      made.addresses = {address(i)};
      wanted.put(id(std::to_string(i)), made);
    }
    wanted.take_changes();
    const Changes all = wanted.everything();
    CPPUNIT_ASSERT(all.put.size() == 9 && all.add.size() == 9 && all.bind.size() == 9);
    CPPUNIT_ASSERT(std::is_sorted(all.add.begin(), all.add.end()) && std::is_sorted(all.bind.begin(), all.bind.end()));
    for (unsigned i = 0; i < 9; ++i) CPPUNIT_ASSERT(all.put[i].server.key == key(i + 1));
    wanted.clear();
    CPPUNIT_ASSERT(wanted.everything().put.empty() && wanted.take_changes().drop.empty() && wanted.ids().empty());
  }

  // A few addresses and ports, so that many conflict; after each step the accumulated changes equal a computation
  // from all plans.
  void random_histories() {
    std::mt19937 random(6);
    const auto below = [&](unsigned bound) { return std::uniform_int_distribution<unsigned>(0, bound - 1)(random); };
    for (unsigned history = 0; history < test::repetitions(60); ++history) {
      Wanted wanted;
      Followed followed;
      std::map<PortId, ServicePlan> model;
      std::set<ServerKey> closed;
      for (unsigned step = 0; step < 60; ++step) {
        for (unsigned changed = below(3); changed < 3; ++changed) {
          const PortId port_id = id(std::to_string(below(6)));
          if (below(3) == 0) {
            wanted.remove(port_id);
            model.erase(port_id);
            continue;
          }
          std::set<ServerKey> own, node_ports;
          for (unsigned n = below(4); n > 0; --n) own.insert(key(below(4), static_cast<std::uint16_t>(80 + below(2))));
          for (unsigned n = below(3); n > 0; --n) {
            const ServerKey at = key(below(4), static_cast<std::uint16_t>(80 + below(2)));
            if (!own.contains(at)) node_ports.insert(at);
          }
          ServicePlan made =
              plan(port_id.first, {own.begin(), own.end()}, {node_ports.begin(), node_ports.end()}, below(9));
          std::set<SetItem> items;
          for (const ServerKey& at : own) {
            SetItem one{SetId::kClusterIp, {}};
            one.entry.address = at.address;
            items.insert(one);
          }
          made.items = {items.begin(), items.end()};
          std::set<abi::Address> addresses;
          for (const ServerKey& at : own) addresses.insert(at.address);
          made.addresses = {addresses.begin(), addresses.end()};
          if (!own.empty() && below(2) == 0) made.closed = {*own.begin()};
          model[port_id] = made;
          wanted.put(port_id, made);
        }
        const Changes changes = wanted.take_changes();
        followed.follow(changes);
        std::set<ServerKey> closed_followed = closed;
        for (const ServerKey& one : changes.close) CPPUNIT_ASSERT(closed_followed.insert(one).second);
        for (const ServerKey& one : changes.reopen) CPPUNIT_ASSERT_EQUAL(std::size_t{1}, closed_followed.erase(one));
        check(model, wanted, followed, closed);
        CPPUNIT_ASSERT(closed == closed_followed);
      }
      const Changes all = wanted.everything();
      CPPUNIT_ASSERT_EQUAL(followed.servers.size(), all.put.size());
      CPPUNIT_ASSERT(std::vector<SetItem>(followed.items.begin(), followed.items.end()) == all.add);
      CPPUNIT_ASSERT(std::vector<abi::Address>(followed.addresses.begin(), followed.addresses.end()) == all.bind);
      for (const WantedServer& one : all.put) {
        CPPUNIT_ASSERT_EQUAL(followed.servers.at(one.server.key).owner, one.owner);
      }
    }
  }

  // After any rejections: if everything is accepted, all entries and addresses exist, and after all removals none
  // does.
  void random_rejections() {
    std::mt19937 random(7);
    const auto below = [&](unsigned bound) { return std::uniform_int_distribution<unsigned>(0, bound - 1)(random); };
    for (unsigned history = 0; history < test::repetitions(200); ++history) {
      Wanted wanted, whole;
      Followed followed, expected;
      const auto refuse = [&](const std::vector<WantedServer>& put, bool any) {
        std::set<ServerKey> missing;
        for (const WantedServer& one : put) {
          if (any && below(2) == 0) missing.insert(one.server.key);
        }
        wanted.note_put(put, missing);
        followed.follow(wanted.take_changes());
      };
      for (unsigned step = 0; step < 30; ++step) {
        const PortId port_id = id(std::to_string(below(4)));
        if (below(3) == 0) {
          wanted.remove(port_id);
          whole.remove(port_id);
        } else {
          ServicePlan made = many_frontends(port_id.first);
          while (below(3) != 0 && made.servers.size() > 2) {  // node ports stay
            const ServerKey gone = made.servers.front().server.key;
            made.servers.erase(made.servers.begin());
            std::erase_if(made.items, [&](const SetItem& one) {
              return one.entry.address == gone.address && one.entry.port == gone.port;
            });
            std::erase(made.closed, gone);
            const auto unused = [&](const abi::Address& one) {
              return std::none_of(made.servers.begin(), made.servers.end(),
                                  [&](const WantedServer& other) { return other.server.key.address == one; });
            };
            std::erase_if(made.addresses, unused);
            std::erase_if(made.items, [&](const SetItem& one) {
              return one.set == SetId::kIpvsAddresses && unused(one.entry.address);
            });
          }
          wanted.put(port_id, made);
          whole.put(port_id, made);
        }
        const Changes changes = wanted.take_changes();
        followed.follow(changes);
        expected.follow(whole.take_changes());
        refuse(changes.put, true);
        CPPUNIT_ASSERT(std::includes(expected.items.begin(), expected.items.end(), followed.items.begin(),
                                     followed.items.end()));
      }
      refuse(wanted.everything().put, false);
      CPPUNIT_ASSERT(expected.items == followed.items && expected.addresses == followed.addresses);
      CPPUNIT_ASSERT(wanted.closed() == whole.closed());
      refuse(wanted.everything().put, true);
      for (unsigned i = 0; i < 4; ++i) wanted.remove(id(std::to_string(i)));
      followed.follow(wanted.take_changes());
      CPPUNIT_ASSERT(followed.servers.empty() && followed.items.empty() && followed.addresses.empty());
      CPPUNIT_ASSERT(wanted.closed().empty());
    }
  }

  static void check(const std::map<PortId, ServicePlan>& model, const Wanted& wanted, const Followed& followed,
                    std::set<ServerKey>& closed) {
    std::map<ServerKey, std::map<std::string, bool>> claims;  // service port, and whether for a node port
    std::set<SetItem> items;
    std::set<abi::Address> addresses;
    closed.clear();
    for (const auto& [port_id, made] : model) {
      const std::size_t own = made.servers.size() - made.node_ports;
      for (std::size_t i = 0; i < made.servers.size(); ++i) claims[made.servers[i].server.key][port_id.first] = i >= own;
      items.insert(made.items.begin(), made.items.end());
      addresses.insert(made.addresses.begin(), made.addresses.end());
      closed.insert(made.closed.begin(), made.closed.end());
    }
    CPPUNIT_ASSERT(items == followed.items);
    CPPUNIT_ASSERT(addresses == followed.addresses);
    CPPUNIT_ASSERT(closed == wanted.closed());
    CPPUNIT_ASSERT_EQUAL(claims.size(), followed.servers.size());
    CPPUNIT_ASSERT_EQUAL(model.size(), wanted.size());
    for (const auto& [key, claimants] : claims) {
      const ServerKey& at = key;  // for the capture of a lambda
      const WantedServer& has = followed.servers.at(at);
      CPPUNIT_ASSERT(claimants.contains(has.owner));
      const bool own_wants = std::any_of(claimants.begin(), claimants.end(), [](const auto& one) { return !one.second; });
      CPPUNIT_ASSERT(!(own_wants && claimants.at(has.owner)));
      // Its real servers are those of the active plan.
      const auto& servers = model.at(id(has.owner)).servers;
      const auto planned =
          std::find_if(servers.begin(), servers.end(), [&](const WantedServer& one) { return one.server.key == at; });
      CPPUNIT_ASSERT(*planned->real == *has.real);
      CPPUNIT_ASSERT(wanted.wants(at));
    }
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(WantedTest);

}  // namespace wanted_test
}  // namespace sluice::ipvs
