// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A service port whose rules are refused does not affect other service ports: it is found,
// excluded and reported, whatever line the error message names.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <string>
#include <vector>

#include "test/unit/iptables/plan_text.hpp"
#include "test/unit/iptables/refusal.hpp"

namespace sluice::test {
namespace backend_refusal_test {

using Naming = FakeKernel::Naming;

constexpr Naming kNamings[] = {Naming::kLine, Naming::kCommit, Naming::kNextLine, Naming::kNone};

class RefusalTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(RefusalTest);
  CPPUNIT_TEST(full_excludes_the_refused_service_port);
  CPPUNIT_TEST(several_refused_service_ports_are_found);
  CPPUNIT_TEST(refused_service_ports_are_found_with_legacy);
  CPPUNIT_TEST(unknown_number_of_commits_is_handled);
  CPPUNIT_TEST(refused_delta_keeps_the_old_rules);
  CPPUNIT_TEST(refused_new_service_port_leaves_no_rules);
  CPPUNIT_TEST(filter_rules_of_refused_service_ports_are_undone);
  CPPUNIT_TEST(refused_filter_rules_exclude_the_whole_service_port);
  CPPUNIT_TEST(restores_are_bounded_by_the_logarithm);
  CPPUNIT_TEST(apply_with_all_service_ports_refused_fails_in_bounded_time);
  CPPUNIT_TEST(refused_full_keeps_the_old_rules);
  CPPUNIT_TEST(refused_common_rules_exclude_no_service_port);
  CPPUNIT_TEST(missing_privilege_memory_or_lock_excludes_no_service_port);
  CPPUNIT_TEST(foreign_removal_excludes_no_service_port);
  CPPUNIT_TEST(leftovers_are_removed_despite_a_refusal);
  CPPUNIT_TEST_SUITE_END();

  void full_excludes_the_refused_service_port() {
    for (const Naming naming : kNamings) {
      IptablesRig rig;
      rig.kernel.refuse = {own_rule(7)};
      rig.kernel.naming = naming;
      const auto services = many_services(20, 3);
      ok(rig.full(services));
      is_not_programmed(rig, {7});
      CPPUNIT_ASSERT_EQUAL(content_of(without(services, 7)), content(rig));
      ok(rig.verify());
      // The resulting state is known: nothing is written again, and deltas continue.
      ok(rig.delta({services[3]}));
      CPPUNIT_ASSERT(rig.kernel.restores.empty());
      rig.kernel.refuse.clear();
      ok(rig.full(services));
      CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig.host.not_programmed());
      CPPUNIT_ASSERT_EQUAL(content_of(services), content(rig));
    }
  }

  void several_refused_service_ports_are_found() {
    for (const Naming naming : kNamings) {
      IptablesRig rig;
      rig.kernel.refuse = {own_rule(0), own_rule(1), own_rule(55), own_rule(119)};  // in several batches
      rig.kernel.naming = naming;
      auto services = many_services(120, 5);
      ok(rig.full(services));
      is_not_programmed(rig, {0, 1, 55, 119});
      for (const std::size_t i : {119u, 55u, 1u, 0u}) services = without(services, i);
      CPPUNIT_ASSERT_EQUAL(content_of(services), content(rig));
    }
  }

  void refused_service_ports_are_found_with_legacy() {
    for (const Naming naming : {Naming::kLine, Naming::kCommit}) {
      IptablesRig rig;
      rig.kernel.use_legacy();
      rig.kernel.naming = naming;
      rig.kernel.refusal_status = 1;
      rig.kernel.refuse = {own_rule(7)};
      auto services = many_services(20, 3);
      ok(rig.full(services));
      is_not_programmed(rig, {7});
      CPPUNIT_ASSERT_EQUAL(content_of(without(services, 7)), content(rig));
      services[4].endpoints.pop_back();
      services[7].endpoints.pop_back();
      ok(rig.delta({services[4], services[7]}));
      is_not_programmed(rig, {7});
      CPPUNIT_ASSERT_EQUAL(content_of(without(services, 7)), content(rig));
    }
  }

