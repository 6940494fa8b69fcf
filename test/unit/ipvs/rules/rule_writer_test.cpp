// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/rules/rule_writer.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <optional>

#include "sluice/sdk/error.hpp"
#include "test/unit/common/fake_kernel.hpp"
#include "test/unit/ipvs/rule_text.hpp"

namespace sluice::test {
namespace rule_writer_test {

using ipvs::SetId;
using netfilter::Table;

const auto kFilled = bits({SetId::kClusterIp, SetId::kIpvsAddresses});

ipvs::RulePlan plan(std::uint32_t filled = kFilled, const std::set<ipvs::ServerKey>& closed = {}) {
  return ipvs::plan_rules(rule_facts(), filled, closed);
}

class RuleWriterTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(RuleWriterTest);
  CPPUNIT_TEST(writes_once);
  CPPUNIT_TEST(filter_is_written_before_nat);
  CPPUNIT_TEST(foreign_rules_stay);
  CPPUNIT_TEST(a_chain_that_differs_is_written_whole);
  CPPUNIT_TEST(a_change_writes_only_what_differs);
  CPPUNIT_TEST(one_closed_load_balancer_is_one_line);
  CPPUNIT_TEST(many_closed_load_balancers_rewrite_the_chain);
  CPPUNIT_TEST(closed_load_balancers_are_a_line_each);
  CPPUNIT_TEST(a_change_needs_a_full_write_first);
  CPPUNIT_TEST(a_rejected_change_lists_the_rules_again);
  CPPUNIT_TEST(names_the_set_that_is_missing);
  CPPUNIT_TEST(names_the_module_of_a_match_that_is_missing);
  CPPUNIT_TEST(waits_for_iptables_mode);
  CPPUNIT_TEST(waits_for_the_old_backend);
  CPPUNIT_TEST(takes_over_from_iptables_mode);
  CPPUNIT_TEST(finds_drift);
  CPPUNIT_TEST(legacy_iptables_lists_each_time_with_a_rest);
  CPPUNIT_TEST(removes_nat_jumps_first);
  CPPUNIT_TEST(removes_everything);
  CPPUNIT_TEST(keeps_chains_of_the_new_backend);
  CPPUNIT_TEST(keeps_chains_of_a_new_ipvs_backend);
  CPPUNIT_TEST(empties_chains_that_foreign_rules_use);
  CPPUNIT_TEST(removes_rules_of_an_earlier_process);
  CPPUNIT_TEST_SUITE_END();

 public:
  void setUp() override {
    kernel_.emplace();
    kernel_->sets.emplace();
    for (const SetId set : ipvs::all_sets()) kernel_->sets->insert(ipvs::set_name(set, abi::Family::kIpv4));
    restart();
  }

 private:
  void restart() {
    writer_ = std::make_unique<ipvs::RuleWriter>(*kernel_, abi::Family::kIpv4, [this] { return clock_ += step_; });
  }
  void full(const ipvs::RulePlan& wanted) {
    kernel_->restores.clear();
    CPPUNIT_ASSERT(!writer_->write_full(wanted));
  }
  void change(const ipvs::RulePlan& wanted) {
    kernel_->restores.clear();
    writer_->write_change(wanted);
  }
  void holds(const ipvs::RulePlan& wanted) {
    for (const ipvs::RuleChain& chain : wanted.chains) {
      const std::string table(netfilter::table_name(chain.table));
      CPPUNIT_ASSERT_MESSAGE(chain.name, kernel_->has(table, chain.name));
      std::multiset<std::string> expected(chain.rules.begin(), chain.rules.end());
      const auto& rules = kernel_->rules(table, chain.name);
      CPPUNIT_ASSERT_MESSAGE(kernel_->text(), expected == std::multiset<std::string>(rules.begin(), rules.end()));
    }
  }
  std::set<ipvs::ServerKey> closed(std::size_t count, std::size_t first = 0) {
    std::set<ipvs::ServerKey> made;
    for (std::size_t i = first; i < first + count; ++i) made.insert(server_key("1.2.3." + std::to_string(i), 80));
    return made;
  }
  std::string refusal(const std::function<void()>& act) {
    try {
      act();
    } catch (const sdk::Failure& why) {
      return why.what();
    }
    CPPUNIT_FAIL("nothing was thrown");
    return {};
  }

