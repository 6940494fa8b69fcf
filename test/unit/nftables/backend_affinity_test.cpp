// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Clients of session affinity: exported, and imported from another backend.
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "test/unit/nftables/backend_rig.hpp"

namespace sluice::test {
namespace backend_affinity_test {

using namespace nftables;
using Names = std::vector<std::string>;

ServiceSpec sticky(const std::string& name = "svc1", const std::string& ip = "172.30.0.41") {
  ServiceSpec service;
  service.name = name;
  service.cluster_ip = ip;
  service.affinity_seconds = 100;
  service.endpoints = {{"10.180.0.1"}, {"10.180.0.2"}};
  return service;
}

abi::Address ip(const std::string& text) { return *sdk::parse_address(text, abi::Family::kIpv4); }

struct Clients final : abi::AffinitySink {
  void add(abi::ArrayView clients) noexcept override {
    for (const abi::AffinityClient& client : sdk::range<abi::AffinityClient>(clients)) {
      found.push_back(sdk::service_port_name(client.key) + " " + sdk::to_string(client.client, abi::Family::kIpv4) +
                      " -> " + sdk::host_port(client.endpoint, abi::Family::kIpv4, client.endpoint_port) + " " +
                      std::to_string(client.remaining_seconds));
    }
  }
  Names found;
};

class NftablesAffinityTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(NftablesAffinityTest);
  CPPUNIT_TEST(exports_clients);
  CPPUNIT_TEST(parses_service_port_names);
  CPPUNIT_TEST(new_table_has_imported_clients_before_base_chains);
  CPPUNIT_TEST(replaced_table_has_imported_clients);
  CPPUNIT_TEST(existing_table_gets_missing_clients);
  CPPUNIT_TEST(skips_unknown_service_ports_and_endpoints);
  CPPUNIT_TEST(second_import_adds_missing_clients);
  CPPUNIT_TEST(client_added_by_traffic_is_not_an_error);
  CPPUNIT_TEST(full_map_is_logged);
  CPPUNIT_TEST(foreign_change_loses_no_client);
  CPPUNIT_TEST(refused_client_does_not_fail_apply);
  CPPUNIT_TEST(stops_when_all_clients_are_refused);
  CPPUNIT_TEST(import_failure_does_not_fail_apply);
  CPPUNIT_TEST(failed_apply_keeps_imported_clients);
  CPPUNIT_TEST(restart_keeps_clients);
  CPPUNIT_TEST_SUITE_END();

  static Names bound(NftablesRig& rig) {
    Clients sink;
    ok(rig, rig.affinity().export_clients(&sink, &rig.error));
    std::sort(sink.found.begin(), sink.found.end());
    return sink.found;
  }
  struct Client {
    ServiceSpec service;
    std::string client;
    std::string endpoint;
    std::uint32_t remaining = 50;
  };
  static void import(NftablesRig& rig, const std::vector<Client>& clients) {
    World world;
    std::vector<abi::AffinityClient> given;
    for (const Client& one : clients) {
      abi::AffinityClient client{};
      client.key = world.key(one.service);
      client.client = ip(one.client);
      client.endpoint = ip(one.endpoint);
      client.endpoint_port = 80;
      client.remaining_seconds = one.remaining;
      given.push_back(client);
    }
    ok(rig, rig.affinity().import_clients(sdk::array(given.data(), given.size()), &rig.error));
  }

 public:
  void exports_clients() {
    NftablesRig rig;
    ok(rig, rig.full({sticky(), sticky("svc2", "172.30.0.42")}));
    CPPUNIT_ASSERT(bound(rig).empty());
    import(rig, {{sticky(), "10.0.0.7", "10.180.0.2"}, {sticky("svc2", ""), "10.0.0.7", "10.180.0.1", 3}});
    CPPUNIT_ASSERT((Names{"ns1/svc1:p80 10.0.0.7 -> 10.180.0.2:80 50", "ns1/svc2:p80 10.0.0.7 -> 10.180.0.1:80 3"}) ==
                   bound(rig));
    ServiceSpec fewer = sticky();
    fewer.endpoints.pop_back();  // clients stored with a removed endpoint are not exported
    ok(rig, rig.delta({fewer}));
    CPPUNIT_ASSERT((Names{"ns1/svc2:p80 10.0.0.7 -> 10.180.0.1:80 3"}) == bound(rig));
    ok(rig, rig.delta({}, {sticky("svc2", "")}));
    CPPUNIT_ASSERT(bound(rig).empty());
  }

  void parses_service_port_names() {
    NftablesRig rig;
    ServiceSpec unnamed = sticky();
    unnamed.port_name = "";
    ok(rig, rig.full({unnamed}));
    import(rig, {{unnamed, "10.0.0.7", "10.180.0.2"}});
    CPPUNIT_ASSERT(Names{"ns1/svc1 10.0.0.7 -> 10.180.0.2:80 50"} == bound(rig));
  }