  // Legacy iptables has no generation number: without a line number the rules are listed again.
  void unknown_number_of_commits_is_handled() {
    IptablesRig rig;
    rig.kernel.use_legacy();
    rig.kernel.naming = Naming::kNone;
    rig.kernel.refusal_status = 1;
    rig.kernel.refuse = {own_rule(7)};
    auto services = many_services(20, 3);
    ok(rig.full(services));
    is_not_programmed(rig, {7});
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig.kernel.saves);
    CPPUNIT_ASSERT_EQUAL(content_of(without(services, 7)), content(rig));
    rig.kernel.refuse = {own_rule(8)};
    services[7].endpoints.clear();  // filter and nat change
    services[8].endpoints.push_back({"10.77.0.1", 8080, false, Condition::kReady});
    CPPUNIT_ASSERT(rig.delta({services[7], services[8]}) == abi::Code::kKernel);
    ok(rig.full(services));
    is_not_programmed(rig, {8});
    services[8].endpoints.pop_back();
    CPPUNIT_ASSERT_EQUAL(content_of(services), content(rig));
  }

  void refused_delta_keeps_the_old_rules() {
    for (const Naming naming : kNamings) {
      IptablesRig rig;
      auto services = many_services(20, 3);
      ok(rig.full(services));
      auto wanted = services;
      for (ServiceSpec& service : wanted) service.affinity_seconds = 60;
      rig.kernel.refuse = {"-j DNAT --to-destination " + services[7].endpoints[0].address + ":"};
      rig.kernel.naming = naming;
      ok(rig.delta(wanted));
      is_not_programmed(rig, {7});
      auto expected = wanted;
      expected[7] = services[7];
      CPPUNIT_ASSERT_EQUAL(content_of(expected), content(rig));
      rig.kernel.refuse.clear();
      ok(rig.delta({wanted[7]}));
      CPPUNIT_ASSERT_EQUAL(content_of(wanted), content(rig));
    }
  }

  void refused_new_service_port_leaves_no_rules() {
    for (const Naming naming : kNamings) {
      IptablesRig rig;
      const auto services = many_services(6, 2);
      ok(rig.full({services[0]}));
      rig.kernel.refuse = {own_rule(3)};
      rig.kernel.naming = naming;
      ok(rig.delta(services));
      is_not_programmed(rig, {3});
      CPPUNIT_ASSERT_EQUAL(content_of(without(services, 3)), content(rig));
    }
  }

  // Policy Local without an endpoint on this node: a DROP in filter is committed before nat is refused.
  void filter_rules_of_refused_service_ports_are_undone() {
    for (const Naming naming : kNamings) {
      auto services = many_services(4, 2);
      for (ServiceSpec& service : services) {
        service.external_ips = {"192.168.99." + service.name.substr(4)};
        service.external_local = true;
        service.endpoints[0].local = false;
      }
      IptablesRig rig;
      ok(rig.full({}));
      rig.kernel.refuse = {own_rule(2)};
      rig.kernel.naming = naming;
      ok(rig.delta(services));
      is_not_programmed(rig, {2});
      CPPUNIT_ASSERT_EQUAL(content_of(without(services, 2)), content(rig));
      ok(rig.full(services));
      is_not_programmed(rig, {2});
      CPPUNIT_ASSERT_EQUAL(content_of(without(services, 2)), content(rig));
    }
  }

  void refused_filter_rules_exclude_the_whole_service_port() {
    for (const Naming naming : kNamings) {
      auto services = many_services(4, 2);
      services[2].health_check_node_port = 30000;
      IptablesRig rig;
      rig.kernel.refuse = {"health check node port"};
      rig.kernel.naming = naming;
      ok(rig.full(services));
      is_not_programmed(rig, {2});
      CPPUNIT_ASSERT_EQUAL(content_of(without(services, 2)), content(rig));
    }
  }

  void restores_are_bounded_by_the_logarithm() {
    const auto restores = [](Naming naming) {
      IptablesRig rig;
      rig.kernel.use_legacy();  // all in one restore
      ok(rig.full({}));
      rig.kernel.refuse = {own_rule(300)};
      rig.kernel.naming = naming;
      ok(rig.delta(many_services(900, 1)));
      is_not_programmed(rig, {300});
      return rig.kernel.restores.size();
    };
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, restores(Naming::kLine));  // refused; the suspect alone; the remaining ones
    CPPUNIT_ASSERT(restores(Naming::kCommit) <= 2 + 2 * 10);
  }

  void apply_with_all_service_ports_refused_fails_in_bounded_time() {
    for (const Naming naming : kNamings) {
      IptablesRig rig;
      ok(rig.full({}));
      rig.kernel.refuse = {" -j DNAT "};
      rig.kernel.naming = naming;
      CPPUNIT_ASSERT(rig.delta(many_services(1000, 1)) == abi::Code::kKernel);
      const std::string sentence(rig.error.message);
      CPPUNIT_ASSERT(
          sentence.starts_with("the kernel refuses the rules of too many service ports to find them all in time; "));
      CPPUNIT_ASSERT(rig.kernel.restores.size() <= 402);
    }
    IptablesRig slow;
    ok(slow.full({}));
    slow.kernel.refuse = {" -j DNAT "};
    slow.host.step = 3ull * 1000 * 1000 * 1000;
    CPPUNIT_ASSERT(slow.delta(many_services(1000, 1)) == abi::Code::kKernel);
    CPPUNIT_ASSERT(slow.kernel.restores.size() <= 10);
    // The next apply skips the service ports that were found, so it gets further.
    slow.host.step = 1;
    slow.kernel.refuse = {own_rule(0), own_rule(1)};
    slow.kernel.restores.clear();
    ok(slow.full(many_services(10, 1)));
    CPPUNIT_ASSERT(slow.host.not_programmed() >= 2);
    slow.kernel.refuse.clear();
    ok(slow.full(many_services(10, 1)));
    CPPUNIT_ASSERT_EQUAL(content_of(many_services(10, 1)), content(slow));
  }

  void refused_full_keeps_the_old_rules() {
    IptablesRig rig;
    const auto services = many_services(6, 2);
    ok(rig.full(services));
    auto wanted = services;
    wanted[3].affinity_seconds = 60;
    wanted[5].endpoints.pop_back();
    rig.kernel.refuse = {"--set"};
    ok(rig.full(wanted));
    is_not_programmed(rig, {3});
    auto expected = wanted;
    expected[3] = services[3];
    CPPUNIT_ASSERT_EQUAL(content_of(expected), content(rig));
    ok(rig.full(wanted));
    CPPUNIT_ASSERT_EQUAL(content_of(expected), content(rig));
    ok(rig.verify());
    // Rules that have drifted cannot be kept: all of them are removed.
    rig.kernel.tables["nat"][iptables::name(plan(services[3]).chains[0])].clear();
    ok(rig.full(wanted));
    CPPUNIT_ASSERT_EQUAL(content_of(without(expected, 3)), content(rig));
  }

  void refused_common_rules_exclude_no_service_port() {
    for (const Naming naming : kNamings) {
      IptablesRig rig;
      rig.kernel.refuse = {"-A KUBE-MARK-MASQ"};
      rig.kernel.naming = naming;
      CPPUNIT_ASSERT(rig.full(many_services(4, 1)) == abi::Code::kKernel);
      CPPUNIT_ASSERT_EQUAL(std::string(), std::string(rig.error.object));
      CPPUNIT_ASSERT(rig.host.failed.empty());
      CPPUNIT_ASSERT(rig.kernel.restores.size() <= 3);
    }
  }

  void missing_privilege_memory_or_lock_excludes_no_service_port() {
    const auto code = [](int status, const std::string& error_output) {
      IptablesRig rig;
      rig.kernel.fail_next = status;
      rig.kernel.error_output = error_output;
      const abi::Code result = rig.full(many_services(4, 1));
      CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.kernel.restores.size());
      CPPUNIT_ASSERT(rig.host.failed.empty());
      return result;
    };
    CPPUNIT_ASSERT(code(4, "Fatal: can't open lock file /run/xtables.lock: Permission denied") == abi::Code::kDenied);
    CPPUNIT_ASSERT(code(4, "Permission denied (you must be root)") == abi::Code::kDenied);
    CPPUNIT_ASSERT(code(1, "line 12 failed: Cannot allocate memory") == abi::Code::kKernel);
    CPPUNIT_ASSERT(code(4, "Another app is currently holding the xtables lock.") == abi::Code::kRetry);
  }

  // A delta whose lines depend on removed objects needs a full transaction; no service port is the cause.
  void foreign_removal_excludes_no_service_port() {
    for (const bool legacy : {false, true}) {
      IptablesRig rig;
      if (legacy) rig.kernel.use_legacy();
      const auto services = many_services(6, 2);
      ok(rig.full(services));
      rig.kernel.foreign("*nat\n:KUBE-MARK-MASQ - [0:0]\n:KUBE-SERVICES - [0:0]\nCOMMIT\n");
      CPPUNIT_ASSERT(rig.delta({}, {services[2], services[4]}) == abi::Code::kNeedFull);
      CPPUNIT_ASSERT(rig.host.failed.empty());
      ok(rig.full(without(without(services, 4), 2)));
      CPPUNIT_ASSERT_EQUAL(content_of(without(without(services, 4), 2)), content(rig));
    }
  }

  void leftovers_are_removed_despite_a_refusal() {
    for (const std::size_t stale : {3u, 80u}) {  // single removals; rewritten chains
      IptablesRig rig;
      auto services = many_services(stale + 6, 2);
      ok(rig.full(services));
      rig.restart();
      services.erase(services.begin(), services.begin() + static_cast<std::ptrdiff_t>(stale));
      services[2].endpoints.pop_back();
      rig.kernel.refuse = {"--comment \"" + name_of(stale + 2) + " -> "};
      ok(rig.full(services));
      is_not_programmed(rig, {stale + 2});
      CPPUNIT_ASSERT_EQUAL(content_of(without(services, 2)), content(rig));
    }
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(RefusalTest);

}  // namespace backend_refusal_test
}  // namespace sluice::test
