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

  static void ok(abi::Code code) { CPPUNIT_ASSERT_EQUAL(std::int32_t{0}, static_cast<std::int32_t>(code)); }

  void full_excludes_the_refused_service_port() {
    for (const Naming naming : kNamings) {
      Bench bench;
      bench.kernel.refuse = {own_rule(7)};
      bench.kernel.naming = naming;
      const auto services = many_services(20, 3);
      ok(bench.full(services));
      is_not_programmed(bench, {7});
      CPPUNIT_ASSERT_EQUAL(content_of(without(services, 7)), content(bench));
      ok(bench.verify());
      // The resulting state is known: nothing is written again, and deltas continue.
      ok(bench.delta({services[3]}));
      CPPUNIT_ASSERT(bench.kernel.restores.empty());
      bench.kernel.refuse.clear();
      ok(bench.full(services));
      CPPUNIT_ASSERT_EQUAL(std::size_t{0}, bench.host.not_programmed());
      CPPUNIT_ASSERT_EQUAL(content_of(services), content(bench));
    }
  }

  void several_refused_service_ports_are_found() {
    for (const Naming naming : kNamings) {
      Bench bench;
      bench.kernel.refuse = {own_rule(0), own_rule(1), own_rule(55), own_rule(119)};  // in several batches
      bench.kernel.naming = naming;
      auto services = many_services(120, 5);
      ok(bench.full(services));
      is_not_programmed(bench, {0, 1, 55, 119});
      for (const std::size_t i : {119u, 55u, 1u, 0u}) services = without(services, i);
      CPPUNIT_ASSERT_EQUAL(content_of(services), content(bench));
    }
  }

  void refused_service_ports_are_found_with_legacy() {
    for (const Naming naming : {Naming::kLine, Naming::kCommit}) {
      Bench bench;
      bench.kernel.use_legacy();
      bench.kernel.naming = naming;
      bench.kernel.refusal_status = 1;
      bench.kernel.refuse = {own_rule(7)};
      auto services = many_services(20, 3);
      ok(bench.full(services));
      is_not_programmed(bench, {7});
      CPPUNIT_ASSERT_EQUAL(content_of(without(services, 7)), content(bench));
      services[4].endpoints.pop_back();
      services[7].endpoints.pop_back();
      ok(bench.delta({services[4], services[7]}));
      is_not_programmed(bench, {7});
      CPPUNIT_ASSERT_EQUAL(content_of(without(services, 7)), content(bench));
    }
  }

  // Legacy iptables has no generation number: without a line number the rules are listed again.
  void unknown_number_of_commits_is_handled() {
    Bench bench;
    bench.kernel.use_legacy();
    bench.kernel.naming = Naming::kNone;
    bench.kernel.refusal_status = 1;
    bench.kernel.refuse = {own_rule(7)};
    auto services = many_services(20, 3);
    ok(bench.full(services));
    is_not_programmed(bench, {7});
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, bench.kernel.saves);
    CPPUNIT_ASSERT_EQUAL(content_of(without(services, 7)), content(bench));
    bench.kernel.refuse = {own_rule(8)};
    services[7].endpoints.clear();  // filter and nat change
    services[8].endpoints.push_back({"10.77.0.1", 8080, false, Condition::kReady});
    CPPUNIT_ASSERT(bench.delta({services[7], services[8]}) == abi::Code::kKernel);
    ok(bench.full(services));
    is_not_programmed(bench, {8});
    services[8].endpoints.pop_back();
    CPPUNIT_ASSERT_EQUAL(content_of(services), content(bench));
  }

  void refused_delta_keeps_the_old_rules() {
    for (const Naming naming : kNamings) {
      Bench bench;
      auto services = many_services(20, 3);
      ok(bench.full(services));
      auto wanted = services;
      for (ServiceSpec& service : wanted) service.affinity_seconds = 60;
      bench.kernel.refuse = {"-j DNAT --to-destination " + services[7].endpoints[0].address + ":"};
      bench.kernel.naming = naming;
      ok(bench.delta(wanted));
      is_not_programmed(bench, {7});
      auto expected = wanted;
      expected[7] = services[7];
      CPPUNIT_ASSERT_EQUAL(content_of(expected), content(bench));
      bench.kernel.refuse.clear();
      ok(bench.delta({wanted[7]}));
      CPPUNIT_ASSERT_EQUAL(content_of(wanted), content(bench));
    }
  }

  void refused_new_service_port_leaves_no_rules() {
    for (const Naming naming : kNamings) {
      Bench bench;
      const auto services = many_services(6, 2);
      ok(bench.full({services[0]}));
      bench.kernel.refuse = {own_rule(3)};
      bench.kernel.naming = naming;
      ok(bench.delta(services));
      is_not_programmed(bench, {3});
      CPPUNIT_ASSERT_EQUAL(content_of(without(services, 3)), content(bench));
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
      Bench bench;
      ok(bench.full({}));
      bench.kernel.refuse = {own_rule(2)};
      bench.kernel.naming = naming;
      ok(bench.delta(services));
      is_not_programmed(bench, {2});
      CPPUNIT_ASSERT_EQUAL(content_of(without(services, 2)), content(bench));
      ok(bench.full(services));
      is_not_programmed(bench, {2});
      CPPUNIT_ASSERT_EQUAL(content_of(without(services, 2)), content(bench));
    }
  }

  void refused_filter_rules_exclude_the_whole_service_port() {
    for (const Naming naming : kNamings) {
      auto services = many_services(4, 2);
      services[2].health_check_node_port = 30000;
      Bench bench;
      bench.kernel.refuse = {"health check node port"};
      bench.kernel.naming = naming;
      ok(bench.full(services));
      is_not_programmed(bench, {2});
      CPPUNIT_ASSERT_EQUAL(content_of(without(services, 2)), content(bench));
    }
  }

  void restores_are_bounded_by_the_logarithm() {
    const auto restores = [](Naming naming) {
      Bench bench;
      bench.kernel.use_legacy();  // all in one restore
      ok(bench.full({}));
      bench.kernel.refuse = {own_rule(300)};
      bench.kernel.naming = naming;
      ok(bench.delta(many_services(900, 1)));
      is_not_programmed(bench, {300});
      return bench.kernel.restores.size();
    };
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, restores(Naming::kLine));  // refused; the suspect alone; the remaining ones
    CPPUNIT_ASSERT(restores(Naming::kCommit) <= 2 + 2 * 10);
  }

  void apply_with_all_service_ports_refused_fails_in_bounded_time() {
    for (const Naming naming : kNamings) {
      Bench bench;
      ok(bench.full({}));
      bench.kernel.refuse = {" -j DNAT "};
      bench.kernel.naming = naming;
      CPPUNIT_ASSERT(bench.delta(many_services(1000, 1)) == abi::Code::kKernel);
      const std::string sentence(bench.error.message);
      CPPUNIT_ASSERT(
          sentence.starts_with("the kernel refuses the rules of too many service ports to find them all in time; "));
      CPPUNIT_ASSERT(bench.kernel.restores.size() <= 402);
    }
    Bench slow;
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
    Bench bench;
    const auto services = many_services(6, 2);
    ok(bench.full(services));
    auto wanted = services;
    wanted[3].affinity_seconds = 60;
    wanted[5].endpoints.pop_back();
    bench.kernel.refuse = {"--set"};
    ok(bench.full(wanted));
    is_not_programmed(bench, {3});
    auto expected = wanted;
    expected[3] = services[3];
    CPPUNIT_ASSERT_EQUAL(content_of(expected), content(bench));
    ok(bench.full(wanted));
    CPPUNIT_ASSERT_EQUAL(content_of(expected), content(bench));
    ok(bench.verify());
    // Rules that have drifted cannot be kept: all of them are removed.
    bench.kernel.tables["nat"][iptables::name(plan(services[3]).chains[0])].clear();
    ok(bench.full(wanted));
    CPPUNIT_ASSERT_EQUAL(content_of(without(expected, 3)), content(bench));
  }

  void refused_common_rules_exclude_no_service_port() {
    for (const Naming naming : kNamings) {
      Bench bench;
      bench.kernel.refuse = {"-A KUBE-MARK-MASQ"};
      bench.kernel.naming = naming;
      CPPUNIT_ASSERT(bench.full(many_services(4, 1)) == abi::Code::kKernel);
      CPPUNIT_ASSERT_EQUAL(std::string(), std::string(bench.error.object));
      CPPUNIT_ASSERT(bench.host.failed.empty());
      CPPUNIT_ASSERT(bench.kernel.restores.size() <= 3);
    }
  }

  void missing_privilege_memory_or_lock_excludes_no_service_port() {
    const auto code = [](int status, const std::string& error_output) {
      Bench bench;
      bench.kernel.fail_next = status;
      bench.kernel.error_output = error_output;
      const abi::Code result = bench.full(many_services(4, 1));
      CPPUNIT_ASSERT_EQUAL(std::size_t{1}, bench.kernel.restores.size());
      CPPUNIT_ASSERT(bench.host.failed.empty());
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
      Bench bench;
      if (legacy) bench.kernel.use_legacy();
      const auto services = many_services(6, 2);
      ok(bench.full(services));
      bench.kernel.foreign("*nat\n:KUBE-MARK-MASQ - [0:0]\n:KUBE-SERVICES - [0:0]\nCOMMIT\n");
      CPPUNIT_ASSERT(bench.delta({}, {services[2], services[4]}) == abi::Code::kNeedFull);
      CPPUNIT_ASSERT(bench.host.failed.empty());
      ok(bench.full(without(without(services, 4), 2)));
      CPPUNIT_ASSERT_EQUAL(content_of(without(without(services, 4), 2)), content(bench));
    }
  }

  void leftovers_are_removed_despite_a_refusal() {
    for (const std::size_t stale : {3u, 80u}) {  // single removals; rewritten chains
      Bench bench;
      auto services = many_services(stale + 6, 2);
      ok(bench.full(services));
      bench.restart();
      services.erase(services.begin(), services.begin() + static_cast<std::ptrdiff_t>(stale));
      services[2].endpoints.pop_back();
      bench.kernel.refuse = {"--comment \"" + name_of(stale + 2) + " -> "};
      ok(bench.full(services));
      is_not_programmed(bench, {stale + 2});
      CPPUNIT_ASSERT_EQUAL(content_of(without(services, 2)), content(bench));
    }
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(RefusalTest);

}  // namespace backend_refusal_test
}  // namespace sluice::test