  void new_table_has_imported_clients_before_base_chains() {
    NftablesRig rig;
    rig.restart(abi::kCreatePredecessorServes);
    import(rig, {{sticky(), "10.0.0.7", "10.180.0.2"}, {sticky(), "10.0.0.8", "10.180.0.1", 200}});
    bool with_way_in = false;
    rig.table.before = [&](const Batch& batch) {
      if (batch.clients.empty()) return;
      with_way_in = std::any_of(batch.chains.begin(), batch.chains.end(),
                                [](const ChainWrite& chain) { return chain.spec.name == "nat-prerouting"; });
    };
    ok(rig, rig.full({sticky()}));
    CPPUNIT_ASSERT(with_way_in);
    CPPUNIT_ASSERT((Names{"ns1/svc1:p80 10.0.0.7 -> 10.180.0.2:80 50", "ns1/svc1:p80 10.0.0.8 -> 10.180.0.1:80 100"}) ==
                   bound(rig));
  }

  void replaced_table_has_imported_clients() {
    NftablesRig rig;
    ok(rig, rig.full({sticky()}));
    rig.restart_with({{"affinityClients", "2048"}});
    import(rig, {{sticky(), "10.0.0.7", "10.180.0.2"}});
    ok(rig, rig.full({sticky()}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.table.batches.size());
    CPPUNIT_ASSERT(rig.table.batches[0].delete_table);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.table.batches[0].clients.size());
  }

  void existing_table_gets_missing_clients() {
    NftablesRig rig;
    ok(rig, rig.full({sticky()}));
    import(rig, {{sticky(), "10.0.0.7", "10.180.0.2"}});
    rig.restart(abi::kCreatePredecessorServes);
    import(rig, {{sticky(), "10.0.0.7", "10.180.0.1"}, {sticky(), "10.0.0.9", "10.180.0.1"}});
    ok(rig, rig.full({sticky()}));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{1}, rig.result.kernel_writes);
    CPPUNIT_ASSERT((Names{"ns1/svc1:p80 10.0.0.7 -> 10.180.0.2:80 50", "ns1/svc1:p80 10.0.0.9 -> 10.180.0.1:80 50"}) ==
                   bound(rig));
  }

  void skips_unknown_service_ports_and_endpoints() {
    NftablesRig rig;
    ServiceSpec plain = sticky("plain", "172.30.0.43");
    plain.affinity_seconds = 0;
    ServiceSpec udp = sticky();
    udp.protocol = abi::Protocol::kUdp;
    import(rig, {{plain, "10.0.0.7", "10.180.0.1"},
                 {sticky("gone", ""), "10.0.0.7", "10.180.0.1"},
                 {udp, "10.0.0.7", "10.180.0.1"},
                 {sticky(), "10.0.0.7", "10.180.0.0"}});
    ok(rig, rig.full({sticky(), plain}));
    CPPUNIT_ASSERT(rig.table.state.clients.empty());
  }

