// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cleanup/selection.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <string>
#include <vector>

namespace sluice::cleanup {
namespace selection_test {

using lib::Family;
using names::kIptables;
using names::kIpvs;
using names::kNftables;
using names::kUserspace;

class CleanupSelectionTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(CleanupSelectionTest);
  CPPUNIT_TEST(selects_the_objects_of_all_modes);
  CPPUNIT_TEST(never_selects_chains_of_kubelet);
  CPPUNIT_TEST(does_not_select_similar_names);
  CPPUNIT_TEST(iptables_mode_keeps_what_it_shares_with_ipvs);
  CPPUNIT_TEST(selects_claimed_virtual_servers);
  CPPUNIT_TEST(can_keep_virtual_servers_for_later);
  CPPUNIT_TEST(nftables_mode_keeps_its_tables_only);
  CPPUNIT_TEST(does_not_select_claims_of_a_running_backend);
  CPPUNIT_TEST(selects_objects_that_the_ownership_ledger_names);
  CPPUNIT_TEST(rejects_claims_of_shared_objects);
  CPPUNIT_TEST(converts_modes_to_names);
  CPPUNIT_TEST_SUITE_END();

 public:
  static bool gone(const Selection& selection, const char* table, const char* chain) {
    return selection.chain(Family::ipv4, table, chain);
  }

  void selects_the_objects_of_all_modes() {
    const Selection all(kAllModes, 0);
    for (const char* chain :
         {"KUBE-SERVICES", "KUBE-NODEPORTS", "KUBE-POSTROUTING", "KUBE-MARK-MASQ", "KUBE-PROXY-CANARY",
          "KUBE-SVC-XPGD46QRK7WJZT7O", "KUBE-SVL-XPGD46QRK7WJZT7O", "KUBE-EXT-XPGD46QRK7WJZT7O",
          "KUBE-SEP-SXIVWICOYRO3J4NJ", "KUBE-FW-XPGD46QRK7WJZT7O", "KUBE-XLB-XPGD46QRK7WJZT7O", "KUBE-LOAD-BALANCER",
          "KUBE-NODE-PORT", "KUBE-IPVS-HANDOVER", "KUBE-PORTALS-CONTAINER", "KUBE-PORTALS-HOST",
          "KUBE-NODEPORT-CONTAINER", "KUBE-NODEPORT-HOST"}) {
      CPPUNIT_ASSERT_MESSAGE(chain, gone(all, "nat", chain));
    }
    for (const char* chain :
         {"KUBE-SERVICES", "KUBE-EXTERNAL-SERVICES", "KUBE-NODEPORTS", "KUBE-FORWARD", "KUBE-PROXY-FIREWALL",
          "KUBE-PROXY-CANARY", "KUBE-NODE-PORT", "KUBE-SOURCE-RANGES-FIREWALL", "KUBE-IPVS-FILTER",
          "KUBE-IPVS-OUT-FILTER", "KUBE-NODEPORT-NON-LOCAL", "KUBE-PORTALS-FIREWALL"}) {
      CPPUNIT_ASSERT_MESSAGE(chain, gone(all, "filter", chain));
    }
    CPPUNIT_ASSERT(gone(all, "mangle", "KUBE-PROXY-CANARY"));
    for (const char* set :
         {"KUBE-CLUSTER-IP", "KUBE-6-CLUSTER-IP", "KUBE-6-LOAD-BALANCER-SOURCE-CID", "KUBE-6-NODE-PORT-LOCAL-SCTP-HAS",
          "KUBE-NODE-PORT-LOCAL-SCTP-HASH", "KUBE-IPVS-IPS", "KUBE-NODE-PORT-IPS", "KUBE-6-NODE-PORT-IPS"}) {
      CPPUNIT_ASSERT_MESSAGE(set, all.set(set));
    }
    CPPUNIT_ASSERT(all.table("ip", "kube-proxy") && all.table("ip6", "kube-proxy"));
    CPPUNIT_ASSERT(all.virtual_servers());
    CPPUNIT_ASSERT(all.links() == std::vector<std::string>{"kube-ipvs0"});
  }

