// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Which service ports are reported as not programmed, and why.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "test/unit/nftables/backend_rig.hpp"

namespace sluice::test {
namespace backend_not_programmed_test {

using nftables::SetId;

class NftablesBackendNotProgrammedTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(NftablesBackendNotProgrammedTest);
  CPPUNIT_TEST(moved_frontend_is_no_conflict);
  CPPUNIT_TEST(swapped_frontends_are_no_conflict);
  CPPUNIT_TEST(refused_service_port_is_not_counted);
  CPPUNIT_TEST(affinity_ids_run_out_come_back_and_move);
  CPPUNIT_TEST_SUITE_END();

  static constexpr std::uint32_t kMostNumbers = 100;

  static ServiceSpec service(const std::string& name, const std::string& address) {
    ServiceSpec made;
    made.name = name;
    made.cluster_ip = address;
    made.endpoints = {{"10.180.0.1", 80, true}, {"10.180.2.1", 80, false}};
    return made;
  }
  // One for each affinity id; without endpoints, so that the table stays small.
  static std::vector<ServiceSpec> sticky() {
    std::vector<ServiceSpec> all(kMostNumbers);
    for (std::uint32_t i = 0; i < kMostNumbers; ++i) {
      all[i].name = "s" + std::to_string(100000 + i);
      all[i].port = static_cast<std::uint16_t>(i + 1);
      all[i].affinity_seconds = 60;
    }
    return all;
  }

