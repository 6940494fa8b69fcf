// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/snapshot/flatten.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include "core/snapshot/builder.hpp"
#include "sluice/sdk/sdk.hpp"
#include "test/unit/store/fixtures.hpp"

namespace sluice::snapshot {
namespace flatten_test {

class FlattenTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(FlattenTest);
  CPPUNIT_TEST(every_field_is_converted);
  CPPUNIT_TEST(empty_arrays_are_null);
  CPPUNIT_TEST(details_are_converted);
  CPPUNIT_TEST(without_a_request_there_are_no_details);
  CPPUNIT_TEST(ports_of_a_service_share_annotations);
  CPPUNIT_TEST(session_keys_are_stable);
  CPPUNIT_TEST_SUITE_END();

  void every_field_is_converted() {
    store::Store store("N");
    auto service = test::service();
    service.type = model::ServiceType::load_balancer;
    service.external_local = true;
    service.affinity_seconds = 10800;
    service.health_check_node_port = 30000;
    service.ports[0].node_port = 30001;
    service.load_balancer_ips = {*lib::IpAddress::parse("1.2.3.4")};
    service.source_ranges = {*lib::IpPrefix::parse("203.0.113.0/25")};
    store.apply(model::Upsert{service});
    store.apply(model::Upsert{test::slice("x", {{"10.180.0.1", "N"}, {"10.180.2.1", "M"}})});
    Builder builder(lib::Family::ipv4, store.service_names(lib::Family::ipv4));
    NodeFacts facts;
    facts.name = "N";
    facts.node_ip = *lib::IpAddress::parse("192.168.0.2");
    facts.masquerade_mark = 0x4000;
    facts.node_ports_match_all = false;
    facts.node_ports_on_localhost = true;
    facts.detector = DetectorKind::cidr;
    facts.detector_cidr = *lib::IpPrefix::parse("10.0.0.0/8");
    facts.node_port_addresses = {*lib::IpAddress::parse("192.168.0.2")};
    facts.service_cidrs = {*lib::IpPrefix::parse("172.30.0.0/16"), *lib::IpPrefix::parse("172.31.0.0/17")};
    builder.set_node_facts({std::make_shared<const NodeFacts>(facts), 1});
    const Transaction transaction = builder.full(store);
    const FlatTransaction flat(transaction);
    const abi::Transaction& out = *flat.get();

    CPPUNIT_ASSERT(out.kind == abi::TransactionKind::kFull);
    CPPUNIT_ASSERT_EQUAL(transaction.generation, out.generation);
    CPPUNIT_ASSERT_EQUAL(std::uint32_t(abi::kNodePortsOnLocalhost), out.node->flags);
    CPPUNIT_ASSERT_EQUAL(std::uint32_t(0x4000), out.node->masquerade_mark);
    CPPUNIT_ASSERT_EQUAL(std::string("192.168.0.2"), sdk::to_string(out.node->node_ip, abi::Family::kIpv4));
    CPPUNIT_ASSERT_EQUAL(std::string("10.0.0.0/8"), sdk::to_string(out.node->detector_cidr, abi::Family::kIpv4));
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), std::size_t(out.node->node_port_addresses.count));