  void never_selects_chains_of_kubelet() {
    Selection all(kAllModes, 0);
    for (const char* chain : {"KUBE-FIREWALL", "KUBE-MARK-DROP", "KUBE-KUBELET-CANARY", "KUBE-IPTABLES-HINT"}) {
      for (const char* table : {"filter", "nat", "mangle"}) {
        CPPUNIT_ASSERT_MESSAGE(chain, !gone(all, table, chain));
        CPPUNIT_ASSERT_MESSAGE(chain, !all.add(Family::ipv4, std::string("iptables/") + table + "/" + chain));
      }
    }
    CPPUNIT_ASSERT(all.add(Family::ipv4, "iptables/filter/KUBE-F*"));
    CPPUNIT_ASSERT(!gone(all, "filter", "KUBE-FIREWALL"));
    CPPUNIT_ASSERT(gone(all, "filter", "KUBE-FOREIGN"));
  }

  void does_not_select_similar_names() {
    const Selection all(kAllModes, 0);
    for (const char* chain : {"KUBE-SVC-", "KUBE-SVC-SHORT", "KUBE-SVC-XPGD46QRK7WJZT7OX", "KUBE-SVC-xpgd46qrk7wjzt7o",
                              "KUBE-SVC-XPGD46QRK7WJZT71", "KUBE-ROUTER-SERVICES", "KUBE-NWPLCY-DEFAULT",
                              "CNI-HOSTPORT", "KUBE-SERVICES-2", "KUBE-IPVS-FILTER", "PREROUTING"}) {
      CPPUNIT_ASSERT_MESSAGE(chain, !gone(all, "nat", chain));
    }
    CPPUNIT_ASSERT(!gone(all, "filter", "KUBE-SVC-XPGD46QRK7WJZT7O"));
    CPPUNIT_ASSERT(!gone(all, "raw", "KUBE-SERVICES"));
    // Temporary sets that a daemon leaves if it is killed while a set grows.
    for (const char* set : {"KUBE-CLUSTER-IP-N", "KUBE-6-NODE-PORT-TCP-N", "KUBE-6-NODE-PORT-LOCAL-SCTP-H-N"}) {
      CPPUNIT_ASSERT_MESSAGE(set, all.set(set));
    }
    for (const char* set : {"KUBE-SRC-ABCDEF", "KUBE-CLUSTER-IP2", "KUBE-6-NODE-PORT-LOCAL-SCTP-HASH", "CLUSTER-IP",
                            "KUBE-CLUSTER-IP-NN", "KUBE-6-NODE-PORT-LOCAL-SCTP-HA-N"}) {
      CPPUNIT_ASSERT_MESSAGE(set, !all.set(set));
    }
    CPPUNIT_ASSERT(!all.table("inet", "kube-proxy"));
    CPPUNIT_ASSERT(!all.table("ip", "kube-proxy-own"));
    CPPUNIT_ASSERT(!all.table("ip", "nat"));
  }

