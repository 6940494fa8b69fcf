// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/layout/set_spec.hpp"

#include <cppunit/extensions/HelperMacros.h>
#include <linux/netfilter/nf_tables.h>

#include <set>
#include <string>

namespace sluice::nftables {
namespace set_spec_test {

constexpr abi::Family kFamilies[] = {abi::Family::kIpv4, abi::Family::kIpv6};

class SetSpecTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(SetSpecTest);
  CPPUNIT_TEST(sizes_are_those_of_keys_and_data);
  CPPUNIT_TEST(types_are_numbered_as_nft_does);
  CPPUNIT_TEST(all_names_are_different_and_short_enough);
  CPPUNIT_TEST(counters_only_where_asked_for);
  CPPUNIT_TEST(dispatch_maps_hold_verdicts);
  CPPUNIT_TEST(affinity_is_filled_by_the_kernel);
  CPPUNIT_TEST_SUITE_END();

  static void expect(abi::Family family, SetId id, const Key& key, const Data& data) {
    const SetSpec spec = set_spec(family, id);
    CPPUNIT_ASSERT_EQUAL_MESSAGE(spec.name, key.size(), static_cast<std::size_t>(spec.key_size));
    CPPUNIT_ASSERT_EQUAL_MESSAGE(spec.name, data.size(), static_cast<std::size_t>(spec.data_size));
    CPPUNIT_ASSERT_EQUAL_MESSAGE(spec.name, !data.empty(), (spec.flags & NFT_SET_MAP) != 0);
  }

  void sizes_are_those_of_keys_and_data() {
    for (const auto family : kFamilies) {
      const FrontendKey frontend{false, {}, abi::Protocol::kTcp, 80};
      const FrontendKey node_port{true, {}, abi::Protocol::kTcp, 30001};
      const Data number = number_data(1);
      const Data endpoint = endpoint_data(family, {});
      expect(family, SetId::kClusterIps, address_key(family, {}), {});
      expect(family, SetId::kNodePortIps, address_key(family, {}), {});
      expect(family, SetId::kHairpin, hairpin_key(family, {}, abi::Protocol::kTcp), {});
      for (const auto id : {SetId::kServiceIps, SetId::kFirewallIps, SetId::kAffinityServices}) {
        expect(family, id, frontend_key(family, frontend), number);
      }
      for (const auto id : {SetId::kNoEndpointServices, SetId::kNoLocalServices, SetId::kServiceTraffic}) {
        expect(family, id, frontend_key(family, frontend), {});
      }
      for (const auto id : {SetId::kServiceNodePorts, SetId::kAffinityNodePorts}) {
        expect(family, id, frontend_key(family, node_port), number);
      }
      for (const auto id : {SetId::kNoEndpointNodePorts, SetId::kNoLocalNodePorts, SetId::kNodePortTraffic}) {
        expect(family, id, frontend_key(family, node_port), {});
      }
      expect(family, SetId::kEndpoints, slot_key(family, frontend, 1), endpoint);
      expect(family, SetId::kNodePortEndpoints, slot_key(family, node_port, 1), endpoint);
      expect(family, SetId::kAffinitySlots, affinity_slot_key(1, 1), number);
      expect(family, SetId::kAffinityEndpoints, token_key(abi::Protocol::kTcp, 1), endpoint);
      expect(family, SetId::kAffinityLocalEndpoints, token_key(abi::Protocol::kTcp, 1), endpoint);
    }
  }
  void types_are_numbered_as_nft_does() {
    CPPUNIT_ASSERT_EQUAL(0x1cc357u, set_spec(abi::Family::kIpv4, SetId::kEndpoints).key_type);
    CPPUNIT_ASSERT_EQUAL(0x20c357u, set_spec(abi::Family::kIpv6, SetId::kEndpoints).key_type);
    CPPUNIT_ASSERT_EQUAL(0x1cdu, set_spec(abi::Family::kIpv4, SetId::kEndpoints).data_type);
    CPPUNIT_ASSERT_EQUAL(0x5c4u, set_spec(abi::Family::kIpv4, SetId::kAffinitySlots).key_type);
    CPPUNIT_ASSERT_EQUAL(0x1c730du, set_spec(abi::Family::kIpv4, SetId::kHairpin).key_type);
    CPPUNIT_ASSERT_EQUAL(7u, set_spec(abi::Family::kIpv4, SetId::kClusterIps).key_type);
  }
  void all_names_are_different_and_short_enough() {
    for (const auto family : kFamilies) {
      std::set<std::string> names;
      for (const auto& spec : all_sets(family, true, 100)) {
        CPPUNIT_ASSERT_MESSAGE(spec.name, names.insert(spec.name).second);
        CPPUNIT_ASSERT_MESSAGE(spec.name, spec.name.size() < NFT_SET_MAXNAMELEN);
        CPPUNIT_ASSERT_MESSAGE(spec.name, spec.userdata.size() <= NFT_USERDATA_MAXLEN);
      }
      CPPUNIT_ASSERT_EQUAL(kSetCount + 3, names.size());
    }
  }
  void counters_only_where_asked_for() {
    const auto without_counters = all_sets(abi::Family::kIpv4, false, 100);
    CPPUNIT_ASSERT_EQUAL(kSetCount + 1, without_counters.size());
    for (const auto& spec : without_counters) CPPUNIT_ASSERT_MESSAGE(spec.name, !spec.counters);
    std::size_t counting = 0;
    for (const auto& spec : all_sets(abi::Family::kIpv4, true, 100)) counting += spec.counters;
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, counting);
  }
  void dispatch_maps_hold_verdicts() {
    for (const auto& spec : {service_chains_spec(abi::Family::kIpv4), firewall_chains_spec(abi::Family::kIpv6)}) {
      CPPUNIT_ASSERT_EQUAL(static_cast<std::uint32_t>(NFT_DATA_VERDICT), spec.data_type);
      CPPUNIT_ASSERT(spec.is_map());
      CPPUNIT_ASSERT_EQUAL(4u, spec.key_size);
    }
  }
  void affinity_is_filled_by_the_kernel() {
    const SetSpec spec = affinity_spec(abi::Family::kIpv6, 4711);
    CPPUNIT_ASSERT_EQUAL(static_cast<std::uint32_t>(NFT_SET_MAP | NFT_SET_EVAL | NFT_SET_TIMEOUT), spec.flags);
    CPPUNIT_ASSERT_EQUAL(4711u, spec.capacity);
    CPPUNIT_ASSERT(spec.timeout_ms != 0);
    CPPUNIT_ASSERT_EQUAL(20u, spec.key_size);
  }
};
CPPUNIT_TEST_SUITE_REGISTRATION(SetSpecTest);

}  // namespace set_spec_test
}  // namespace sluice::nftables
