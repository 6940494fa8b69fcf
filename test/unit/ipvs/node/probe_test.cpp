// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The probe's report for nodes that lack features, and that it leaves nothing behind.
#include "plugins/ipvs/node/probe.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <cerrno>
#include <map>
#include <set>

#include "sluice/sdk/error.hpp"
#include "test/unit/ipvs/fake_link_kernel.hpp"
#include "test/unit/ipvs/fake_server_kernel.hpp"
#include "test/unit/ipvs/node/fake_node.hpp"

namespace sluice::ipvs {
namespace probe_test {

using abi::Family;

// Supports some types and stores sets by name.
class TypesOnly final : public SetKernel {
 public:
  std::set<SetType> missing;
  std::map<std::string, SetType> sets;
  std::set<SetType> tried;

  std::optional<SetHeader> header(const std::string&) override { return std::nullopt; }
  bool has_counts() override { return true; }
  std::vector<SetEntry> entries(const std::string&, SetType) override { return {}; }
  void create(const std::string& name, SetType type, std::uint32_t) override {
    CPPUNIT_ASSERT(!sets.contains(name));
    tried.insert(type);
    if (missing.contains(type)) {
      throw sdk::Failure(abi::Code::kUnsupported, name, "no sets of type " + std::to_string(static_cast<int>(type)));
    }
    sets[name] = type;
  }
  std::vector<RefusedEntry> add(const std::string&, SetType, const std::vector<SetEntry>&) override { return {}; }
  void remove(const std::string&, SetType, const std::vector<SetEntry>&) override {}
  void swap(const std::string&, const std::string&) override {}
  bool destroy(const std::string& name) override {
    sets.erase(name);
    return true;
  }
  std::uint64_t messages() const override { return 0; }
  std::uint64_t waited() const override { return 0; }
};

class TriedRules final : public netfilter::Kernel {
 public:
  TriedRules() { tools_.restore = "/usr/sbin/iptables-restore"; }
  // Parts of lines that are rejected, with the error texts.
  std::map<std::string, std::string> refused{{"--match-set", "Set SLUICE-PROBE doesn't exist."}};
  bool no_tools = false;
  std::string all;

  const netfilter::Tools& tools() override {
    if (no_tools) throw sdk::Failure(abi::Code::kUnsupported, "iptables", "there is no iptables; install it");
    return tools_;
  }
  lib::ProgramResult try_restore(std::string_view input) override {
    all += input;
    lib::ProgramResult out;
    out.exit_code = 0;
    for (const auto& [part, words] : refused) {
      if (input.find(part) == input.npos) continue;
      out.exit_code = 2;
      out.error_output = words;
    }
    return out;
  }
  lib::ProgramResult save(const netfilter::SaveOptions&, const std::function<void(std::string_view)>&) override {
    CPPUNIT_FAIL("the probe reads rules");
    return {};
  }
  netfilter::Restored restore(std::string_view) override {
    CPPUNIT_FAIL("the probe writes rules");
    return {};
  }
  std::optional<std::uint32_t> generation() override { return std::nullopt; }
  netfilter::ForeignChanges& foreign_changes() override { return changes_; }
  std::set<abi::Address> local_addresses() override { return {}; }
  int allow_localnet_routing() override { return 0; }
  int ensure_counter(const std::string&) override { return 0; }
  std::optional<std::uint64_t> counted_packets(const std::string&) override { return std::nullopt; }

