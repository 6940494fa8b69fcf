// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Service ports as elements: minimal changes, owners of frontends, reuse of numbers, descriptions.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <string>
#include <vector>

#include "plugins/nftables/layout/set_spec.hpp"
#include "sluice/sdk/error.hpp"
#include "test/unit/nftables/model/model_rig.hpp"
#include "test/unit/repetitions.hpp"

namespace sluice::test {
namespace model_test {

using namespace nftables;

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// "- endpoints", "+ service-treatments (ns1/svc1:p80)", sorted.
std::string text_of(const Changes& changes) {
  std::vector<std::string> lines;
  for (const ElementWrite& element : changes.elements) {
    std::string line = (element.remove ? "- " : "+ ") + set_spec(abi::Family::kIpv4, element.record.set).name;
    if (!element.comment.empty()) line += " (" + element.comment + ")";
    lines.push_back(line);
  }
  std::sort(lines.begin(), lines.end());
  return joined(lines);
}

class NftablesModelTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(NftablesModelTest);
  CPPUNIT_TEST(a_service_port_is_these_elements);
  CPPUNIT_TEST(one_endpoint_is_a_handful_of_elements);
  CPPUNIT_TEST(one_endpoint_with_affinity);
  CPPUNIT_TEST(changes_that_cancel_out_are_not_written);
  CPPUNIT_TEST(elements_have_owners);
  CPPUNIT_TEST(shared_elements_stay_while_a_service_port_wants_them);
  CPPUNIT_TEST(the_first_one_keeps_a_frontend);
  CPPUNIT_TEST(the_next_by_name_gets_it);
  CPPUNIT_TEST(after_a_restart_it_is_whose_it_was);
  CPPUNIT_TEST(services_of_one_class_share_a_chain);
  CPPUNIT_TEST(chains_stay_until_they_are_removed);
  CPPUNIT_TEST(chains_of_a_refused_transaction_are_written_again);
  CPPUNIT_TEST(numbers_of_chains_are_not_used_again_at_once);
  CPPUNIT_TEST(firewalls_are_shared_by_their_ranges);
  CPPUNIT_TEST(numbers_that_lead_nowhere_are_not_given_away);
  CPPUNIT_TEST(an_id_of_another_one_is_not_believed);
  CPPUNIT_TEST(without_numbers_it_stays_as_it_was);
  CPPUNIT_TEST(ids_come_back);
  CPPUNIT_TEST(counters_of_all_frontends);
  CPPUNIT_TEST(long_names_are_cut_in_comments);
  CPPUNIT_TEST(equal_names_of_two_protocols);
  CPPUNIT_TEST(describes_service_ports);
  CPPUNIT_TEST_SUITE_END();

  static ServiceSpec service(const std::string& name, unsigned number, unsigned endpoints = 2) {
    ServiceSpec spec;
    spec.name = name;
    spec.cluster_ip = "172.30.0." + std::to_string(number);
    for (unsigned i = 0; i < endpoints; ++i) {
      spec.endpoints.push_back({"10.180." + std::to_string(number) + "." + std::to_string(i + 1), 80, i == 0});
    }
    return spec;
  }
  static void equal(const std::string& expected, const std::string& got) { CPPUNIT_ASSERT_EQUAL(expected, got); }

  void a_service_port_is_these_elements() {
    ModelRig rig;
    ServiceSpec spec = service("a", 1);
    spec.node_port = 30001;
    spec.vips = {"1.2.3.4"};
    spec.source_ranges = {"10.0.0.0/8"};
    spec.external_local = true;
    rig.put(spec);
    const Changes changes = rig.sync();
    equal("+ cluster-ips\n+ endpoints\n+ endpoints\n+ endpoints\n+ endpoints\n+ endpoints\n+ firewalled-services (ns1/a:p80)\n"
          "+ hairpin-connections\n+ nodeport-endpoints\n+ nodeport-endpoints\n+ nodeport-endpoints\n"
          "+ nodeport-treatments (ns1/a:p80)\n+ service-treatments (ns1/a:p80)\n+ service-treatments (ns1/a:p80)\n",
          text_of(changes));
    CPPUNIT_ASSERT_EQUAL(std::size_t{14}, rig.model.elements());
    std::vector<std::string> chains;
    for (const SharedChain& chain : changes.chains) chains.push_back(chain.name);
    CPPUNIT_ASSERT_EQUAL(std::size_t{7}, chains.size());
    const auto place = [&](const std::string& name) {
      return std::find(chains.begin(), chains.end(), name) - chains.begin();
    };
    CPPUNIT_ASSERT(place("external-local-2-1") > place("endpoints-2"));
    CPPUNIT_ASSERT(place("external-local-2-1") > place("local-endpoints-1"));
    CPPUNIT_ASSERT(place("nodeport-external-local-2-1") > place("nodeport-endpoints-2"));
    CPPUNIT_ASSERT(place("nodeport-external-local-2-1") < 7);
    rig.remove(spec);
    rig.sync();
    CPPUNIT_ASSERT(rig.table.elements.empty());
  }