  void moved_frontend_is_no_conflict() {
    for (const bool loser_is_first : {true, false}) {
      NftablesRig rig;
      ServiceSpec one = service("a", "172.30.0.1"), two = service("b", "172.30.0.2");
      ServiceSpec& from = loser_is_first ? one : two;
      ServiceSpec& to = loser_is_first ? two : one;
      from.external_ips = {"1.2.3.4"};
      ok(rig, rig.full({one, two}));
      std::swap(from.external_ips, to.external_ips);
      ok(rig, rig.delta({one, two}));
      CPPUNIT_ASSERT_MESSAGE(rig.host.failed.empty() ? "" : rig.host.failed[0], rig.host.failed.empty());
      CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig.host.not_programmed());
      CPPUNIT_ASSERT(rig.host.resyncs.empty());
      const auto has_it = [&](const ServiceSpec& service) {
        const std::vector<std::string> lines = rig.inspect("ns1/" + service.name);
        return lines.size() == 2 && (has(lines[0], "1.2.3.4:80/tcp -> ") || has(lines[0], "1.2.3.4:80/tcp masqueraded") ||
                                     has(lines[1], "1.2.3.4:80/tcp"));
      };
      CPPUNIT_ASSERT(has_it(to));
      CPPUNIT_ASSERT(!has_it(from));
      ok(rig, rig.full({one, two}));
      CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.result.kernel_writes);
    }
  }

  void swapped_frontends_are_no_conflict() {
    NftablesRig rig;
    ServiceSpec one = service("a", "172.30.0.1"), two = service("b", "172.30.0.2");
    one.external_ips = {"1.2.3.4"};
    two.external_ips = {"1.2.3.5"};
    one.node_port = 30001;
    two.node_port = 30002;
    ok(rig, rig.full({one, two}));
    std::swap(one.external_ips, two.external_ips);
    std::swap(one.node_port, two.node_port);
    ok(rig, rig.delta({one, two}));
    CPPUNIT_ASSERT(rig.host.failed.empty());
    // A real conflict is reported, whatever comes after it.
    ServiceSpec three = service("0", "172.30.0.3");
    three.external_ips = {"1.2.3.4"};
    ok(rig, rig.delta({three, one, two}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.host.failed.size());
    CPPUNIT_ASSERT_EQUAL(std::string("ns1/0:p80: 1.2.3.4:80/tcp belongs to Service port ns1/b:p80; give one of them another "
                                     "port or address"),
                         rig.host.failed[0]);
  }

  void refused_service_port_is_not_counted() {
    NftablesRig rig;
    ServiceSpec plain = service("a", "172.30.0.1"), refused = service("b", "172.30.0.2");
    refused.node_port = 30001;
    refused.external_local = true;
    refused.endpoints = {{"10.180.2.1", 80, false}};
    const auto count = [&] {
      return rig.metric("kubeproxy_sync_proxy_rules_no_local_endpoints_total", "traffic_policy=\"external\",");
    };
    ok(rig, rig.full({plain, refused}));
    CPPUNIT_ASSERT_EQUAL(1.0, count());
    rig.restart();
    rig.table.state = {};
    bool refusing = true;
    rig.table.refuse = [&](const nftables::ElementWrite& one) { return refusing && is_of(one, refused) ? EINVAL : 0; };
    ok(rig, rig.full({plain, refused}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.host.failed.size());
    CPPUNIT_ASSERT_EQUAL(0.0, count());
    refusing = false;
    ok(rig, rig.delta({refused}));
    CPPUNIT_ASSERT_EQUAL(1.0, count());
    refusing = true;
    refused.cluster_ip = "172.30.0.3";
    ok(rig, rig.delta({refused}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.host.failed.size());
    CPPUNIT_ASSERT_EQUAL(0.0, count());
  }

  void affinity_ids_run_out_come_back_and_move() {
    CPPUNIT_ASSERT_EQUAL(nftables::kMaxAffinityNumber, nftables::Table().affinity_ids);
    NftablesRig rig;
    rig.table.affinity_ids = kMostNumbers;
    rig.restart();
    std::vector<ServiceSpec> services = sticky();
    services.push_back(service("plain", "172.30.0.1"));
    ok(rig, rig.full(services));
    CPPUNIT_ASSERT(rig.host.failed.empty());
    // A new service port, and an existing one.
    ServiceSpec more = service("more", "172.30.0.2");
    more.affinity_seconds = 60;
    services.back().affinity_seconds = 60;
    ok(rig, rig.delta({more, services.back()}));
    const std::string why =
        ": 100 other service ports have session affinity and there is no number left for it: it is not served; remove "
        "sessionAffinity from Services that do not need it";
    CPPUNIT_ASSERT((std::vector<std::string>{"ns1/more:p80" + why, "ns1/plain:p80" + why}) == rig.host.failed);
    CPPUNIT_ASSERT(rig.table.frontends(SetId::kServiceIps).empty());
    ok(rig.verify());
    CPPUNIT_ASSERT(rig.host.resyncs.empty());
    // Released ids are reused, and the service port that waits for one is retried with the next verify, not after an
    // hour.
    const std::vector<ServiceSpec> gone{services[0], services[1]};
    services.erase(services.begin(), services.begin() + 2);
    ok(rig, rig.delta({}, gone));
    ok(rig.verify());
    ok(rig.verify());  // a second verify requests no second resync
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.host.resyncs.size());
    CPPUNIT_ASSERT_MESSAGE(rig.host.resyncs[0], has(rig.host.resyncs[0], "session affinity"));
    services.push_back(more);
    ok(rig, rig.full(services));
    CPPUNIT_ASSERT(rig.host.failed.empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig.table.frontends(SetId::kAffinityServices).size());
    ok(rig.verify());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.host.resyncs.size());
    // An id moves from one service port to another in one transaction.
    ServiceSpec last = service("last", "172.30.0.3");
    ok(rig, rig.delta({last}));
    std::swap(more.affinity_seconds, last.affinity_seconds);
    ok(rig, rig.delta({last, more}));
    CPPUNIT_ASSERT(rig.host.failed.empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig.table.frontends(SetId::kAffinityServices).size());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(NftablesBackendNotProgrammedTest);

}  // namespace backend_not_programmed_test
}  // namespace sluice::test
