// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/netfilter/tools.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "sluice/sdk/error.hpp"

namespace sluice::netfilter {
namespace tools_test {

// Programs by name, with their output.
class FakeNode {
 public:
  std::map<std::string, std::string> programs;
  std::string legacy_tables;
  mutable std::vector<std::string> asked;
  std::string slow;     // the program that times out
  std::string failing;  // the program that fails with error_output
  std::string error_output = "iptables-save v1.8.9 (legacy): Cannot initialize: Permission denied (you must be root)\n";

  void install(const std::string& name, const std::string& version) {
    programs[name] = version;
    programs[name + "-save"] = "";
    programs[name + "-restore"] = "";
  }
  NodePrograms node_programs() const {
    return {[this](std::string_view name) {
              return programs.contains(std::string(name)) ? "/sbin/" + std::string(name) : std::string();
            },
            [this](const lib::Program& command) {
              lib::ProgramResult outcome;
              outcome.exit_code = 0;
              const std::string name = command.arguments[0].substr(6);
              if (name == slow) {
                outcome.timed_out = true;
                outcome.exit_code = -1;
                return outcome;
              }
              if (name == failing) {
                outcome.exit_code = 1;
                outcome.error_output = error_output;
                return outcome;
              }
              if (command.arguments.size() > 4 && command.arguments[3] == "-S") {
                const std::string chain = "*" + command.arguments[2] + "\n:" + command.arguments[4] + " ";
                outcome.exit_code = programs.at(name + "-save").find(chain) == std::string::npos ? 1 : 0;
                asked.push_back(name);
                return outcome;
              }
              if (name.ends_with("-restore") && !programs.at(name).starts_with("iptables")) outcome.exit_code = 1;
              outcome.output = programs.at(name);
              asked.push_back(name);
              if (command.on_output) command.on_output(outcome.output);
              return outcome;
            },
            [this](abi::Family) { return legacy_tables; }};
  }
  Tools find(abi::Family family = abi::Family::kIpv4) const { return find_tools(family, node_programs()); }
};

constexpr char kNftVersion[] = "iptables v1.8.9 (nf_tables)\n";
constexpr char kLegacyVersion[] = "iptables v1.8.9 (legacy)\n";

class ToolsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ToolsTest);
  CPPUNIT_TEST(reads_versions);
  CPPUNIT_TEST(follows_the_default_of_the_distribution);
  CPPUNIT_TEST(follows_the_hint_of_kubelet);
  CPPUNIT_TEST(without_a_hint_the_variant_with_more_rules_is_selected);
  CPPUNIT_TEST(reading_the_hint_does_not_depend_on_the_number_of_rules);
  CPPUNIT_TEST(variant_with_too_many_rules_to_count_is_selected);
  CPPUNIT_TEST(warns_of_a_proxy_in_the_other_variant);
  CPPUNIT_TEST(unreadable_legacy_tables_are_reported);
  CPPUNIT_TEST(works_with_plain_program_names);
  CPPUNIT_TEST(each_family_has_its_own_tools);
  CPPUNIT_TEST(error_names_the_package_to_install);
  CPPUNIT_TEST(old_versions_lack_random_fully);
  CPPUNIT_TEST(lock_wait_depends_on_the_version);
  CPPUNIT_TEST_SUITE_END();

  void reads_versions() {
    const auto nft = parse_version(kNftVersion);
    CPPUNIT_ASSERT(nft && nft->variant == Variant::kNft && nft->version == (Version{1, 8, 9}));
    const auto old = parse_version("iptables v1.4.21");
    CPPUNIT_ASSERT(old && old->variant == Variant::kLegacy && old->version == (Version{1, 4, 21}));
    CPPUNIT_ASSERT(parse_version("ip6tables v1.6 (legacy)")->version == (Version{1, 6, 0}));
    CPPUNIT_ASSERT(!parse_version("") && !parse_version("hello") && !parse_version("x vy") && !parse_version("x v1"));
  }

  void follows_the_default_of_the_distribution() {
    FakeNode node;
    node.install("iptables", kNftVersion);
    node.install("iptables-nft", kNftVersion);
    node.install("iptables-legacy", kLegacyVersion);
    CPPUNIT_ASSERT_EQUAL(std::string("/sbin/iptables-nft-restore"), node.find().restore);
    node.install("iptables", kLegacyVersion);
    CPPUNIT_ASSERT_EQUAL(std::string("/sbin/iptables-restore"), node.find().restore);
    CPPUNIT_ASSERT(node.find().variant == Variant::kLegacy);
  }