  void one_endpoint_is_a_handful_of_elements() {
    ModelRig rig;
    ServiceSpec spec = service("a", 1, 50);
    rig.put(spec);
    rig.put(service("b", 2, 50));
    rig.sync();
    spec.endpoints[20].address = "10.180.1.99";
    rig.put(spec);
    equal("+ endpoints\n- endpoints\n", text_of(rig.sync()));
    spec.endpoints.erase(spec.endpoints.begin() + 7);
    rig.put(spec);
    equal("+ endpoints\n+ service-treatments (ns1/a:p80)\n- endpoints\n- endpoints\n- service-treatments\n",
          text_of(rig.sync()));
    rig.put(spec);
    CPPUNIT_ASSERT(rig.sync().empty());
  }

  void one_endpoint_with_affinity() {
    ModelRig rig;
    ServiceSpec spec = service("a", 1, 50);
    spec.affinity_seconds = 60;
    spec.external_ips = {"1.2.3.4"};
    rig.put(spec);
    rig.sync();
    const auto before = rig.table.elements;
    spec.endpoints[20].address = "10.180.1.99";
    rig.put(spec);
    equal("+ affinity-endpoints\n+ affinity-slots\n- affinity-endpoints\n- affinity-slots\n", text_of(rig.sync()));
    for (const auto& [place, value] : rig.table.elements) {
      const auto known = before.find(place);
      if (place.first == SetId::kAffinityEndpoints && known != before.end()) CPPUNIT_ASSERT(known->second == value);
    }
  }

  void changes_that_cancel_out_are_not_written() {
    ModelRig rig;
    const ServiceSpec spec = service("a", 1);
    rig.put(spec);
    rig.sync();
    rig.remove(spec);
    rig.put(spec);
    rig.put(service("b", 2));
    rig.remove(service("b", 2));
    const Changes changes = rig.sync();
    equal("", text_of(changes));
    CPPUNIT_ASSERT(changes.chains.empty());
  }

  void elements_have_owners() {
    ModelRig rig;
    ServiceSpec https = service("a", 1);
    https.port_name = "https";
    https.port = 443;
    rig.put(service("a", 1));
    rig.put(https);
    const Changes changes = rig.sync();
    CPPUNIT_ASSERT_EQUAL(std::string(), changes.owners.front());
    for (const ElementWrite& element : changes.elements) {
      const std::string owner = changes.owners.at(element.owner);
      if (element.record.set == SetId::kClusterIps) equal("ns1/a:p80", owner);
      if (!element.comment.empty()) equal(element.comment, owner);
    }
  }

  void shared_elements_stay_while_a_service_port_wants_them() {
    ModelRig rig;
    ServiceSpec https = service("a", 1);
    https.port_name = "https";
    https.port = 443;
    rig.put(service("a", 1));
    rig.put(https);
    rig.sync();
    rig.remove(service("a", 1));
    equal("- endpoints\n- endpoints\n- service-treatments\n", text_of(rig.sync()));
    CPPUNIT_ASSERT(rig.reading().has_cluster_ip({{172, 30, 0, 1}}));
    rig.remove(https);
    rig.sync();
    CPPUNIT_ASSERT(rig.table.elements.empty());
  }

  static ServiceSpec with_shared_address(const std::string& name, unsigned number) {
    ServiceSpec spec = service(name, number);
    spec.external_ips = {"1.2.3.4"};
    return spec;
  }
  static Outcome at_shared_address(const ModelRig& rig) {
    return rig.reading().ask(Client::kOutside, {false, {{1, 2, 3, 4}}, abi::Protocol::kTcp, 80});
  }

  void the_first_one_keeps_a_frontend() {
    ModelRig rig;
    CPPUNIT_ASSERT(rig.put(with_shared_address("m", 1)).empty());
    const auto conflicts = rig.put(with_shared_address("a", 2));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, conflicts.size());
    equal("ns1/m:p80", conflicts[0].owner);
    equal("ns1/a:p80", conflicts[0].loser);
    equal("1.2.3.4:80/tcp", nftables::to_string(rig.family, conflicts[0].key));
    rig.sync();
    equal("10.180.1.1:80, 10.180.1.2:80 masqueraded", test::to_string(rig.family, at_shared_address(rig)));
    // Other changes of the two service ports make no difference.
    rig.put(with_shared_address("a", 2));
    CPPUNIT_ASSERT(rig.put(with_shared_address("m", 1)).empty());
    CPPUNIT_ASSERT(rig.sync().empty());
    CPPUNIT_ASSERT(rig.model.take_gained().empty());
  }