 private:
  netfilter::Tools tools_;
  netfilter::ForeignChanges changes_;
};

class ProbeTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ProbeTest);
  CPPUNIT_TEST(a_node_that_has_all_is_left_as_it_was);
  CPPUNIT_TEST(each_family_tries_its_own);
  CPPUNIT_TEST(a_scheduler_in_use_is_not_tried);
  CPPUNIT_TEST(a_scheduler_that_is_missing_is_named);
  CPPUNIT_TEST(leftovers_of_an_earlier_probe_are_removed);
  CPPUNIT_TEST(everything_missing_is_reported_at_once);
  CPPUNIT_TEST(a_set_type_that_is_missing_is_named_alone);
  CPPUNIT_TEST(a_missing_match_is_distinguished_from_a_missing_set);
  CPPUNIT_TEST(privilege_and_shortage_keep_their_codes);
  CPPUNIT_TEST(the_reason_a_module_cannot_load_is_reported);
  CPPUNIT_TEST(an_existing_link_is_not_tried);
  CPPUNIT_TEST_SUITE_END();

  Settings settings_;
  std::optional<TriedRules> rules_;
  FakeServerKernel servers_;
  TypesOnly sets_;
  FakeLinkKernel links_;
  FakeNode node_;

  void probe(Family family = Family::kIpv4) {
    probe_node({*rules_, servers_, sets_, links_}, settings_, family, node_);
  }
  sdk::Failure failure(Family family = Family::kIpv4) {
    try {
      probe(family);
    } catch (const sdk::Failure& failure) {
      return failure;
    }
    CPPUNIT_FAIL("the probe is content");
    return {abi::Code::kOk, "", ""};
  }
  static bool says(const sdk::Failure& failure, const std::string& part) {
    return std::string(failure.what()).find(part) != std::string::npos;
  }
  void assert_nothing_left() {
    CPPUNIT_ASSERT(servers_.held.empty());
    CPPUNIT_ASSERT(sets_.sets.empty());
    CPPUNIT_ASSERT(links_.links.empty());
  }

 public:
  void setUp() override {
    settings_ = Settings();
    rules_.emplace();
    servers_ = FakeServerKernel();
    sets_ = TypesOnly();
    links_ = FakeLinkKernel();
    node_ = FakeNode();
  }

  void a_node_that_has_all_is_left_as_it_was() {
    probe();
    assert_nothing_left();
    CPPUNIT_ASSERT_EQUAL(std::size_t{5}, sets_.tried.size());
    CPPUNIT_ASSERT_EQUAL(1, links_.calls["create"]);
    CPPUNIT_ASSERT(rules_->all.find("-m ipvs --vaddr 198.51.100.0") != std::string::npos);
    CPPUNIT_ASSERT(rules_->all.find("-m set --match-set SLUICE-PROBE src") != std::string::npos);
    CPPUNIT_ASSERT(node_.written.empty());
  }

  void each_family_tries_its_own() {
    probe(Family::kIpv6);
    assert_nothing_left();
    CPPUNIT_ASSERT(rules_->all.find("-m ipvs --vaddr 2001:db8::") != std::string::npos);
    CPPUNIT_ASSERT(rules_->all.find("--match-set SLUICE-6-PROBE") != std::string::npos);
    CPPUNIT_ASSERT_EQUAL(std::string("[2001:db8::]:20000/TCP"),
                         to_string(servers_.log.at(0).server.key, Family::kIpv6));
  }

  void a_scheduler_in_use_is_not_tried() {  // BEH 6.1
    const ServerKey key{*sdk::parse_address("10.0.0.1", Family::kIpv4), 80, abi::Protocol::kTcp};
    servers_.held[key].attributes = {key, "rr", 0, 0};
    probe();
    CPPUNIT_ASSERT(servers_.log.empty());
    settings_.scheduler = "wrr";
    probe();
    CPPUNIT_ASSERT(!servers_.log.empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, servers_.held.size());
  }

  void a_scheduler_that_is_missing_is_named() {
    settings_.scheduler = "fancy";
    const auto found = failure();
    CPPUNIT_ASSERT(found.code() == abi::Code::kUnsupported);
    CPPUNIT_ASSERT_EQUAL(std::string("this node cannot run ipvs mode: IPVS has no scheduler fancy: load the module "
                                     "ip_vs_fancy, or choose another one (ipvs.scheduler)"),
                         std::string(found.what()));
    assert_nothing_left();
  }