    const auto service_cidrs = sdk::range<abi::Prefix>(out.node->service_cidrs);
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), std::size_t(service_cidrs.size()));
    CPPUNIT_ASSERT_EQUAL(std::string("172.31.0.0/17"), sdk::to_string(service_cidrs[1], abi::Family::kIpv4));

    const auto ports = sdk::range<abi::ServicePort>(out.service_ports);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), std::size_t(ports.size()));
    const abi::ServicePort port = ports[0];
    CPPUNIT_ASSERT_EQUAL(std::string("ns1/svc1:p80"), sdk::service_port_name(port.key));
    CPPUNIT_ASSERT(port.key.protocol == abi::Protocol::kTcp);
    CPPUNIT_ASSERT_EQUAL(std::uint32_t(abi::kExternalPolicyLocal | abi::kUsesClusterEndpoints |
                                       abi::kUsesLocalEndpoints | abi::kHasAnyEndpoint | abi::kSessionAffinity),
                         port.flags);
    CPPUNIT_ASSERT_EQUAL(std::uint32_t(10800), port.affinity_seconds);
    CPPUNIT_ASSERT_EQUAL(std::uint16_t(30000), port.health_check_node_port);
    const auto frontends = sdk::range<abi::Frontend>(port.frontends);
    CPPUNIT_ASSERT_EQUAL(std::size_t(3), std::size_t(frontends.size()));
    const abi::Frontend last = frontends[2];
    CPPUNIT_ASSERT(last.kind == abi::FrontendKind::kNodePort);
    CPPUNIT_ASSERT_EQUAL(std::uint16_t(30001), last.port);
    const abi::Prefix range = sdk::range<abi::Prefix>(port.source_ranges)[0];
    CPPUNIT_ASSERT_EQUAL(std::string("203.0.113.0/25"), sdk::to_string(range, abi::Family::kIpv4));
    const auto endpoints = sdk::range<abi::Endpoint>(port.endpoints);
    const abi::Endpoint local = endpoints[0];
    const abi::Endpoint remote = endpoints[1];
    CPPUNIT_ASSERT_EQUAL(std::string("10.180.0.1:80"),
                         sdk::host_port(local.address, abi::Family::kIpv4, local.port));
    CPPUNIT_ASSERT_EQUAL(int(abi::kEndpointInCluster | abi::kEndpointInLocal | abi::kEndpointOnThisNode |
                             abi::kEndpointReady | abi::kEndpointServing),
                         int(local.flags));
    CPPUNIT_ASSERT_EQUAL(int(abi::kEndpointInCluster | abi::kEndpointReady | abi::kEndpointServing), int(remote.flags));
  }

  static Transaction transaction_with(const model::DetailsRequest& request, model::Service service) {
    store::Store store("N");
    store.apply(model::Upsert{std::move(service)});
    store.apply(model::Upsert{
        test::with_pods(test::slice("x", {{"10.180.0.2", "M"}, {"10.180.0.1", "N"}}), {"p2", "p1"})});
    Builder builder(lib::Family::ipv4, store.service_names(lib::Family::ipv4), request);
    builder.set_node_facts({std::make_shared<const NodeFacts>(), 1});
    return builder.full(store);
  }
  static model::Service detailed() {
    auto service = test::service();
    service.type = model::ServiceType::node_port;
    return test::with_details(service, "1", "kubernetes.io/h2c");
  }

  void details_are_converted() {
    const Transaction transaction = transaction_with(test::all_details(), detailed());
    const FlatTransaction flat(transaction);
    const auto port = sdk::range<abi::ServicePort>(flat.get()->service_ports)[0];
    CPPUNIT_ASSERT(port.service_type == abi::ServiceType::kNodePortService);
    CPPUNIT_ASSERT_EQUAL(std::string("uid-svc1"), std::string(sdk::text(port.service_uid)));
    CPPUNIT_ASSERT_EQUAL(std::string("kubernetes.io/h2c"), std::string(sdk::text(port.app_protocol)));
    CPPUNIT_ASSERT(port.session_key != 0);
    const auto annotations = sdk::range<abi::Annotation>(port.annotations);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), annotations.size());
    CPPUNIT_ASSERT_EQUAL(std::string("a.example/x=1"), std::string(sdk::text(annotations[0].key)) + "=" +
                                                           std::string(sdk::text(annotations[0].value)));
    const auto endpoints = sdk::range<abi::EndpointDetails>(port.endpoint_details);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(2), port.endpoints.count);
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), endpoints.size());
    CPPUNIT_ASSERT_EQUAL(std::string("N"), std::string(sdk::text(endpoints[0].node_name)));
    CPPUNIT_ASSERT_EQUAL(std::string("zone"), std::string(sdk::text(endpoints[0].zone)));
    CPPUNIT_ASSERT_EQUAL(std::string("p1"), std::string(sdk::text(endpoints[0].pod_name)));
    CPPUNIT_ASSERT_EQUAL(std::string("uid-p2"), std::string(sdk::text(endpoints[1].pod_uid)));
    CPPUNIT_ASSERT_EQUAL(std::uint32_t(0), endpoints[0].weight);
  }

  void without_a_request_there_are_no_details() {
    const Transaction transaction = transaction_with({}, detailed());
    const FlatTransaction flat(transaction);
    const auto port = sdk::range<abi::ServicePort>(flat.get()->service_ports)[0];
    CPPUNIT_ASSERT(port.service_type == abi::ServiceType::kUnknownService);
    CPPUNIT_ASSERT(port.service_uid.size == 0 && port.app_protocol.size == 0 && port.session_key == 0);
    CPPUNIT_ASSERT(port.annotations.count == 0 && port.endpoint_details.count == 0);
    // Each of the three requests alone.
    const Transaction only_endpoints = transaction_with({.endpoints = true}, detailed());
    const auto second = sdk::range<abi::ServicePort>(FlatTransaction(only_endpoints).get()->service_ports)[0];
    CPPUNIT_ASSERT(second.session_key == 0 && second.annotations.count == 0 && second.endpoint_details.count == 2);
    const Transaction only_annotations =
        transaction_with({.annotation_prefixes = base::Symbol("a.example/")}, detailed());
    const auto third = sdk::range<abi::ServicePort>(FlatTransaction(only_annotations).get()->service_ports)[0];
    CPPUNIT_ASSERT(third.session_key == 0 && third.annotations.count == 1 && third.endpoint_details.count == 0);
  }

  // A tenant could otherwise multiply 16 KiB by thousands of ports.
  void ports_of_a_service_share_annotations() {
    auto service = test::service();
    service.ports.push_back({base::Symbol("p81"), model::Protocol::tcp, 81, 0});
    const Transaction transaction = transaction_with(test::all_details(), test::with_details(service));
    const FlatTransaction flat(transaction);
    const auto ports = sdk::range<abi::ServicePort>(flat.get()->service_ports);
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), ports.size());
    CPPUNIT_ASSERT(ports[0].annotations.data == ports[1].annotations.data && ports[1].annotations.count == 1);
  }

  void session_keys_are_stable() {
    const auto key = [](const model::Service& service) {
      const Transaction transaction = transaction_with({.services = true}, service);
      return sdk::range<abi::ServicePort>(FlatTransaction(transaction).get()->service_ports)[0].session_key;
    };
    // Other processes and releases must compute the same.
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(0xed736eea503ddbee), key(detailed()));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(0xd362b981d6ced191), key(test::service()));  // of ns1/svc1
  }

  void empty_arrays_are_null() {
    store::Store store("N");
    Builder builder(lib::Family::ipv6, {});
    builder.set_node_facts({std::make_shared<const NodeFacts>(), 1});
    const Transaction transaction = builder.full(store);
    const FlatTransaction flat(transaction);
    CPPUNIT_ASSERT(flat.get()->service_ports.data == nullptr);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(0), flat.get()->service_ports.count);
    CPPUNIT_ASSERT_EQUAL(std::uint32_t(sizeof(abi::ServicePort)), flat.get()->service_ports.stride);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(FlattenTest);

}  // namespace flatten_test
}  // namespace sluice::snapshot
