// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A full apply repairs an apply that failed anywhere; random histories end like a fresh start.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "test/unit/ipvs/backend_rig.hpp"
#include "test/unit/repetitions.hpp"

namespace sluice::test {
namespace backend_faults_test {

// Counts calls of the four parts and breaks the k-th.
class Saboteur {
 public:
  explicit Saboteur(IpvsRig& rig) : bench_(rig) {}

  // Calls made if none was broken.
  unsigned run(unsigned broken, const std::function<abi::Code()>& work, abi::Code& code) {
    unsigned step = 0;
    const auto next = [&] { return ++step == broken; };
    const sdk::Failure failure(abi::Code::kRetry, "", "broken by the test", 105);
    bench_.servers.meddle = [&](const ipvs::ServerCommand&) {
      if (next()) throw failure;
    };
    bench_.links.before = [&](const std::string&) {
      if (next()) throw failure;
    };
    const std::size_t calls = bench_.sets.calls.size();
    // The fake of the sets counts by itself: it breaks the call after `left` others.
    if (broken != 0) {
      bench_.sets.fail_call = "";
      bench_.sets.fail_after = broken - 1;
    }
    code = work();
    bench_.sets.fail_call = "none";
    bench_.sets.fail_after = 0;
    bench_.servers.meddle = nullptr;
    bench_.links.before = nullptr;
    return std::max(step, static_cast<unsigned>(bench_.sets.calls.size() - calls));
  }

 private:
  IpvsRig& bench_;
};

class IpvsFaultsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(IpvsFaultsTest);
  CPPUNIT_TEST(a_full_transaction_may_fail_anywhere);
  CPPUNIT_TEST(a_delta_may_fail_anywhere);
  CPPUNIT_TEST(rejected_rules);
  CPPUNIT_TEST(a_restart_in_the_middle_converges);
  CPPUNIT_TEST(random_histories_end_as_a_fresh_start);
  CPPUNIT_TEST_SUITE_END();

  static std::vector<ServiceSpec> before() {
    std::vector<ServiceSpec> services = many_services(4, 2);
    services[0].node_port = 30001;
    services[1].external_ips = {"192.168.99.11"};
    services[2].vips = {"1.2.3.4"};
    services[2].source_ranges = {"203.0.113.0/25"};
    return services;
  }
  static std::vector<ServiceSpec> after() {
    std::vector<ServiceSpec> services = before();
    services[0].node_port = 30002;
    services[0].endpoints.pop_back();
    services[1].external_local = true;
    services[2].source_ranges = {"192.168.0.0/24"};
    services.pop_back();
    services.push_back(many_services(6, 1)[5]);
    return services;
  }
  static std::string fresh(const std::vector<ServiceSpec>& services) {
    IpvsRig rig;
    ok(rig, rig.full(services));
    return rig.kernel_text();
  }

  template <class Work>
  static void break_each_step(const Work& work) {
    const std::string expected = fresh(after());
    unsigned failures = 0;
    for (unsigned broken = 1;; ++broken) {
      IpvsRig rig;
      ok(rig, rig.full(before()));
      abi::Code code{};
      const unsigned steps = Saboteur(rig).run(
          broken, [&] { return work(rig); }, code);
      if (code == abi::Code::kOk) {
        CPPUNIT_ASSERT_MESSAGE("step " + std::to_string(broken) + " of " + std::to_string(steps), broken > steps);
        break;
      }
      ++failures;
      CPPUNIT_ASSERT(code == abi::Code::kRetry);
      // No delta is accepted after it.
      CPPUNIT_ASSERT(rig.delta({}) == abi::Code::kNeedFull);
      CPPUNIT_ASSERT(rig.verify() == abi::Code::kNeedFull);
      ok(rig, rig.full(after()));
      ok(rig, rig.verify());  // removes a drained real server
      CPPUNIT_ASSERT_EQUAL_MESSAGE("step " + std::to_string(broken), expected, rig.kernel_text());
    }
    CPPUNIT_ASSERT(failures > 10);
  }