  void iptables_mode_keeps_what_it_shares_with_ipvs() {
    const Selection rest(kAllModes & ~kIptables, kIptables);
    for (const char* chain : {"KUBE-SERVICES", "KUBE-POSTROUTING", "KUBE-MARK-MASQ", "KUBE-SVC-XPGD46QRK7WJZT7O"}) {
      CPPUNIT_ASSERT_MESSAGE(chain, !gone(rest, "nat", chain));
    }
    CPPUNIT_ASSERT(!gone(rest, "filter", "KUBE-FORWARD"));
    CPPUNIT_ASSERT(!gone(rest, "filter", "KUBE-PROXY-FIREWALL"));
    CPPUNIT_ASSERT(gone(rest, "nat", "KUBE-LOAD-BALANCER"));
    CPPUNIT_ASSERT(gone(rest, "filter", "KUBE-IPVS-FILTER"));
    CPPUNIT_ASSERT(gone(rest, "nat", "KUBE-PORTALS-HOST"));
    CPPUNIT_ASSERT(rest.set("KUBE-CLUSTER-IP"));
    CPPUNIT_ASSERT(rest.table("ip6", "kube-proxy"));

    const Selection under_ipvs(kAllModes & ~kIpvs, kIpvs);
    CPPUNIT_ASSERT(!gone(under_ipvs, "nat", "KUBE-SERVICES"));
    CPPUNIT_ASSERT(gone(under_ipvs, "filter", "KUBE-SERVICES"));
    CPPUNIT_ASSERT(gone(under_ipvs, "nat", "KUBE-SVC-XPGD46QRK7WJZT7O"));
    CPPUNIT_ASSERT(!under_ipvs.set("KUBE-CLUSTER-IP"));
    CPPUNIT_ASSERT(!under_ipvs.virtual_servers());
    CPPUNIT_ASSERT(under_ipvs.links().empty());
  }

  void selects_claimed_virtual_servers() {
    Selection nothing(0, kIptables);
    CPPUNIT_ASSERT(!nothing.virtual_servers());
    CPPUNIT_ASSERT(!nothing.add(lib::Family::ipv4, "ipvs/other"));
    CPPUNIT_ASSERT(!nothing.add(lib::Family::ipv4, "ipvs/*"));
    CPPUNIT_ASSERT(!nothing.virtual_servers());
    CPPUNIT_ASSERT(nothing.add(lib::Family::ipv4, "ipvs/virtual-servers"));
    CPPUNIT_ASSERT(nothing.virtual_servers());
    Selection all(kAllModes, 0);
    all.keep(lib::Family::ipv6, "ipvs/virtual-servers");
    CPPUNIT_ASSERT(!all.virtual_servers());
  }

  void can_keep_virtual_servers_for_later() {
    Selection rest(kAllModes & ~kIptables, kIptables);
    CPPUNIT_ASSERT(rest.add(Family::ipv4, "link/other0"));
    CPPUNIT_ASSERT(rest.add(Family::ipv4, "ipset/OTHER-SET"));
    const Selection first = rest.without_virtual_servers();
    CPPUNIT_ASSERT(!first.virtual_servers());
    CPPUNIT_ASSERT(!first.set("KUBE-CLUSTER-IP") && !first.set("KUBE-6-NODE-PORT-TCP"));
    CPPUNIT_ASSERT(first.links() == std::vector<std::string>{"other0"});
    CPPUNIT_ASSERT(first.set("OTHER-SET"));
    CPPUNIT_ASSERT(gone(first, "nat", "KUBE-LOAD-BALANCER"));
    CPPUNIT_ASSERT(first.table("ip", "kube-proxy"));
    CPPUNIT_ASSERT(rest.virtual_servers() && rest.set("KUBE-CLUSTER-IP") && rest.links().size() == 2);
  }

