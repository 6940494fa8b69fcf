// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/layout/layout.hpp"

#include <cppunit/extensions/HelperMacros.h>
#include <netinet/in.h>
// After <netinet/in.h>, which has the same definitions otherwise.
#include <linux/netfilter.h>

#include <set>
#include <string>
#include <vector>

#include "plugins/nftables/layout/set_spec.hpp"
#include "sluice/sdk/address.hpp"
#include "sluice/sdk/error.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::nftables {
namespace layout_test {

using Kind = ServiceClass::Kind;

LayoutFacts facts(abi::LocalDetectorKind detector = abi::LocalDetectorKind::kNone) {
  LayoutFacts made;
  made.masquerade_mark = 0x4000;
  made.detector = detector;
  made.detector_interface = "cni0";
  made.detector_cidr.address.bytes[0] = 10;
  made.detector_cidr.length = 8;
  return made;
}

const ChainSpec& find(const std::vector<ChainSpec>& chains, const std::string& name) {
  for (const auto& chain : chains) {
    if (chain.name == name) return chain;
  }
  CPPUNIT_FAIL("no chain " + name);
}

bool has(const ChainSpec& chain, const std::string& text) {
  for (const auto& rule : chain.rules) {
    if (rule.text.find(text) != std::string::npos) return true;
  }
  return false;
}

// Every word after `before` in the rules of a chain.
std::vector<std::string> words_after(const ChainSpec& chain, const std::string& before) {
  std::vector<std::string> words;
  for (const auto& rule : chain.rules) {
    for (auto at = rule.text.find(before); at != std::string::npos; at = rule.text.find(before, at)) {
      at += before.size();
      words.push_back(rule.text.substr(at, rule.text.find_first_of(" \n", at) - at));
    }
  }
  return words;
}

class LayoutTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(LayoutTest);
  CPPUNIT_TEST(chain_names_have_the_service_class);
  CPPUNIT_TEST(shared_chains_are_recognized_by_name);
  CPPUNIT_TEST(each_chain_refers_to_earlier_ones_only);
  CPPUNIT_TEST(rules_look_into_sets_there_are);
  CPPUNIT_TEST(external_local_without_a_detector);
  CPPUNIT_TEST(external_local_without_local_endpoints);
  CPPUNIT_TEST(external_local_in_its_order);
  CPPUNIT_TEST(a_list_without_endpoints_is_no_rule);
  CPPUNIT_TEST(a_list_that_becomes_shorter_has_its_first_slot);
  CPPUNIT_TEST(random_slot_of_the_list);
  CPPUNIT_TEST(new_list_length_uses_no_map);
  CPPUNIT_TEST(sticky_clients_survive_a_shrinking_list);
  CPPUNIT_TEST(all_pods_local_needs_no_match);
  CPPUNIT_TEST(masquerade_all_needs_no_detector);
  CPPUNIT_TEST(node_ports_by_address);
  CPPUNIT_TEST(each_service_cidr_has_a_rule);
  CPPUNIT_TEST(counting_only_where_asked_for);
  CPPUNIT_TEST(offload_only_where_asked_for);
  CPPUNIT_TEST(firewalls_are_named_by_their_lists);
  CPPUNIT_TEST(facts_of_a_node);
  CPPUNIT_TEST(no_interface_of_strange_characters);
  CPPUNIT_TEST_SUITE_END();

  static std::vector<ServiceClass> service_classes() {
    std::vector<ServiceClass> all;
    for (const bool node_port : {false, true}) {
      for (const std::uint32_t seconds : {0u, 1u, 86400u}) {
        all.push_back({Kind::kCluster, node_port, 250, 0, seconds});
        all.push_back({Kind::kLocal, node_port, 0, 1, seconds});
        all.push_back({Kind::kExternal, node_port, 3, 0, seconds});
        all.push_back({Kind::kExternalLocal, node_port, 3, 1, seconds});
        all.push_back({Kind::kExternalLocal, node_port, 3, 0, seconds});
      }
    }
    return all;
  }