  void a_full_transaction_may_fail_anywhere() {
    break_each_step([](IpvsRig& rig) { return rig.full(after()); });
  }

  void a_delta_may_fail_anywhere() {
    break_each_step([](IpvsRig& rig) {
      const std::vector<ServiceSpec> now = after();
      return rig.delta({now[0], now[1], now[2], now[3]}, {before()[3]});
    });
  }

  void rejected_rules() {
    IpvsRig rig;
    ok(rig, rig.full({}));
    rig.rules.fail_next = 4;
    std::vector<ServiceSpec> services = before();
    CPPUNIT_ASSERT(rig.delta(services) != abi::Code::kOk);
    CPPUNIT_ASSERT_MESSAGE("no address without its rules", rig.links_text() == "kube-ipvs0 dummy\n");
    ok(rig, rig.full(services));
    CPPUNIT_ASSERT_EQUAL(fresh(services), rig.kernel_text());
  }

  void a_restart_in_the_middle_converges() {
    const std::string expected = fresh(after());
    for (unsigned broken = 1; broken < 60; broken += 3) {
      IpvsRig rig;
      ok(rig, rig.full(before()));
      abi::Code code{};
      Saboteur(rig).run(
          broken, [&] { return rig.full(after()); }, code);
      rig.restart();
      ok(rig, rig.full(after()));
      ok(rig, rig.verify());
      CPPUNIT_ASSERT_EQUAL_MESSAGE("step " + std::to_string(broken), expected, rig.kernel_text());
    }
  }

  void random_histories_end_as_a_fresh_start() {
    std::mt19937 random(66);
    const auto below = [&](unsigned bound) { return std::uniform_int_distribution<unsigned>(0, bound - 1)(random); };
    for (unsigned history = 0; history < repetitions(12); ++history) {
      IpvsRig rig;
      std::map<std::string, ServiceSpec> model;
      const auto all = [&] {
        std::vector<ServiceSpec> services;
        for (const auto& [name, service] : model) services.push_back(service);
        return services;
      };
      ok(rig, rig.full({}));
      for (unsigned step = 0; step < 40; ++step) {
        std::vector<ServiceSpec> changed, removed;
        const unsigned which = below(8);
        ServiceSpec service = many_services(8, 4)[which];
        if (below(4) == 0 && model.contains(service.name)) {
          removed.push_back(model.at(service.name));
          model.erase(service.name);
        } else {
          service.endpoints.resize(below(5));
          service.internal_local = below(3) == 0;
          if (below(2) == 0) service.node_port = static_cast<std::uint16_t>(30000 + which);
          if (below(3) == 0) service.external_ips = {"192.168.99." + std::to_string(which + 1)};
          if (below(3) == 0) service.vips = {"1.2.3." + std::to_string(which + 1)};
          if (below(2) == 0) service.source_ranges = {below(2) == 0 ? "203.0.113.0/25" : "192.168.0.0/16"};
          if (below(3) == 0) service.affinity_seconds = 100;
          service.external_local =
              below(2) == 0 && (service.node_port != 0 || !service.vips.empty() || !service.external_ips.empty());
          if (service.external_local) service.health_check_node_port = static_cast<std::uint16_t>(31000 + which);
          model[service.name] = service;
          changed.push_back(service);
        }
        switch (below(10)) {
          case 0:
            rig.restart();
            ok(rig, rig.full(all()));
            break;
          case 1: {
            abi::Code code{};
            Saboteur(rig).run(
                1 + below(12), [&] { return rig.delta(changed, removed); }, code);
            if (code != abi::Code::kOk) ok(rig, rig.full(all()));
            break;
          }
          default:
            ok(rig, rig.delta(changed, removed));
        }
        ok(rig, rig.verify());
        CPPUNIT_ASSERT_EQUAL(fresh(all()), rig.kernel_text());
      }
    }
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(IpvsFaultsTest);

}  // namespace backend_faults_test
}  // namespace sluice::test