  void the_next_by_name_gets_it() {
    ModelRig rig;
    rig.put(with_shared_address("m", 1));
    rig.put(with_shared_address("z", 2));
    rig.put(with_shared_address("b", 3));
    rig.sync();
    rig.put(service("m", 1));
    rig.sync();
    CPPUNIT_ASSERT(rig.model.take_gained() == std::vector<PortId>({ModelRig::id(service("b", 3))}));
    equal("10.180.3.1:80, 10.180.3.2:80 masqueraded", test::to_string(rig.family, at_shared_address(rig)));
    rig.remove(service("b", 3));
    rig.remove(service("z", 2));
    rig.sync();
    CPPUNIT_ASSERT(rig.model.take_gained().empty());
    CPPUNIT_ASSERT(at_shared_address(rig).kind == Outcome::Kind::kNothing);
  }

  void after_a_restart_it_is_whose_it_was() {
    ModelRig rig;
    rig.put(with_shared_address("m", 1));
    rig.put(with_shared_address("a", 2));
    rig.sync();
    const Listing listing = rig.table.listing(rig.family);
    rig.model.start_over(&listing);
    CPPUNIT_ASSERT(rig.put(with_shared_address("a", 2)).empty());
    const auto conflicts = rig.put(with_shared_address("m", 1));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, conflicts.size());
    equal("ns1/m:p80", conflicts[0].owner);
    equal("ns1/a:p80", conflicts[0].loser);
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig.load());
    // Once loaded, the frontend is not taken away.
    rig.remove(with_shared_address("m", 1));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.put(with_shared_address("m", 1)).size());
  }

  void services_of_one_class_share_a_chain() {
    ModelRig rig;
    rig.put(service("a", 1));
    rig.put(service("b", 2));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.sync().chains.size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig.model.chains().front().users);
    rig.put(service("a", 1, 3));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.sync().chains.size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig.model.chains().size());
  }

  static std::vector<SharedChain> unused(const Model& model) {
    std::vector<SharedChain> found;
    for (const SharedChain& chain : model.chains()) {
      if (chain.users == 0) found.push_back(chain);
    }
    return found;
  }

  void chains_stay_until_they_are_removed() {
    ModelRig rig;
    ServiceSpec spec = service("a", 1, 3);
    spec.external_ips = {"1.2.3.4"};
    rig.put(spec);
    rig.sync();
    rig.remove(spec);
    CPPUNIT_ASSERT(rig.sync().chains.empty());
    // The chain it refers to is in use as long as it exists.
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig.model.chains().size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, unused(rig.model).size());
    equal("external-3", unused(rig.model).front().name);
    rig.put(spec);
    CPPUNIT_ASSERT(rig.sync().chains.empty());
    rig.remove(spec);
    rig.model.removed(unused(rig.model));
    equal("endpoints-3", unused(rig.model).front().name);
    rig.model.removed(unused(rig.model));
    CPPUNIT_ASSERT(rig.model.chains().empty());
  }

  void chains_of_a_refused_transaction_are_written_again() {
    ModelRig rig;
    rig.put(service("a", 1));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.model.take_changes().chains.size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.model.take_changes().chains.size());
    rig.model.wrote(rig.model.take_changes().chains);
    CPPUNIT_ASSERT(rig.model.take_changes().empty());
    rig.model.removed(std::vector<SharedChain>(rig.model.chains()));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.model.take_changes().chains.size());
  }

  void numbers_of_chains_are_not_used_again_at_once() {
    ModelRig rig;
    rig.put(service("a", 1, 2));
    const std::uint32_t first = rig.sync().chains.front().number;
    CPPUNIT_ASSERT(first != 0);
    rig.remove(service("a", 1));
    rig.model.removed(unused(rig.model));
    rig.put(service("a", 1, 3));
    CPPUNIT_ASSERT(rig.model.take_changes().chains.front().number != first);
  }

  void firewalls_are_shared_by_their_ranges() {
    ModelRig rig;
    ServiceSpec a = service("a", 1), b = service("b", 2);
    a.vips = {"1.2.3.4"};
    b.vips = {"1.2.3.5"};
    a.source_ranges = {"10.0.0.0/8", "203.0.113.0/25"};
    b.source_ranges = {"203.0.113.0/25", "10.0.0.0/8"};
    rig.put(a);
    rig.put(b);
    rig.sync();
    const auto firewalls = [&] {
      return std::count_if(rig.model.chains().begin(), rig.model.chains().end(),
                           [](const SharedChain& chain) { return chain.firewall; });
    };
    CPPUNIT_ASSERT_EQUAL(std::ptrdiff_t{1}, firewalls());
    b.source_ranges = {"10.0.0.0/8"};
    rig.put(b);
    rig.sync();
    CPPUNIT_ASSERT_EQUAL(std::ptrdiff_t{2}, firewalls());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.reading().firewall({false, {{1, 2, 3, 5}}, abi::Protocol::kTcp, 80}).size());
  }

  // Elements may still have the number of a lost chain: no other chain may get it before the elements are repaired.
  void numbers_that_lead_nowhere_are_not_given_away() {
    ModelRig rig;
    rig.put(service("a", 1, 2));
    rig.put(service("b", 2, 3));
    rig.sync();
    StrictTable harmed = rig.table;
    harmed.chains.clear();
    const Listing listing = harmed.listing(rig.family);
    rig.model.start_over(&listing);
    rig.put(service("b", 2, 3));
    rig.put(service("a", 1, 2));
    for (const SharedChain& chain : rig.model.take_changes().chains) {
      for (const SharedChain& before : rig.table.chains) CPPUNIT_ASSERT(chain.number != before.number);
    }
  }

  void an_id_of_another_one_is_not_believed() {
    ModelRig rig;
    ServiceSpec a = service("a", 1), b = service("b", 2);
    a.affinity_seconds = b.affinity_seconds = 60;
    rig.put(a);
    rig.put(b);
    rig.sync();
    StrictTable harmed = rig.table;
    const auto of = [](unsigned char last) {
      const FrontendKey key{false, {{172, 30, 0, last}}, abi::Protocol::kTcp, 80};
      return StrictTable::Place(SetId::kAffinityServices, frontend_key(abi::Family::kIpv4, key));
    };
    harmed.elements.at(of(1)).data = harmed.elements.at(of(2)).data;
    const auto good = rig.table.elements;
    rig.table = harmed;
    const Listing listing = harmed.listing(rig.family);
    rig.model.start_over(&listing);
    rig.put(a);
    rig.put(b);
    rig.load();
    CPPUNIT_ASSERT(good.at(of(2)) == rig.table.elements.at(of(2)));
    CPPUNIT_ASSERT(!(good.at(of(2)) == rig.table.elements.at(of(1))));
    CPPUNIT_ASSERT(rig.reading().faults().empty());
  }

  void without_numbers_it_stays_as_it_was() {
    ModelRig rig;
    rig.put(service("a", 1));
    rig.sync();
    const auto before = rig.table.elements;
    ServicePlan plan = rig.plan(service("a", 1));
    plan.affinity_seconds = 60;
    plan.cluster.clear();
    for (unsigned i = 0; i < 65536; ++i) {
      plan.cluster.push_back({{{10, 0, static_cast<std::uint8_t>(i >> 8), static_cast<std::uint8_t>(i)}}, 80});
    }
    try {
      rig.model.put(ModelRig::id(service("a", 1)), plan);
      CPPUNIT_FAIL("no exception");
    } catch (const sdk::Failure& failure) {
      equal("ns1/a:p80", failure.object());
    }
    CPPUNIT_ASSERT(rig.sync().empty());
    CPPUNIT_ASSERT(before == rig.wanted());
  }

  void ids_come_back() {
    ModelRig rig;
    ServiceSpec spec = service("a", 1, 1);
    spec.affinity_seconds = 60;
    const PortId id = ModelRig::id(spec);
    const ServicePlan sticky = rig.plan(spec);
    spec.affinity_seconds = 0;
    const ServicePlan plain = rig.plan(spec);
    // More than there are ids. With a sanitizer there are fewer repetitions, and only memory errors are found.
    for (unsigned i = 0; i < repetitions(33000); ++i) {
      rig.model.put(id, sticky);
      rig.model.put(id, plain);
      rig.model.put(id, sticky);
      rig.model.remove(id);
    }
    CPPUNIT_ASSERT(rig.model.take_changes().elements.empty());
  }

  void counters_of_all_frontends() {
    ModelRig rig(abi::Family::kIpv4, true);
    ServiceSpec spec = service("a", 1);
    spec.node_port = 30001;
    rig.put(spec);
    rig.sync();
    const auto before = rig.table.elements;
    spec.endpoints.clear();
    rig.put(spec);
    rig.sync();
    for (const auto& [place, value] : before) {
      if (place.first == SetId::kServiceTraffic || place.first == SetId::kNodePortTraffic) {
        CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.table.elements.count(place));
      }
    }
    equal("+ nodeport-traffic\n+ service-traffic\n", [&] {
      ModelRig fresh(abi::Family::kIpv4, true);
      fresh.put(spec);
      Changes changes = fresh.sync();
      std::erase_if(changes.elements, [](const ElementWrite& element) {
        return element.record.set != SetId::kServiceTraffic && element.record.set != SetId::kNodePortTraffic;
      });
      return text_of(changes);
    }());
  }

  void long_names_are_cut_in_comments() {
    ModelRig rig;
    ServiceSpec spec = service(std::string(63, 's'), 1);
    spec.namespace_name = std::string(63, 'n');
    spec.port_name = std::string(15, 'p');
    rig.put(spec);
    const Changes changes = rig.sync();
    const auto is_service = [](const ElementWrite& element) { return element.record.set == SetId::kServiceIps; };
    const auto element = std::find_if(changes.elements.begin(), changes.elements.end(), is_service);
    CPPUNIT_ASSERT_EQUAL(std::size_t{128}, element->comment.size());
    equal("...", element->comment.substr(125));
    equal(ModelRig::id(spec).first, changes.owners.at(element->owner));
  }

  void equal_names_of_two_protocols() {
    ModelRig rig;
    ServiceSpec tcp = service("dns", 1), udp = service("dns", 1);
    udp.protocol = abi::Protocol::kUdp;
    CPPUNIT_ASSERT(rig.put(tcp).empty() && rig.put(udp).empty());
    rig.sync();
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig.model.size());
    rig.remove(tcp);
    rig.sync();
    CPPUNIT_ASSERT(rig.model.ids() == std::vector<PortId>({{"ns1/dns:p80", abi::Protocol::kUdp}}));
  }

  void describes_service_ports() {
    ModelRig rig;
    ServiceSpec spec = service("a", 1);
    spec.node_port = 30001;
    rig.put(spec);
    equal("ns1/a:p80 172.30.0.1:80/tcp -> 10.180.1.1:80, 10.180.1.2:80\n"
          "ns1/a:p80 :30001/tcp -> 10.180.1.1:80, 10.180.1.2:80 (masqueraded)\n",
          joined(rig.describe(spec)));
    spec.external_local = true;
    spec.internal_local = true;
    spec.vips = {"1.2.3.4"};
    spec.source_ranges = {"10.0.0.0/8"};
    spec.affinity_seconds = 60;
    rig.put(spec);
    const std::string local = "-> 10.180.1.1:80 (policy Local)";
    const std::string short_way = "; from this node and its pods -> 10.180.1.1:80, 10.180.1.2:80";
    const std::string sticky = "; clients keep their endpoint for 60 s";
    equal("ns1/a:p80 172.30.0.1:80/tcp " + local + sticky + "\nns1/a:p80 1.2.3.4:80/tcp " + local + short_way + sticky +
              "; only for clients in 10.0.0.0/8\nns1/a:p80 :30001/tcp " + local + short_way + sticky + "\n",
          joined(rig.describe(spec)));
    spec.endpoints.erase(spec.endpoints.begin());
    spec.affinity_seconds = 0;
    spec.vips = {};
    rig.put(spec);
    equal("ns1/a:p80 172.30.0.1:80/tcp dropped, as no endpoint is on this node\n"
          "ns1/a:p80 :30001/tcp dropped, as no endpoint is on this node; from this node and its pods -> 10.180.1.2:80\n",
          joined(rig.describe(spec)));
    spec.endpoints.clear();
    rig.put(spec);
    rig.put(with_shared_address("b", 2));
    rig.put(with_shared_address("c", 3));
    equal("ns1/a:p80 172.30.0.1:80/tcp rejected, as there are no endpoints\n"
          "ns1/a:p80 :30001/tcp rejected, as there are no endpoints\n",
          joined(rig.describe(spec)));
    equal("ns1/c:p80 172.30.0.3:80/tcp -> 10.180.3.1:80, 10.180.3.2:80\n"
          "ns1/c:p80 1.2.3.4:80/tcp not served here: ns1/b:p80 has it\n",
          joined(rig.describe(service("c", 3))));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(NftablesModelTest);

}  // namespace model_test
}  // namespace sluice::test