  void nftables_mode_keeps_its_tables_only() {
    const Selection rest(kAllModes & ~kNftables, kNftables);
    CPPUNIT_ASSERT(!rest.table("ip", "kube-proxy"));
    CPPUNIT_ASSERT(gone(rest, "nat", "KUBE-SERVICES"));
    CPPUNIT_ASSERT(gone(rest, "nat", "KUBE-SEP-SXIVWICOYRO3J4NJ"));
    CPPUNIT_ASSERT(rest.set("KUBE-CLUSTER-IP"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rest.links().size());
  }

  void does_not_select_claims_of_a_running_backend() {
    Selection rest(kAllModes & ~kNftables, kNftables);
    rest.keep(Family::ipv4, "iptables/nat/KUBE-SVC-*");
    rest.keep(Family::ipv4, "link/kube-ipvs0");
    rest.keep(Family::ipv6, "ipset/KUBE-CLUSTER-IP");
    rest.keep(Family::ipv4, "nonsense");
    rest.keep(Family::ipv6, "ip6tables/nat/KUBE-SEP-*");
    CPPUNIT_ASSERT(!rest.chain(Family::ipv6, "nat", "KUBE-SEP-SXIVWICOYRO3J4NJ"));
    CPPUNIT_ASSERT(!gone(rest, "nat", "KUBE-SVC-XPGD46QRK7WJZT7O"));
    CPPUNIT_ASSERT(rest.chain(Family::ipv6, "nat", "KUBE-SVC-XPGD46QRK7WJZT7O"));
    CPPUNIT_ASSERT(!rest.set("KUBE-CLUSTER-IP"));
    CPPUNIT_ASSERT(rest.links().empty());
  }

  void selects_objects_that_the_ownership_ledger_names() {
    Selection none(0, 0);
    CPPUNIT_ASSERT(none.add(Family::ipv4, "iptables/nat/OTHER-*"));
    CPPUNIT_ASSERT(none.add(Family::ipv6, "iptables/filter/OTHER-ENTRY"));
    CPPUNIT_ASSERT(none.add(Family::ipv6, "ip6tables/nat/OTHER6"));
    CPPUNIT_ASSERT(none.chain(Family::ipv6, "nat", "OTHER6") && !gone(none, "nat", "OTHER6"));
    CPPUNIT_ASSERT(none.add(Family::ipv4, "ipset/OTHER"));
    CPPUNIT_ASSERT(none.add(Family::ipv4, "nft/inet/other"));
    CPPUNIT_ASSERT(none.add(Family::ipv4, "link/other0"));
    CPPUNIT_ASSERT(gone(none, "nat", "OTHER-A") && none.is_claimed_chain(Family::ipv4, "nat", "OTHER-A"));
    CPPUNIT_ASSERT(!gone(none, "filter", "OTHER-ENTRY"));
    CPPUNIT_ASSERT(none.chain(Family::ipv6, "filter", "OTHER-ENTRY"));
    CPPUNIT_ASSERT(none.set("OTHER") && !none.set("OTHER2"));
    CPPUNIT_ASSERT(none.table("inet", "other") && !none.table("ip", "other"));
    CPPUNIT_ASSERT(none.links() == std::vector<std::string>{"other0"});
    CPPUNIT_ASSERT(!gone(none, "nat", "KUBE-SERVICES"));
    CPPUNIT_ASSERT(none.add(Family::ipv4, "iptables/nat/KUBE-SERVICES"));
    CPPUNIT_ASSERT(gone(none, "nat", "KUBE-SERVICES"));
    CPPUNIT_ASSERT(!none.is_claimed_chain(Family::ipv4, "nat", "KUBE-SERVICES"));
  }

  void rejects_claims_of_shared_objects() {
    Selection none(0, 0);
    for (const char* claim : {"",
                              "ip6tables/nat/KUBE-FIREWALL",
                              "link",
                              "link/",
                              "link/lo",
                              "link/eth*",
                              "iptables/nat",
                              "iptables/nat/",
                              "iptables/nat/*",
                              "iptables/nat/KUBE-*",
                              "iptables/nat/AB*",
                              "iptables/raw/OTHER",
                              "nft/ip/filter",
                              "nft/ip6/nat",
                              "nft/ip/kube*",
                              "nft/other/table",
                              "nft/ip/a/b",
                              "ipset/*",
                              "bpf/map/services",
                              "ipvs/others",
                              "ipset/two words"}) {
      CPPUNIT_ASSERT_MESSAGE(claim, !none.add(Family::ipv4, claim));
    }
    CPPUNIT_ASSERT(none.links().empty());
  }

  void converts_modes_to_names() {
    CPPUNIT_ASSERT_EQUAL(std::string("ipvs, userspace"), mode_names(kUserspace | kIpvs));
    CPPUNIT_ASSERT_EQUAL(kNftables, mode_of("nftables"));
    CPPUNIT_ASSERT_EQUAL(Modes{0}, mode_of("com.example.dpu"));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(CleanupSelectionTest);

}  // namespace selection_test
}  // namespace sluice::cleanup
