// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/counter_rows.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <string>
#include <vector>

#include "lib/text.hpp"
#include "sluice/sdk/service.hpp"
#include "test/unit/nftables/backend_rig.hpp"

namespace sluice::test {
namespace counter_rows_test {

constexpr abi::Family kV4 = abi::Family::kIpv4;

std::string printed(const abi::InspectedCounters& row) {
  const std::string frontend = (row.flags & abi::kCountedNodePort) != 0 ? ":" + std::to_string(row.port)
                                                                        : sdk::host_port(row.address, kV4, row.port);
  CPPUNIT_ASSERT_EQUAL(
      std::uint32_t{abi::kCountedFrontend | abi::kCountedBothDirections | abi::kKnownPackets | abi::kKnownBytes},
      row.flags & ~std::uint32_t{abi::kCountedNodePort});
  return sdk::service_port_name(row.key) + " " + frontend + "/" + std::string(sdk::protocol_name(row.key.protocol)) +
         " " + std::to_string(row.packets) + " packets " + std::to_string(row.bytes) + " bytes";
}

class NftablesCounterRowsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(NftablesCounterRowsTest);
  CPPUNIT_TEST(each_counted_frontend_has_a_row);
  CPPUNIT_TEST(without_counters_there_are_no_rows);
  CPPUNIT_TEST(counters_need_a_successful_apply);
  CPPUNIT_TEST(the_metrics_of_verify_are_not_affected);
  CPPUNIT_TEST_SUITE_END();

  static std::string counted(NftablesRig& rig, const std::string& name = {}) {
    return lib::joined(rig.rows<abi::InspectedCounters>(abi::InspectionKind::kInspectCounters, printed, name), "\n");
  }
  static void count(NftablesRig& rig, const nftables::FrontendKey& frontend, std::uint64_t packets) {
    rig.table.counts[nftables::frontend_key(kV4, frontend)] = {frontend, packets, packets * 100};
  }
  static std::vector<ServiceSpec> two() {
    ServiceSpec one;
    one.node_port = 30001;
    ServiceSpec other;
    other.name = "svc0";
    other.cluster_ip = "172.30.0.42";
    other.protocol = abi::Protocol::kUdp;
    return {one, other};
  }
  static nftables::FrontendKey at(const std::string& ip, abi::Protocol protocol = abi::Protocol::kTcp) {
    return {false, *sdk::parse_address(ip, kV4), protocol, 80};
  }
  static void count_all(NftablesRig& rig) {
    count(rig, at("172.30.0.41"), 7);
    count(rig, {true, {}, abi::Protocol::kTcp, 30001}, 8);
    count(rig, at("172.30.0.42", abi::Protocol::kUdp), 9);
    count(rig, at("172.30.0.99"), 10);  // of no Service
  }

  void each_counted_frontend_has_a_row() {
    NftablesRig rig(kV4, {{"counters", "true"}});
    ok(rig, rig.full(two()));
    count_all(rig);
    const std::string first = "ns1/svc0:p80 172.30.0.42:80/udp 9 packets 900 bytes";
    CPPUNIT_ASSERT(has(counted(rig), first + "\n"));
    CPPUNIT_ASSERT(has(counted(rig), "ns1/svc1:p80 172.30.0.41:80/tcp 7 packets 700 bytes"));
    CPPUNIT_ASSERT(has(counted(rig), "ns1/svc1:p80 :30001/tcp 8 packets 800 bytes"));
    CPPUNIT_ASSERT(!has(counted(rig), "172.30.0.99"));
    CPPUNIT_ASSERT_EQUAL(first, counted(rig, "ns1/svc0"));
  }

  void without_counters_there_are_no_rows() {
    for (const BackendOptions& options : {BackendOptions{}, BackendOptions{{"offloadInterfaces[0]", "eth0"}}}) {
      NftablesRig rig(kV4, options);
      ok(rig, rig.full(two()));
      count_all(rig);
      CPPUNIT_ASSERT_EQUAL(std::string(), counted(rig));
      CPPUNIT_ASSERT(rig.inspected == abi::Code::kOk);
    }
  }

  void counters_need_a_successful_apply() {
    NftablesRig rig(kV4, {{"counters", "true"}});
    CPPUNIT_ASSERT_EQUAL(std::string(), counted(rig));
    CPPUNIT_ASSERT(rig.inspected == abi::Code::kRetry);
  }

  void the_metrics_of_verify_are_not_affected() {
    NftablesRig rig(kV4, {{"counters", "true"}});
    ok(rig, rig.full(two()));
    count_all(rig);
    const std::uint64_t commits = rig.table.statistics.commits;
    counted(rig);
    CPPUNIT_ASSERT_EQUAL(commits, rig.table.statistics.commits);
    ok(rig, rig.verify());
    CPPUNIT_ASSERT_EQUAL(9.0, rig.metric("sluice_nftables_service_packets_total", "service=\"ns1/svc0\","));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(NftablesCounterRowsTest);

}  // namespace counter_rows_test
}  // namespace sluice::test