  void leftovers_of_an_earlier_probe_are_removed() {
    const ServerKey key{*sdk::parse_address("198.51.100.0", Family::kIpv4), 20000, abi::Protocol::kTcp};
    servers_.held[key].attributes = {key, "fancy", 0, 0};
    settings_.scheduler = "fancy";  // no longer in the kernel
    sets_.sets["SLUICE-PROBE"] = SetType::kIp;
    links_.put("sluice-probe4", "dummy");
    CPPUNIT_ASSERT(says(failure(), "no scheduler fancy"));
    assert_nothing_left();
  }

  void everything_missing_is_reported_at_once() {
    servers_.dumps_left = 0;
    sets_.missing = {SetType::kIpPort, SetType::kIpPortIp, SetType::kIpPortNet, SetType::kPorts, SetType::kIp};
    rules_->refused["-m ipvs"] = "Couldn't load match `ipvs'";
    links_.has_dummy = false;
    const auto found = failure();
    CPPUNIT_ASSERT(found.code() == abi::Code::kUnsupported);
    CPPUNIT_ASSERT(says(found, "a dump was broken"));
    CPPUNIT_ASSERT(says(found, "no sets of type"));
    CPPUNIT_ASSERT(says(found, "NETFILTER_XT_MATCH_IPVS"));
    CPPUNIT_ASSERT(says(found, "no links of kind dummy"));
    // A failure of all types is reported once.
    const std::string text = found.what();
    CPPUNIT_ASSERT(text.find("no sets of type") == text.rfind("no sets of type"));
  }

  void a_set_type_that_is_missing_is_named_alone() {
    sets_.missing = {SetType::kPorts};
    const auto found = failure();
    CPPUNIT_ASSERT(says(found, "no sets of type " + std::to_string(static_cast<int>(SetType::kPorts))));
    assert_nothing_left();
  }

  void a_missing_match_is_distinguished_from_a_missing_set() {
    rules_->refused["--match-set"] = "Couldn't load match `set':No such file or directory";
    const auto found = failure();
    CPPUNIT_ASSERT(found.code() == abi::Code::kUnsupported);
    CPPUNIT_ASSERT(says(found, "iptables has no match set: load the module xt_set"));
    rules_->no_tools = true;
    CPPUNIT_ASSERT(says(failure(), "there is no iptables"));
    assert_nothing_left();
  }

  void privilege_and_shortage_keep_their_codes() {
    rules_->refused["--match-set"] = "you must be root";
    CPPUNIT_ASSERT(failure().code() == abi::Code::kDenied);
    rules_.emplace();
    servers_.dumps_left = 0;
    CPPUNIT_ASSERT(failure().code() == abi::Code::kRetry);
    servers_.refuse = [](const ServerCommand& command) {
      return command.kind == ServerCommandKind::kAddServer ? EPERM : 0;
    };
    CPPUNIT_ASSERT(failure().code() == abi::Code::kDenied);
  }

  void the_reason_a_module_cannot_load_is_reported() {
    node_.forbidden = "kernel.modules_disabled is 1";
    probe();
    settings_.scheduler = "fancy";
    CPPUNIT_ASSERT(says(failure(), "; kernel.modules_disabled is 1"));
    settings_.scheduler = "rr";
    servers_.refuse = [](const ServerCommand& command) {
      return command.kind == ServerCommandKind::kAddServer ? EPERM : 0;
    };
    CPPUNIT_ASSERT(!says(failure(), "modules_disabled"));
  }

  void an_existing_link_is_not_tried() {
    links_.put("kube-ipvs0", "dummy");
    probe();
    CPPUNIT_ASSERT_EQUAL(0, links_.calls["create"]);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, links_.links.size());
  }
};
CPPUNIT_TEST_SUITE_REGISTRATION(ProbeTest);

}  // namespace probe_test
}  // namespace sluice::ipvs