  void follows_the_hint_of_kubelet() {
    FakeNode node;
    node.install("iptables", kLegacyVersion);
    node.install("iptables-nft", kNftVersion);
    node.install("iptables-legacy", kLegacyVersion);
    node.programs["iptables-nft-save"] = "*mangle\n:KUBE-IPTABLES-HINT - [0:0]\nCOMMIT\n";
    CPPUNIT_ASSERT(node.find().variant == Variant::kNft);

    node.install("iptables", kNftVersion);
    node.programs["iptables-nft-save"] = "";
    node.programs["iptables-legacy-save"] = "*mangle\n:KUBE-KUBELET-CANARY - [0:0]\nCOMMIT\n";
    CPPUNIT_ASSERT(node.find().variant == Variant::kNft);  // the legacy tables are not loaded
    node.legacy_tables = "nat\nfilter\nmangle\n";
    CPPUNIT_ASSERT_EQUAL(std::string("/sbin/iptables-legacy-restore"), node.find().restore);
  }

  void without_a_hint_the_variant_with_more_rules_is_selected() {
    FakeNode node;
    node.install("iptables", kNftVersion);
    node.install("iptables-nft", kNftVersion);
    node.install("iptables-legacy", kLegacyVersion);
    node.programs["iptables-legacy-save"] = "*nat\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -j X\n-A X -j Y\nCOMMIT\n";
    CPPUNIT_ASSERT(node.find().variant == Variant::kNft);  // its tables are not loaded, so it is not run
    CPPUNIT_ASSERT(std::find(node.asked.begin(), node.asked.end(), "iptables-legacy-save") == node.asked.end());
    node.legacy_tables = "nat\n";
    CPPUNIT_ASSERT(node.find().variant == Variant::kLegacy);
    CPPUNIT_ASSERT_EQUAL(std::string("0 rules in nf_tables, 2 in the legacy tables"), node.find().why);
    node.programs["iptables-nft-save"] = "*nat\n-A PREROUTING -j X\n-A X -j Y\nCOMMIT\n";
    CPPUNIT_ASSERT(node.find().variant == Variant::kNft);  // equal numbers: the default of the distribution
    CPPUNIT_ASSERT_EQUAL(std::string("it is the usual one here"), node.find().why);

    node.install("iptables", kLegacyVersion);
    node.programs["iptables-nft-save"] = "*nat\n-A PREROUTING -j X\nCOMMIT\n";
    node.legacy_tables = "";
    CPPUNIT_ASSERT_EQUAL(std::string("/sbin/iptables-nft-restore"), node.find().restore);
    // Both have rules, and kubelet uses the one with fewer.
    node.legacy_tables = "mangle\nnat\n";
    node.programs["iptables-legacy-save"] = "*mangle\n:KUBE-KUBELET-CANARY - [0:0]\nCOMMIT\n";
    CPPUNIT_ASSERT(node.find().variant == Variant::kLegacy);
    CPPUNIT_ASSERT_EQUAL(std::string("kubelet's hint is there"), node.find().why);
  }

  void reading_the_hint_does_not_depend_on_the_number_of_rules() {
    FakeNode node;
    for (const char* name : {"iptables", "iptables-nft", "iptables-legacy"}) node.install(name, kNftVersion);
    node.install("iptables-legacy", kLegacyVersion);
    CPPUNIT_ASSERT_EQUAL(std::string("it is the usual one here"), node.find().why);
    node.legacy_tables = "nat\nmangle\n";
    for (const char* chain : {"KUBE-IPTABLES-HINT", "KUBE-KUBELET-CANARY"}) {
      node.programs["iptables-nft-save"] = std::string("*mangle\n:") + chain + " - [0:0]\nCOMMIT\n";
      CPPUNIT_ASSERT_EQUAL(std::string("kubelet's hint is there"), node.find().why);
    }
    CPPUNIT_ASSERT(std::find(node.asked.begin(), node.asked.end(), "iptables-nft-save") == node.asked.end());
  }

  void variant_with_too_many_rules_to_count_is_selected() {
    FakeNode node;
    node.install("iptables", kNftVersion);
    node.install("iptables-nft", kNftVersion);
    node.install("iptables-legacy", kLegacyVersion);
    node.programs["iptables-legacy-save"] = "*nat\n-A PREROUTING -j X\n-A X -j Y\nCOMMIT\n";
    node.legacy_tables = "nat\n";
    CPPUNIT_ASSERT(node.find().variant == Variant::kLegacy);
    node.slow = "iptables-nft-save";
    CPPUNIT_ASSERT(node.find().variant == Variant::kNft);
    CPPUNIT_ASSERT_EQUAL(std::string("there are too many rules in nf_tables to count them"), node.find().why);
  }