  void second_import_adds_missing_clients() {
    NftablesRig rig;
    ok(rig, rig.full({sticky()}));
    import(rig, {{sticky(), "10.0.0.7", "10.180.0.2"}});
    rig.table.batches.clear();
    import(rig, {{sticky(), "10.0.0.7", "10.180.0.1"}, {sticky(), "10.0.0.8", "10.180.0.1"}, {sticky(), "10.0.0.8", "10.180.0.2"}});
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.table.batches.size());
    CPPUNIT_ASSERT((Names{"ns1/svc1:p80 10.0.0.7 -> 10.180.0.2:80 50", "ns1/svc1:p80 10.0.0.8 -> 10.180.0.1:80 50"}) ==
                   bound(rig));
    rig.table.batches.clear();
    import(rig, {{sticky(), "10.0.0.8", "10.180.0.2"}});
    CPPUNIT_ASSERT(rig.table.batches.empty());
  }

  void client_added_by_traffic_is_not_an_error() {
    NftablesRig rig;
    ok(rig, rig.full({sticky()}));
    rig.table.refuse_client = [](const RememberedClient& one) { return one.client == ip("10.0.0.8") ? EEXIST : 0; };
    import(rig, {{sticky(), "10.0.0.7", "10.180.0.2"}, {sticky(), "10.0.0.8", "10.180.0.1"}, {sticky(), "10.0.0.9", "10.180.0.1"}});
    CPPUNIT_ASSERT((Names{"ns1/svc1:p80 10.0.0.7 -> 10.180.0.2:80 50", "ns1/svc1:p80 10.0.0.9 -> 10.180.0.1:80 50"}) ==
                   bound(rig));
    CPPUNIT_ASSERT(!rig.logged(abi::Severity::kWarning, "session affinity"));
  }

  void full_map_is_logged() {
    NftablesRig rig;
    ok(rig, rig.full({sticky()}));
    rig.table.refuse_client = [](const RememberedClient& one) { return one.client == ip("10.0.0.7") ? 0 : ENFILE; };
    import(rig, {{sticky(), "10.0.0.7", "10.180.0.2"}, {sticky(), "10.0.0.8", "10.180.0.1"}, {sticky(), "10.0.0.9", "10.180.0.1"}});
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, bound(rig).size());
    CPPUNIT_ASSERT(rig.logged(abi::Severity::kWarning, "2 clients with session affinity were not imported"));
  }

  void foreign_change_loses_no_client() {
    NftablesRig rig;
    rig.restart(abi::kCreatePredecessorServes);
    import(rig, {{sticky(), "10.0.0.7", "10.180.0.2"}});
    int commits = 0;
    rig.table.before = [&](const Batch&) {
      if (commits++ == 0) rig.table.state.exists = true;  // another process creates an empty table of this name
    };
    ok(rig, rig.full({sticky()}));
    CPPUNIT_ASSERT(Names{"ns1/svc1:p80 10.0.0.7 -> 10.180.0.2:80 50"} == bound(rig));
  }

  void refused_client_does_not_fail_apply() {
    for (const int error : {EINVAL, EEXIST, ENOENT, ENOMEM}) {
      NftablesRig rig;
      rig.restart(abi::kCreatePredecessorServes);
      rig.table.refuse_client = [&](const RememberedClient& one) { return one.client == ip("10.0.0.8") ? error : 0; };
      import(rig, {{sticky(), "10.0.0.7", "10.180.0.2"}, {sticky(), "10.0.0.8", "10.180.0.1"}, {sticky(), "10.0.0.9", "10.180.0.1"}});
      ok(rig, rig.full({sticky()}));
      CPPUNIT_ASSERT((Names{"ns1/svc1:p80 10.0.0.7 -> 10.180.0.2:80 50", "ns1/svc1:p80 10.0.0.9 -> 10.180.0.1:80 50"}) ==
                     bound(rig));
      CPPUNIT_ASSERT_EQUAL(error != EEXIST,
                           rig.logged(abi::Severity::kWarning, "1 clients with session affinity were not imported"));
      ok(rig, rig.verify());
    }
  }

  void stops_when_all_clients_are_refused() {
    NftablesRig rig;
    rig.restart(abi::kCreatePredecessorServes);
    rig.table.refuse_client = [](const RememberedClient&) { return EINVAL; };
    int commits = 0;
    rig.table.before = [&](const Batch&) { ++commits; };
    std::vector<Client> many;
    for (int i = 0; i < 5000; ++i) {
      many.push_back({sticky(), "10.1." + std::to_string(i / 250) + "." + std::to_string(i % 250), "10.180.0.2"});
    }
    import(rig, many);
    ok(rig, rig.full({sticky()}));
    CPPUNIT_ASSERT(rig.logged(abi::Severity::kWarning, "5000 clients with session affinity were not imported"));
    CPPUNIT_ASSERT(commits < 600);
  }

  void import_failure_does_not_fail_apply() {
    NftablesRig rig;
    ok(rig, rig.full({sticky()}));
    rig.restart(abi::kCreatePredecessorServes);
    import(rig, {{sticky(), "10.0.0.7", "10.180.0.2"}});
    rig.table.fail_next = sdk::Failure(abi::Code::kRetry, "nf_tables", "it is not known what happened");
    ok(rig, rig.full({sticky()}));
    CPPUNIT_ASSERT(rig.logged(abi::Severity::kWarning, "1 clients with session affinity were not imported: "));
    ok(rig, rig.verify());
  }

  void failed_apply_keeps_imported_clients() {
    NftablesRig rig;
    rig.restart(abi::kCreatePredecessorServes);
    import(rig, {{sticky(), "10.0.0.7", "10.180.0.2"}});
    int commits = 0;
    rig.table.before = [&](const Batch&) {
      if (commits++ < 2) throw sdk::Failure(abi::Code::kRetry, "nf_tables", "there is no memory");
    };
    CPPUNIT_ASSERT(rig.full({sticky()}) == abi::Code::kRetry);
    ok(rig, rig.full({sticky()}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.table.batches.size());
    CPPUNIT_ASSERT(Names{"ns1/svc1:p80 10.0.0.7 -> 10.180.0.2:80 50"} == bound(rig));
  }

  void restart_keeps_clients() {
    NftablesRig rig;
    ok(rig, rig.full({sticky(), sticky("svc2", "172.30.0.42")}));
    import(rig, {{sticky(), "10.0.0.7", "10.180.0.2"}, {sticky("svc2", ""), "10.0.0.7", "10.180.0.1"}});
    const Names before = bound(rig);
    rig.restart(abi::kCreatePredecessorServes);
    ok(rig, rig.full({sticky(), sticky("svc2", "172.30.0.42")}));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.result.kernel_writes);
    CPPUNIT_ASSERT(before == bound(rig));
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, before.size());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(NftablesAffinityTest);

}  // namespace backend_affinity_test
}  // namespace sluice::test