  void writes_once() {
    full(plan());
    holds(plan());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, kernel_->restores.size());
    CPPUNIT_ASSERT_EQUAL(kernel_->count_rules("filter") + kernel_->count_rules("nat"), writer_->rules());
    CPPUNIT_ASSERT_EQUAL(std::string(R"(-m comment --comment "kubernetes ipvs access filter" -j KUBE-IPVS-FILTER)"),
                         kernel_->rules("filter", "INPUT").front());
    full(plan());
    CPPUNIT_ASSERT(kernel_->restores.empty());
    CPPUNIT_ASSERT(!writer_->differs(plan()));
    change(plan());
    CPPUNIT_ASSERT(kernel_->restores.empty());
    restart();
    full(plan());
    CPPUNIT_ASSERT(kernel_->restores.empty());
  }

  void filter_is_written_before_nat() {
    full(plan());
    const std::string& text = kernel_->restores.at(0);
    CPPUNIT_ASSERT(text.find("*filter") < text.find("*nat"));
  }

  void foreign_rules_stay() {
    kernel_->foreign(
        "*nat\n:KUBE-KUBELET-CANARY - [0:0]\n-A PREROUTING -j ACCEPT\nCOMMIT\n"
        "*filter\n:KUBE-FIREWALL - [0:0]\n-A KUBE-FIREWALL -j DROP\n-A INPUT -j KUBE-FIREWALL\nCOMMIT\n");
    full(plan());
    CPPUNIT_ASSERT_EQUAL(std::string("-j ACCEPT"), kernel_->rules("nat", "PREROUTING").back());
    CPPUNIT_ASSERT_EQUAL(std::string("-j KUBE-FIREWALL"), kernel_->rules("filter", "INPUT").back());
    CPPUNIT_ASSERT_EQUAL(std::string("-j DROP"), kernel_->rules("filter", "KUBE-FIREWALL").back());
    CPPUNIT_ASSERT(kernel_->has("nat", "KUBE-KUBELET-CANARY"));
    full(plan());
    CPPUNIT_ASSERT(kernel_->restores.empty());
  }

  void a_chain_that_differs_is_written_whole() {
    full(plan());
    kernel_->foreign("*nat\n-I KUBE-MARK-MASQ -j RETURN\nCOMMIT\n");
    full(plan());
    CPPUNIT_ASSERT_EQUAL(
        std::string("*nat\n:KUBE-MARK-MASQ - [0:0]\n-A KUBE-MARK-MASQ -j MARK --or-mark 0x00004000\nCOMMIT\n"),
        kernel_->restores.at(0));
  }

  void a_change_writes_only_what_differs() {
    full(plan());
    const ipvs::RulePlan more = plan(kFilled | bits({SetId::kNodePortTcp}));
    CPPUNIT_ASSERT(writer_->differs(more));
    const std::size_t saves = kernel_->saves;
    change(more);
    CPPUNIT_ASSERT_EQUAL(saves, kernel_->saves);
    CPPUNIT_ASSERT_EQUAL(
        std::string(
            "*nat\n:KUBE-NODE-PORT - [0:0]\n-A KUBE-NODE-PORT -p tcp -m comment --comment \"Kubernetes nodeport "
            "TCP port for masquerade purpose\" -m set --match-set KUBE-NODE-PORT-TCP dst -j "
            "KUBE-MARK-MASQ\nCOMMIT\n"),
        kernel_->restores.at(0));
    holds(more);
    change(plan());
    holds(plan());
  }

