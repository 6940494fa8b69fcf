// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include <cppunit/extensions/HelperMacros.h>
#include <libmnl/libmnl.h>
#include <libnftnl/rule.h>
#include <linux/netfilter/nf_tables.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "plugins/nftables/layout/expressions.hpp"
#include "plugins/nftables/layout/layout.hpp"
#include "plugins/nftables/layout/typeof.hpp"

namespace sluice::nftables {
namespace rule_test {

struct Free {
  void operator()(nftnl_rule* rule) const { nftnl_rule_free(rule); }
};

// Decodes a rule as if the kernel had listed it.
Rule sent_and_read(const Rule& rule) {
  std::array<char, 8192> buffer{};
  nlmsghdr* header = mnl_nlmsg_put_header(buffer.data());
  mnl_nlmsg_put_extra_header(header, 4);
  mnl_attr_put(header, NFTA_RULE_EXPRESSIONS | NLA_F_NESTED, rule.expressions.size(), rule.expressions.data());
  const std::string userdata = comment_userdata(rule.comment);
  if (!userdata.empty()) mnl_attr_put(header, NFTA_RULE_USERDATA, userdata.size(), userdata.data());
  const std::unique_ptr<nftnl_rule, Free> parsed(nftnl_rule_alloc());
  CPPUNIT_ASSERT_EQUAL(0, nftnl_rule_nlmsg_parse(header, parsed.get()));
  return read_rule(parsed.get());
}

abi::Prefix prefix(std::uint8_t first, std::uint8_t length) {
  abi::Prefix made{};
  made.address.bytes[0] = first;
  made.length = length;
  return made;
}

class RuleTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(RuleTest);
  CPPUNIT_TEST(what_is_sent_is_read_back);
  CPPUNIT_TEST(different_rules_have_different_texts);
  CPPUNIT_TEST(a_comment_is_a_part_of_a_rule);
  CPPUNIT_TEST(affinity_data_follows_the_key);
  CPPUNIT_TEST(whole_bytes_of_a_prefix_are_loaded);
  CPPUNIT_TEST_SUITE_END();

  void what_is_sent_is_read_back() {
    LayoutFacts facts;
    facts.masquerade_mark = 0x4000;
    facts.counters = true;
    facts.offload = true;
    facts.node_ports_match_all = true;
    facts.detector = abi::LocalDetectorKind::kInterfaceNamePrefix;
    facts.detector_interface = "veth";
    for (const auto family : {abi::Family::kIpv4, abi::Family::kIpv6}) {
      facts.family = family;
      facts.service_cidrs = {prefix(10, 12), prefix(64, 16)};
      std::vector<ChainSpec> chains = fixed_chains(facts);
      for (const bool node_port : {false, true}) {
        for (const std::uint32_t seconds : {0u, 10800u}) {
          chains.push_back(class_chain(facts, {ServiceClass::Kind::kCluster, node_port, 3, 0, seconds}));
          chains.push_back(class_chain(facts, {ServiceClass::Kind::kLocal, node_port, 0, 2, seconds}));
          chains.push_back(class_chain(facts, {ServiceClass::Kind::kExternal, node_port, 3, 0, seconds}));
          chains.push_back(class_chain(facts, {ServiceClass::Kind::kExternalLocal, node_port, 3, 2, seconds}));
        }
      }
      chains.push_back(firewall_chain(facts, {prefix(10, 8), prefix(64, 11)}));
      for (const auto& chain : chains) {
        for (const auto& rule : chain.rules) {
          const Rule read = sent_and_read(rule);
          CPPUNIT_ASSERT_EQUAL_MESSAGE(chain.name, rule.text, read.text);
          CPPUNIT_ASSERT_MESSAGE(chain.name, rule == read);
        }
      }
    }
  }
  void different_rules_have_different_texts() {
    const auto rule = [] { return RuleBuilder(abi::Family::kIpv4); };
    const std::vector<Rule> rules = {
        rule().from(prefix(10, 8)).drop().make(),
        rule().from(prefix(10, 9)).drop().make(),
        rule().from(prefix(10, 8), true).drop().make(),
        rule().to(prefix(10, 8)).drop().make(),
        rule().through("veth", true).drop().make(),
        rule().through("veth", false).drop().make(),
        rule().go("a").make(),
        rule().jump("a").make(),
        rule().go("b").make(),
        rule().back().make(),
        rule().from_this_node().drop().make(),
        rule().to_this_node().drop().make(),
        rule().translate({{Field::Kind::kRandom, 3, 0}}, "endpoints").make(),
        rule().translate({{Field::Kind::kRandom, 4, 0}}, "endpoints").make(),
        rule().translate({{Field::Kind::kRandom, 3, 65536}}, "endpoints").make(),
        rule().update_affinity(RuleBuilder::AffinityOp::kAdd, "affinity", 5).make(),
        rule().update_affinity(RuleBuilder::AffinityOp::kRefresh, "affinity", 5).make(),
        rule().update_affinity(RuleBuilder::AffinityOp::kAdd, "affinity", 6).make(),
        rule().set_mark(0x4000).make(),
        rule().flip_mark(0x4000).make(),
        rule().set_mark(0x8000).make(),
        rule().masquerade().make(),
        rule().reject().make(),
    };
    for (std::size_t i = 0; i < rules.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) CPPUNIT_ASSERT_MESSAGE(rules[i].text, !(rules[i] == rules[j]));
    }
  }
  void a_comment_is_a_part_of_a_rule() {
    const Rule one = RuleBuilder(abi::Family::kIpv4).drop().make("one");
    CPPUNIT_ASSERT_EQUAL(std::string("one"), sent_and_read(one).comment);
    CPPUNIT_ASSERT(!(one == RuleBuilder(abi::Family::kIpv4).drop().make("other")));
    CPPUNIT_ASSERT(!(one == RuleBuilder(abi::Family::kIpv4).drop().make()));
  }
  // An IPv6 key has five words: it extends into the second register of 16 bytes.
  void affinity_data_follows_the_key() {
    const Rule rule =
        RuleBuilder(abi::Family::kIpv6).update_affinity(RuleBuilder::AffinityOp::kAdd, "affinity", 5).make();
    CPPUNIT_ASSERT_MESSAGE(rule.text, rule.text.find("sreg_data 3 ") != std::string::npos);
  }
  void whole_bytes_of_a_prefix_are_loaded() {
    const auto text = [](std::uint8_t length) {
      return RuleBuilder(abi::Family::kIpv4).from(prefix(10, length)).make().text;
    };
    CPPUNIT_ASSERT(text(16).find("load 2b") != std::string::npos);
    CPPUNIT_ASSERT(text(16).find("bitwise") == std::string::npos);
    CPPUNIT_ASSERT(text(12).find("load 4b") != std::string::npos);
    CPPUNIT_ASSERT(text(12).find("& 0x0000f0ff") != std::string::npos);
    CPPUNIT_ASSERT_EQUAL(std::string(), text(0));  // all sources
  }
};
CPPUNIT_TEST_SUITE_REGISTRATION(RuleTest);

}  // namespace rule_test
}  // namespace sluice::nftables