  void warns_of_a_proxy_in_the_other_variant() {
    FakeNode node;
    node.install("iptables", kNftVersion);
    node.install("iptables-nft", kNftVersion);
    node.install("iptables-legacy", kLegacyVersion);
    node.legacy_tables = "nat\n";
    node.programs["iptables-legacy-save"] = "*nat\n:DOCKER - [0:0]\nCOMMIT\n";
    CPPUNIT_ASSERT_EQUAL(std::string(), node.find().warning);
    node.programs["iptables-legacy-save"] = "*nat\n:KUBE-SERVICES - [0:0]\nCOMMIT\n";
    CPPUNIT_ASSERT_EQUAL(
        std::string("chains of a service proxy are in the legacy tables too, while rules are written to nf_tables: "
                    "packets pass both; remove those that /sbin/iptables-legacy-save shows, or restart the node"),
        node.find().warning);
    node.programs["iptables-nft-save"] = "*nat\n:KUBE-SERVICES - [0:0]\nCOMMIT\n";
    node.programs["iptables-legacy-save"] = "*nat\n-A PREROUTING -j X\nCOMMIT\n";
    CPPUNIT_ASSERT(node.find().variant == Variant::kLegacy);
    CPPUNIT_ASSERT(node.find().warning.starts_with("chains of a service proxy are in nf_tables too, while rules are "
                                                   "written to the legacy tables: "));
  }

  // The raw socket of legacy iptables needs a capability that iptables-nft does not need.
  void unreadable_legacy_tables_are_reported() {
    constexpr char kSentence[] =
        "the legacy tables, which this node has, cannot be read: iptables-save v1.8.9 (legacy): Cannot initialize: "
        "Permission denied (you must be root); rules are written to nf_tables, and packets pass both; legacy iptables "
        "needs the capability CAP_NET_RAW beside CAP_NET_ADMIN";
    FakeNode node;
    for (const char* name : {"iptables", "iptables-nft"}) node.install(name, kNftVersion);
    node.install("iptables-legacy", kLegacyVersion);
    node.failing = "iptables-legacy-save";
    CPPUNIT_ASSERT_EQUAL(std::string(), node.find().warning);  // there are no legacy tables, so the tool is not run
    node.legacy_tables = "nat\n";
    CPPUNIT_ASSERT(node.find().variant == Variant::kNft);
    CPPUNIT_ASSERT_EQUAL(std::string(kSentence), node.find().warning);
    node.programs["iptables-nft-save"] = "*nat\n-A PREROUTING -j X\nCOMMIT\n";
    CPPUNIT_ASSERT_EQUAL(std::string("1 rules in nf_tables, and the legacy tables cannot be read"), node.find().why);
    CPPUNIT_ASSERT_EQUAL(std::string(kSentence), node.find().warning);
    // For any reason of the selection.
    node.programs["iptables-nft-save"] = "*mangle\n:KUBE-IPTABLES-HINT - [0:0]\nCOMMIT\n";
    CPPUNIT_ASSERT_EQUAL(std::string("kubelet's hint is there"), node.find().why);
    CPPUNIT_ASSERT_EQUAL(std::string(kSentence), node.find().warning);
    node.error_output =
        "iptables-save v1.8.9 (legacy): Cannot initialize: Table does not exist (do you need to insmod?)\n";
    CPPUNIT_ASSERT_EQUAL(std::string(), node.find().warning);
  }

  void works_with_plain_program_names() {
    FakeNode node;
    node.install("iptables", kNftVersion);
    CPPUNIT_ASSERT_EQUAL(std::string("/sbin/iptables-save"), node.find().save);
    FakeNode only_legacy;
    only_legacy.install("iptables-legacy", kLegacyVersion);
    CPPUNIT_ASSERT_EQUAL(std::string("/sbin/iptables-legacy-save"), only_legacy.find().save);
  }

  void each_family_has_its_own_tools() {
    FakeNode node;
    node.install("ip6tables", kNftVersion);
    CPPUNIT_ASSERT_EQUAL(std::string("/sbin/ip6tables-restore"), node.find(abi::Family::kIpv6).restore);
    CPPUNIT_ASSERT_THROW(node.find(), sdk::Failure);
  }

  void error_names_the_package_to_install() {
    try {
      FakeNode().find();
      CPPUNIT_FAIL("found tools that are not there");
    } catch (const sdk::Failure& failure) {
      CPPUNIT_ASSERT(failure.code() == abi::Code::kUnsupported);
      CPPUNIT_ASSERT(std::string(failure.what()).find("install the package iptables") != std::string::npos);
    }
  }

  void old_versions_lack_random_fully() {
    Tools tools;
    tools.version = {1, 6, 1};
    CPPUNIT_ASSERT(!tools.has_random_fully());
    tools.version = {1, 6, 2};
    CPPUNIT_ASSERT(tools.has_random_fully());
  }

  void lock_wait_depends_on_the_version() {
    FakeNode node;
    node.install("iptables", "iptables v1.6.2");
    CPPUNIT_ASSERT(node.find().wait == RestoreWait::kSeconds);
    node.install("iptables", "iptables v1.6.1");
    CPPUNIT_ASSERT(node.find().wait == RestoreWait::kNot);  // iptables-restore does not support --version
    node.programs["iptables-restore"] = "iptables-restore v1.6.1\n";
    CPPUNIT_ASSERT(node.find().wait == RestoreWait::kForever);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ToolsTest);

}  // namespace tools_test
}  // namespace sluice::netfilter