  void one_closed_load_balancer_is_one_line() {
    full(plan(kFilled, closed(100)));
    auto keys = closed(100);
    keys.erase(keys.begin());
    change(plan(kFilled, keys));
    CPPUNIT_ASSERT_EQUAL(std::string("*filter\n-D KUBE-IPVS-OUT-FILTER -s 1.2.3.0 -m ipvs --vaddr 1.2.3.0 --vproto tcp "
                                     "--vport 80 -j DROP\nCOMMIT\n"),
                         kernel_->restores.at(0));
    change(plan(kFilled, closed(100)));
    CPPUNIT_ASSERT_EQUAL(std::string("*filter\n-A KUBE-IPVS-OUT-FILTER -s 1.2.3.0 -m ipvs --vaddr 1.2.3.0 --vproto tcp "
                                     "--vport 80 -j DROP\nCOMMIT\n"),
                         kernel_->restores.at(0));
    // Its position in the chain does not matter.
    restart();
    full(plan(kFilled, closed(100)));
    CPPUNIT_ASSERT(kernel_->restores.empty());
    CPPUNIT_ASSERT(!writer_->find_drift());
  }

  void many_closed_load_balancers_rewrite_the_chain() {
    full(plan(kFilled, closed(100)));
    change(plan(kFilled, closed(100, 100)));
    CPPUNIT_ASSERT(kernel_->restores.at(0).starts_with("*filter\n:KUBE-IPVS-OUT-FILTER - [0:0]\n-A "));
    holds(plan(kFilled, closed(100, 100)));
  }

  void close(const std::set<ipvs::ServerKey>& come, const std::set<ipvs::ServerKey>& go) {
    kernel_->restores.clear();
    writer_->write_closed({come.begin(), come.end()}, {go.begin(), go.end()});
  }

  void closed_load_balancers_are_a_line_each() {
    full(plan(kFilled, closed(100)));
    const std::size_t saves = kernel_->saves;
    close(closed(1, 100), closed(1));
    CPPUNIT_ASSERT_EQUAL(
        std::string(
            "*filter\n-D KUBE-IPVS-OUT-FILTER -s 1.2.3.0 -m ipvs --vaddr 1.2.3.0 --vproto tcp --vport 80 -j DROP\n"
            "-A KUBE-IPVS-OUT-FILTER -s 1.2.3.100 -m ipvs --vaddr 1.2.3.100 --vproto tcp --vport 80 -j DROP\nCOMMIT\n"),
        kernel_->restores.at(0));
    holds(plan(kFilled, closed(100, 1)));
    CPPUNIT_ASSERT_EQUAL(saves, kernel_->saves);
    CPPUNIT_ASSERT(!writer_->find_drift());
    // Both kinds of changes update the same state.
    change(plan(kFilled, closed(99, 2)));
    CPPUNIT_ASSERT(kernel_->restores.at(0).starts_with("*filter\n-D ") && writer_->session().lines() == 1);
    close(closed(100, 101), closed(99, 2));
    CPPUNIT_ASSERT(kernel_->restores.at(0).starts_with("*filter\n:KUBE-IPVS-OUT-FILTER - [0:0]\n-A "));
    holds(plan(kFilled, closed(100, 101)));
    CPPUNIT_ASSERT_EQUAL(kernel_->count_rules("filter") + kernel_->count_rules("nat"), writer_->rules());
    // After a foreign change the kernel is read.
    kernel_->foreign("*filter\n-F KUBE-IPVS-OUT-FILTER\nCOMMIT\n");
    close({}, closed(1, 101));
    holds(plan(kFilled, closed(99, 102)));
  }

  void a_change_needs_a_full_write_first() {
    CPPUNIT_ASSERT_THROW(close(closed(1), {}), sdk::Failure);
    CPPUNIT_ASSERT(writer_->differs(plan()));
    try {
      writer_->write_change(plan());
      CPPUNIT_FAIL("it wrote");
    } catch (const sdk::Failure& why) {
      CPPUNIT_ASSERT(why.code() == abi::Code::kNeedFull);
    }
  }