  void chain_names_have_the_service_class() {
    CPPUNIT_ASSERT_EQUAL(std::string("endpoints-3"), chain_name({Kind::kCluster, false, 3, 0, 0}));
    CPPUNIT_ASSERT_EQUAL(std::string("local-endpoints-1"), chain_name({Kind::kLocal, false, 0, 1, 0}));
    CPPUNIT_ASSERT_EQUAL(std::string("nodeport-external-local-3-1"), chain_name({Kind::kExternalLocal, true, 3, 1, 0}));
    CPPUNIT_ASSERT_EQUAL(std::string("sticky-10800-external-3"), chain_name({Kind::kExternal, false, 3, 0, 10800}));
    CPPUNIT_ASSERT_EQUAL(std::string("nodeport-sticky-1-endpoints-2"), chain_name({Kind::kCluster, true, 2, 0, 1}));
    std::set<std::string> names;
    for (const auto& service_class : service_classes()) CPPUNIT_ASSERT(names.insert(chain_name(service_class)).second);
  }
  void shared_chains_are_recognized_by_name() {
    for (const auto& service_class : service_classes())
      CPPUNIT_ASSERT_MESSAGE(chain_name(service_class), is_shared_chain(chain_name(service_class)));
    CPPUNIT_ASSERT(is_shared_chain(firewall_chain_name({})));
    LayoutFacts all = facts();
    all.counters = all.offload = true;
    for (const auto& chain : fixed_chains(all)) CPPUNIT_ASSERT_MESSAGE(chain.name, !is_shared_chain(chain.name));
    for (const std::string name :
         {"", "endpoints-", "endpoints-03", "endpoints-3-1", "endpoints-x", "external-local-3", "external-local-3-",
          "local-endpoints", "sticky-endpoints-3", "sticky-10-", "sticky-10-firewall-AAAAAAAAAAAAAAAA", "nodeport-",
          "nodeport-nodeport-endpoints-3", "firewall-AAAAAAAAAAAAAAA", "firewall-AAAAAAAAAAAAAAA1",
          "firewall-AAAAAAAAAAAAAAAAA", "service-ULMVA6XW-ns1/svc1/tcp/p80", "endpoints-99999999999"}) {
      CPPUNIT_ASSERT_MESSAGE(name, !is_shared_chain(name));
    }
  }
  void each_chain_refers_to_earlier_ones_only() {
    LayoutFacts all = facts(abi::LocalDetectorKind::kCidr);
    all.counters = all.offload = true;
    std::set<std::string> before;
    bool base = false;
    for (const auto& chain : fixed_chains(all)) {
      for (const auto& to : words_after(chain, "-> ")) CPPUNIT_ASSERT_MESSAGE(to, before.count(to) == 1);
      CPPUNIT_ASSERT_MESSAGE(chain.name, before.insert(chain.name).second);
      CPPUNIT_ASSERT_MESSAGE(chain.name, chain.is_base || !base);
      base = chain.is_base;
    }
    for (const auto& service_class : service_classes()) {
      std::set<std::string> there;
      for (const auto& on : depends_on(service_class)) {
        there.insert(chain_name(on));
        CPPUNIT_ASSERT(depends_on(on).empty());
      }
      std::set<std::string> shared;
      for (const auto& to : words_after(class_chain(all, service_class), "-> ")) {
        if (before.count(to) == 0) shared.insert(to);
      }
      CPPUNIT_ASSERT(shared == there);
    }
  }
  void rules_look_into_sets_there_are() {
    for (const bool counters : {false, true}) {
      LayoutFacts all = facts(abi::LocalDetectorKind::kCidr);
      all.counters = all.offload = counters;
      std::set<std::string> names;
      for (const auto& spec : all_sets(all.family, counters, 100)) names.insert(spec.name);
      std::set<std::string> used;
      auto chains = fixed_chains(all);
      all.node_ports_match_all = true;
      for (const auto& chain : fixed_chains(all)) chains.push_back(chain);
      for (const auto& service_class : service_classes()) chains.push_back(class_chain(all, service_class));
      for (const auto& chain : chains) {
        for (const auto& rule : chain.rules) {
          ChainSpec one;
          one.rules = {rule};
          for (const auto& name : words_after(one, " set ")) {
            if (name == "mark" || name == "priority") continue;  // meta set ...
            CPPUNIT_ASSERT_MESSAGE(name, names.count(name) == 1);
            used.insert(name);
          }
        }
      }
      CPPUNIT_ASSERT_EQUAL(names.size(), used.size());
    }
  }
  void external_local_without_a_detector() {
    const ChainSpec chain = class_chain(facts(), {Kind::kExternalLocal, false, 3, 1, 0});
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, chain.rules.size());
    CPPUNIT_ASSERT_EQUAL(std::string("masquerade local traffic"), chain.rules[0].comment);
  }
  void external_local_without_local_endpoints() {
    const ChainSpec chain =
        class_chain(facts(abi::LocalDetectorKind::kBridgeInterface), {Kind::kExternalLocal, false, 3, 0, 0});
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, chain.rules.size());
    CPPUNIT_ASSERT(!has(chain, "local-endpoints"));
  }
  void external_local_in_its_order() {
    const ChainSpec chain =
        class_chain(facts(abi::LocalDetectorKind::kInterfaceNamePrefix), {Kind::kExternalLocal, true, 3, 2, 60});
    CPPUNIT_ASSERT_EQUAL(std::size_t{4}, chain.rules.size());
    CPPUNIT_ASSERT_EQUAL(std::string("short-circuit pod traffic"), chain.rules[0].comment);
    CPPUNIT_ASSERT_EQUAL(std::string("masquerade local traffic"), chain.rules[1].comment);
    CPPUNIT_ASSERT_EQUAL(std::string("short-circuit local traffic"), chain.rules[2].comment);
    CPPUNIT_ASSERT(chain.rules[3].text.find("nodeport-sticky-60-local-endpoints-2") != std::string::npos);
  }
  void a_list_without_endpoints_is_no_rule() {
    CPPUNIT_ASSERT(class_chain(facts(), {Kind::kCluster, false, 0, 0, 0}).rules.empty());
    CPPUNIT_ASSERT(class_chain(facts(), {Kind::kLocal, false, 0, 0, 60}).rules.empty());
    CPPUNIT_ASSERT(depends_on({Kind::kExternal, false, 0, 0, 0}).empty());
  }
  // The slots that the rules of a chain select from.
  static std::vector<std::string> slots(const ServiceClass& service_class) {
    std::vector<std::string> found;
    for (const auto& rule : class_chain(facts(), service_class).rules) {
      const auto at = rule.text.find("random mod ");
      found.push_back(at == std::string::npos ? "" : rule.text.substr(at + 7, rule.text.find('\n', at) - at - 7));
    }
    return found;
  }
  void a_list_that_becomes_shorter_has_its_first_slot() {
    const auto fixed = fixed_chains(facts());
    for (const std::string to : {"endpoint", "local-endpoint", "nodeport-endpoint", "nodeport-local-endpoint"}) {
      const ChainSpec& chain = find(fixed, to);
      CPPUNIT_ASSERT_EQUAL(std::size_t{2}, chain.rules.size());
      // The second rule differs from the first only in the slot.
      const std::string& first = chain.rules[0].text;
      const std::string& second = chain.rules[1].text;
      CPPUNIT_ASSERT_EQUAL(first, second.substr(second.size() - first.size()));
      const std::string slot = to.find("local") == std::string::npos ? "immediate reg 1 0x00000001\n" : "immediate reg 1 0x00010001\n";
      CPPUNIT_ASSERT_MESSAGE(second, second.find(slot) != std::string::npos);
    }
  }
  void random_slot_of_the_list() {
    using Slots = std::vector<std::string>;
    for (const bool node_port : {false, true}) {
      using Words = std::vector<std::string>;
      const std::string prefix = node_port ? "nodeport-" : "";
      const ServiceClass cluster{Kind::kCluster, node_port, 3, 0, 0};
      const ServiceClass local{Kind::kLocal, node_port, 0, 2, 0};
      CPPUNIT_ASSERT(slots(cluster) == Slots({"mod 3 offset 1"}));
      CPPUNIT_ASSERT(slots(local) == Slots({"mod 2 offset 65537"}));
      CPPUNIT_ASSERT(words_after(class_chain(facts(), cluster), "-> ") == Words{prefix + "endpoint"});
      CPPUNIT_ASSERT(words_after(class_chain(facts(), local), "-> ") == Words{prefix + "local-endpoint"});
    }
  }
  // The kernel walks a map when a chain starts to use it.
  void new_list_length_uses_no_map() {
    for (const auto& service_class : service_classes()) {
      if (service_class.affinity_seconds != 0) continue;
      for (const std::string map : {"set endpoints", "set nodeport-endpoints"}) {
        CPPUNIT_ASSERT_MESSAGE(chain_name(service_class), !has(class_chain(facts(), service_class), map));
      }
    }
  }
  void sticky_clients_survive_a_shrinking_list() {
    using Slots = std::vector<std::string>;
    for (const bool node_port : {false, true}) {
      CPPUNIT_ASSERT(slots({Kind::kCluster, node_port, 3, 0, 60}) ==
                     Slots({"", "", "", "mod 3 offset 1", "", "", "mod 1 offset 1", ""}));
      CPPUNIT_ASSERT(slots({Kind::kLocal, node_port, 0, 2, 60}) ==
                     Slots({"", "", "", "mod 2 offset 65537", "", "", "mod 1 offset 65537", ""}));
      // The endpoint may have been replaced by one with another token.
      CPPUNIT_ASSERT(slots({Kind::kCluster, node_port, 1, 0, 60}) ==
                     Slots({"", "", "", "mod 1 offset 1", "", "", "mod 1 offset 1", ""}));
      // In both cases, the client is deleted and added in the same way.
      const ChainSpec chain = class_chain(facts(), {Kind::kCluster, node_port, 1, 0, 60});
      for (std::size_t i = 2; i < 5; ++i) CPPUNIT_ASSERT_EQUAL(chain.rules[i].text, chain.rules[i + 3].text);
    }
  }
  void all_pods_local_needs_no_match() {
    LayoutFacts everywhere = facts(abi::LocalDetectorKind::kCidr);
    everywhere.detector_cidr = {};
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, find(fixed_chains(everywhere), "services").rules.size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{4}, class_chain(everywhere, {Kind::kExternalLocal, false, 3, 1, 0}).rules.size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{3},
                         find(fixed_chains(facts(abi::LocalDetectorKind::kCidr)), "services").rules.size());
  }
  void masquerade_all_needs_no_detector() {
    LayoutFacts all = facts();
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, find(fixed_chains(all), "services").rules.size());
    all.masquerade_all = true;
    const auto chains = fixed_chains(all);
    CPPUNIT_ASSERT_EQUAL(std::string("masquerade all clusterIP traffic"), find(chains, "services").rules[0].comment);
  }
  void node_ports_by_address() {
    LayoutFacts by_address = facts();
    CPPUNIT_ASSERT(has(find(fixed_chains(by_address), "services"), "set nodeport-ips"));
    CPPUNIT_ASSERT(has(find(fixed_chains(by_address), "nodeport-endpoints-check"), "set nodeport-ips"));
    by_address.node_ports_match_all = true;
    CPPUNIT_ASSERT(has(find(fixed_chains(by_address), "services"), "fib daddr type"));
    CPPUNIT_ASSERT(!has(find(fixed_chains(by_address), "services"), "set nodeport-ips"));
  }
  void each_service_cidr_has_a_rule() {
    LayoutFacts ranges = facts();
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, find(fixed_chains(ranges), "cluster-ips-check").rules.size());
    ranges.service_cidrs = {ranges.detector_cidr, ranges.detector_cidr};
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, find(fixed_chains(ranges), "cluster-ips-check").rules.size());
  }
  void counting_only_where_asked_for() {
    LayoutFacts counting = facts();
    for (const auto& chain : fixed_chains(counting)) CPPUNIT_ASSERT(!has(chain, "traffic"));
    counting.counters = true;
    std::size_t jumps = 0;
    for (const auto& chain : fixed_chains(counting)) jumps += has(chain, "jump -> count-traffic");
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, jumps);
  }
  // Only established and translated flows of our frontends, after all other forward chains.
  void offload_only_where_asked_for() {
    LayoutFacts offloading = facts();
    for (const auto& chain : fixed_chains(offloading)) CPPUNIT_ASSERT(!has(chain, "offload"));
    offloading.offload = true;
    for (const bool match_all : {false, true}) {
      offloading.node_ports_match_all = match_all;
      const auto chains = fixed_chains(offloading);
      std::size_t adding = 0;
      for (const auto& chain : chains) adding += has(chain, "flow_offload");
      CPPUNIT_ASSERT_EQUAL(std::size_t{1}, adding);
      const ChainSpec& chain = find(chains, kOffloadChain);
      CPPUNIT_ASSERT_EQUAL(std::size_t{4}, chain.rules.size());
      for (std::size_t at = 0; at < 4; ++at) {
        const std::string& text = chain.rules[at].text;
        const auto looks = [&](const std::string& set) { return text.find(" set " + set + " ") != std::string::npos; };
        CPPUNIT_ASSERT_MESSAGE(text, text.find("flowtable service-flows") != std::string::npos);
        CPPUNIT_ASSERT_MESSAGE(text, text.find(at < 2 ? "0x00000006" : "0x00000011") != std::string::npos);
        CPPUNIT_ASSERT_MESSAGE(text, looks(at % 2 == 0 ? "service-traffic" : "nodeport-traffic"));
        CPPUNIT_ASSERT_EQUAL_MESSAGE(text, at % 2 == 1 && !match_all, looks("nodeport-ips"));
      }
      const ChainSpec& base = find(chains, "filter-forward-offload");
      CPPUNIT_ASSERT(base.is_base && base.hook == (BaseHook{"filter", NF_INET_FORWARD, 1000}));
      CPPUNIT_ASSERT_EQUAL(std::size_t{1}, base.rules.size());
      CPPUNIT_ASSERT_MESSAGE(base.rules[0].text, has(base, "load state => reg 1") && has(base, "0x00000002"));
      CPPUNIT_ASSERT_MESSAGE(base.rules[0].text, has(base, "load status => reg 1") && has(base, "jump -> offload-flows"));
    }
  }
  void firewalls_are_named_by_their_lists() {
    const abi::Prefix ten = facts().detector_cidr;
    abi::Prefix other = ten;
    other.length = 9;
    CPPUNIT_ASSERT(firewall_chain_name({ten}) == firewall_chain_name({ten}));
    CPPUNIT_ASSERT(firewall_chain_name({ten}) != firewall_chain_name({other}));
    CPPUNIT_ASSERT(firewall_chain_name({ten}) != firewall_chain_name({ten, other}));
    const ChainSpec chain = firewall_chain(facts(), {ten, other});
    CPPUNIT_ASSERT_EQUAL(firewall_chain_name({ten, other}), chain.name);
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, chain.rules.size());
    CPPUNIT_ASSERT(chain.rules[2].text.find("drop") != std::string::npos);
  }
  void facts_of_a_node() {
    abi::NodeFacts node{};
    node.masquerade_mark = 0x4000;
    node.flags = abi::kMasqueradeAll | abi::kNodePortsMatchAll;
    node.detector = abi::LocalDetectorKind::kBridgeInterface;
    node.detector_interface = sdk::view("cni0");
    const abi::Prefix range = facts().detector_cidr;
    node.service_cidrs = sdk::array(&range, 1);
    const LayoutFacts read = layout_facts(abi::Family::kIpv4, node, true);
    CPPUNIT_ASSERT(read.masquerade_all && read.node_ports_match_all && read.counters);
    CPPUNIT_ASSERT_EQUAL(0x4000u, read.masquerade_mark);
    CPPUNIT_ASSERT_EQUAL(std::string("cni0"), read.detector_interface);
    CPPUNIT_ASSERT(read.service_cidrs.size() == 1 && sdk::equal(read.service_cidrs[0], range));
    CPPUNIT_ASSERT(read == layout_facts(abi::Family::kIpv4, node, true));
    CPPUNIT_ASSERT(!(read == layout_facts(abi::Family::kIpv4, node, false)));
    CPPUNIT_ASSERT(!(read == layout_facts(abi::Family::kIpv4, node, true, true)));
    node.service_cidrs = {};
    CPPUNIT_ASSERT(!(read == layout_facts(abi::Family::kIpv4, node, true)));
  }
  void no_interface_of_strange_characters() {
    abi::NodeFacts node{};
    node.detector = abi::LocalDetectorKind::kInterfaceNamePrefix;
    for (const char* name : {"", "a b", "veth*", "a\"b", "sixteen-letters-"}) {
      node.detector_interface = sdk::view(name);
      CPPUNIT_ASSERT_THROW(layout_facts(abi::Family::kIpv4, node, false), sdk::Failure);
    }
    node.detector = abi::LocalDetectorKind::kCidr;  // the interface is not used
    layout_facts(abi::Family::kIpv4, node, false);
  }
};
CPPUNIT_TEST_SUITE_REGISTRATION(LayoutTest);

}  // namespace layout_test
}  // namespace sluice::nftables