  void a_rejected_change_lists_the_rules_again() {
    full(plan(kFilled, closed(2)));
    kernel_->foreign("*filter\n-F KUBE-IPVS-OUT-FILTER\nCOMMIT\n");
    change(plan(kFilled, closed(1)));
    holds(plan(kFilled, closed(1)));
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, kernel_->restores.size());
  }

  void names_the_set_that_is_missing() {
    kernel_->sets->erase("KUBE-CLUSTER-IP");
    const std::string why = refusal([this] { writer_->write_full(plan()); });
    CPPUNIT_ASSERT_MESSAGE(why, why.find("the set KUBE-CLUSTER-IP") != std::string::npos);
    CPPUNIT_ASSERT_MESSAGE(why, why.find("doesn't exist") != std::string::npos);
    CPPUNIT_ASSERT_EQUAL(std::string("the rules are not in place yet"), writer_->find_drift().value_or(""));
    kernel_->sets->insert("KUBE-CLUSTER-IP");
    full(plan());
    holds(plan());
  }

  void names_the_module_of_a_match_that_is_missing() {
    kernel_->refuse = {"-m ipvs"};
    const std::string why = refusal([this] { writer_->write_full(plan(kFilled, closed(1))); });
    CPPUNIT_ASSERT_MESSAGE(why, why.find("xt_ipvs") != std::string::npos);
  }

  static constexpr const char* kIptablesMode =
      "*filter\n:KUBE-PROXY-FIREWALL - [0:0]\n:KUBE-SERVICES - [0:0]\n"
      "-A INPUT -m conntrack --ctstate NEW -m comment --comment \"kubernetes load balancer firewall\" -j "
      "KUBE-PROXY-FIREWALL\nCOMMIT\n"
      "*nat\n:KUBE-SERVICES - [0:0]\n:KUBE-SVC-A - [0:0]\n"
      "-A KUBE-SERVICES -d 172.30.0.41 -j KUBE-SVC-A\n-A KUBE-SVC-A -j DNAT --to-destination 10.180.0.1:80\n"
      "-A PREROUTING -m comment --comment \"kubernetes service portals\" -j KUBE-SERVICES\nCOMMIT\n";

  void waits_for_iptables_mode() {
    CPPUNIT_ASSERT(!writer_->write_full(plan(), ipvs::RuleWriter::Wait::kForIptables));  // no other backend serves
    kernel_.emplace();
    restart();
    kernel_->foreign(kIptablesMode);
    CPPUNIT_ASSERT(writer_->write_full(plan(), ipvs::RuleWriter::Wait::kForIptables));
    CPPUNIT_ASSERT_EQUAL(std::string("-d 172.30.0.41 -j KUBE-SVC-A"), kernel_->rules("nat", "KUBE-SERVICES").at(0));
    CPPUNIT_ASSERT(!kernel_->has("nat", "KUBE-POSTROUTING"));
    CPPUNIT_ASSERT(kernel_->has("filter", "KUBE-IPVS-FILTER"));
    // Addresses are bound before the rest of table nat exists.
    CPPUNIT_ASSERT(kernel_->has("nat", "KUBE-IPVS-HANDOVER"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, kernel_->rules("nat", "POSTROUTING").size());
    CPPUNIT_ASSERT(writer_->differs(plan()));
    full(plan());
    holds(plan());
    CPPUNIT_ASSERT_EQUAL(std::string::npos, kernel_->restores.at(0).find("*filter"));
  }

  void waits_for_the_old_backend() {
    kernel_->foreign("*nat\n:OTHERS - [0:0]\n-A OTHERS -j DNAT --to-destination 10.180.0.1:80\n"
                     "-A PREROUTING -d 172.30.0.41 -j OTHERS\nCOMMIT\n");
    const std::vector<std::string> before = kernel_->rules("nat", "PREROUTING");
    CPPUNIT_ASSERT(writer_->write_full(plan(), ipvs::RuleWriter::Wait::kAlways));
    CPPUNIT_ASSERT(before == kernel_->rules("nat", "PREROUTING") && !kernel_->has("nat", "KUBE-SERVICES"));
    CPPUNIT_ASSERT(kernel_->has("filter", "KUBE-IPVS-FILTER") && kernel_->has("nat", "KUBE-IPVS-HANDOVER"));
    full(plan());
    holds(plan());
  }

  void takes_over_from_iptables_mode() {
    kernel_->foreign(kIptablesMode);
    full(plan());
    holds(plan());
    // One jump is enough; chains of service ports are left to the clean-up of iptables mode.
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, kernel_->rules("nat", "PREROUTING").size());
    CPPUNIT_ASSERT(kernel_->has("nat", "KUBE-SVC-A"));
    CPPUNIT_ASSERT(kernel_->restores.at(0).find("KUBE-SVC-") == std::string::npos);
  }

  void assert_drift(const std::string& input, const std::string& what) {
    CPPUNIT_ASSERT(!writer_->find_drift());
    kernel_->foreign(input);
    CPPUNIT_ASSERT_EQUAL(what, writer_->find_drift().value_or(""));
    CPPUNIT_ASSERT_EQUAL(std::string("the rules are not in place yet"), writer_->find_drift().value_or(""));
    full(plan(kFilled, closed(1)));
    holds(plan(kFilled, closed(1)));
  }

  void finds_drift() {
    step_ = 0;
    full(plan(kFilled, closed(1)));
    const std::size_t saves = kernel_->saves;
    CPPUNIT_ASSERT(!writer_->find_drift());
    CPPUNIT_ASSERT_EQUAL(saves, kernel_->saves);  // no write, nothing to list
    kernel_->foreign("*nat\n:FOREIGN - [0:0]\nCOMMIT\n");
    CPPUNIT_ASSERT(!writer_->find_drift());
    assert_drift("*nat\n-F KUBE-MARK-MASQ\nCOMMIT\n", "nat KUBE-MARK-MASQ was changed");
    assert_drift("*filter\n-F KUBE-IPVS-OUT-FILTER\nCOMMIT\n", "filter KUBE-IPVS-OUT-FILTER was changed");
    assert_drift(
        "*filter\n-F OUTPUT\n-F KUBE-IPVS-OUT-FILTER\n-X KUBE-IPVS-OUT-FILTER\nCOMMIT\n",
        "the rule \"-m comment --comment \"kubernetes ipvs access filter\" -j KUBE-IPVS-OUT-FILTER\" in filter OUTPUT "
        "is gone; filter KUBE-IPVS-OUT-FILTER is gone");
  }

  void legacy_iptables_lists_each_time_with_a_rest() {
    kernel_->use_legacy();
    full(plan());
    step_ = 1;
    const std::size_t saves = kernel_->saves;
    CPPUNIT_ASSERT(!writer_->find_drift());
    CPPUNIT_ASSERT_EQUAL(saves + 1, kernel_->saves);
    CPPUNIT_ASSERT(!writer_->find_drift());
    CPPUNIT_ASSERT_EQUAL(saves + 1, kernel_->saves);
    clock_ += 1000;
    CPPUNIT_ASSERT(!writer_->find_drift());
    CPPUNIT_ASSERT_EQUAL(saves + 2, kernel_->saves);
  }

  void remove_all(const std::set<std::string>& kept = {}) {
    kernel_->restores.clear();
    writer_->remove_all(
        [&](Table table, const std::string& chain) { return kept.contains(netfilter::in_table(table, chain)); });
  }

  void removes_nat_jumps_first() {
    full(plan());
    const auto none = [](Table, const std::string&) { return false; };
    const auto jump = kernel_->rules("nat", "PREROUTING");
    writer_->remove_nat_jumps([](Table table, const std::string& chain) {
      return table == Table::kNat && chain == "KUBE-SERVICES";  // a new backend in iptables mode
    });
    CPPUNIT_ASSERT(jump == kernel_->rules("nat", "PREROUTING"));
    kernel_->foreign("*nat\n-A PREROUTING -p tcp --dport 7 -j RETURN\nCOMMIT\n");
    writer_->remove_nat_jumps(none);
    CPPUNIT_ASSERT(std::vector<std::string>{"-p tcp --dport 7 -j RETURN"} == kernel_->rules("nat", "PREROUTING"));
    CPPUNIT_ASSERT(kernel_->rules("nat", "OUTPUT").empty());
    // The chains that established connections pass.
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, kernel_->rules("nat", "POSTROUTING").size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, kernel_->rules("filter", "INPUT").size());
    CPPUNIT_ASSERT(kernel_->has("nat", "KUBE-SERVICES") && kernel_->has("nat", "KUBE-POSTROUTING"));
    kernel_->restores.clear();
    writer_->remove_nat_jumps(none);  // again
    CPPUNIT_ASSERT(kernel_->restores.empty());
    full(plan());
    holds(plan());
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, kernel_->rules("nat", "PREROUTING").size());
  }

  void removes_everything() {
    const std::string before = kernel_->text();
    full(plan(kAllSets, closed(3)));
    remove_all();
    CPPUNIT_ASSERT_EQUAL(before, kernel_->text());
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, writer_->rules());
    remove_all();
    CPPUNIT_ASSERT(kernel_->restores.empty());
  }

  // Iptables mode takes over: it has rewritten its chains, but not those it does not know.
  void keeps_chains_of_the_new_backend() {
    full(plan(kAllSets, closed(1)));
    kernel_->foreign(kIptablesMode);
    kernel_->foreign(
        "*filter\n-A KUBE-PROXY-FIREWALL -m set --match-set KUBE-LOAD-BALANCER-FW dst,dst -j DROP\nCOMMIT\n");
    remove_all({"nat KUBE-SERVICES", "nat KUBE-POSTROUTING", "nat KUBE-MARK-MASQ", "filter KUBE-FORWARD",
                "filter KUBE-PROXY-FIREWALL"});
    CPPUNIT_ASSERT_EQUAL(std::string("-d 172.30.0.41 -j KUBE-SVC-A"), kernel_->rules("nat", "KUBE-SERVICES").at(0));
    CPPUNIT_ASSERT(kernel_->rules("nat", "PREROUTING").size() == 2 && kernel_->rules("nat", "OUTPUT").size() == 1);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, kernel_->rules("filter", "INPUT").size());  // that of iptables mode
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, kernel_->rules("filter", "FORWARD").size());
    CPPUNIT_ASSERT(!kernel_->has("filter", "KUBE-IPVS-FILTER") && !kernel_->has("nat", "KUBE-NODE-PORT"));
    CPPUNIT_ASSERT_EQUAL(std::string::npos, kernel_->text().find("--match-set"));
  }

  void keeps_chains_of_a_new_ipvs_backend() {
    full(plan(kAllSets, closed(1)));
    const std::string before = kernel_->text();
    writer_->remove_all([](Table, const std::string&) { return true; });
    CPPUNIT_ASSERT_EQUAL(before, kernel_->text());
  }

  void empties_chains_that_foreign_rules_use() {
    full(plan(kAllSets, {}));
    kernel_->foreign(
        "*nat\n:FOREIGN - [0:0]\n-A FOREIGN -j KUBE-MARK-MASQ\n-A PREROUTING -p udp -j KUBE-LOAD-BALANCER\nCOMMIT\n");
    remove_all();
    CPPUNIT_ASSERT(kernel_->has("nat", "KUBE-MARK-MASQ") && kernel_->rules("nat", "KUBE-MARK-MASQ").empty());
    CPPUNIT_ASSERT(kernel_->has("nat", "KUBE-LOAD-BALANCER") && kernel_->rules("nat", "KUBE-LOAD-BALANCER").empty());
    CPPUNIT_ASSERT(!kernel_->has("nat", "KUBE-SERVICES"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, kernel_->rules("nat", "PREROUTING").size());
  }

  void removes_rules_of_an_earlier_process() {
    const std::string before = kernel_->text();
    full(plan(kAllSets, closed(3)));
    // Iptables mode went without its jump, because it kept the chain for us.
    kernel_->foreign(
        "*filter\n-A OUTPUT -m conntrack --ctstate NEW -m comment --comment \"kubernetes load balancer firewall\" -j "
        "KUBE-PROXY-FIREWALL\nCOMMIT\n");
    restart();
    remove_all();
    CPPUNIT_ASSERT_EQUAL(before, kernel_->text());
  }

  std::optional<FakeKernel> kernel_;
  std::unique_ptr<ipvs::RuleWriter> writer_;
  std::uint64_t clock_ = 0;
  std::uint64_t step_ = 1;
};
CPPUNIT_TEST_SUITE_REGISTRATION(RuleWriterTest);

}  // namespace rule_writer_test
}  // namespace sluice::test
