// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cleanup/absent.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <string>

#include "core/cleanup/names.hpp"

namespace sluice::cleanup {
namespace absent_test {

using base::Family;
using namespace std::chrono_literals;

ownership::Claim of(const char* backend, Family family, ownership::ClaimState state, ownership::Artifacts artifacts) {
  return {backend, family, state, std::string("/p/") + backend + ".so", {}, std::move(artifacts)};
}

// "ipvs IPv4 plugin 60 [a b] retiring", one line each.
std::string text(const std::vector<Absent>& all) {
  std::string out;
  for (const Absent& one : all) {
    out += one.backend + " " + std::string(base::family_name(one.family)) +
           (one.by == Absent::By::plugin ? " plugin " : " remover ") + std::to_string(one.drain.count()) + " [";
    for (const auto& artifact : one.artifacts) out += (out.ends_with('[') ? "" : " ") + artifact;
    out += "]";
    for (const ownership::ClaimState state : one.states) out += std::string(" ") + ownership::claim_state_name(state);
    out += "\n";
  }
  return out;
}

class CleanupAbsentTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(CleanupAbsentTest);
  CPPUNIT_TEST(an_ordinary_start_finds_nobody);
  CPPUNIT_TEST(the_mode_was_changed_while_nothing_ran);
  CPPUNIT_TEST(the_process_died_in_the_middle_of_a_swap);
  CPPUNIT_TEST(one_that_drained_has_what_is_left_of_its_time);
  CPPUNIT_TEST(a_clock_that_was_changed_gives_nobody_more);
  CPPUNIT_TEST(one_in_several_states_is_one);
  CPPUNIT_TEST(without_its_plugin_it_is_by_the_remover);
  CPPUNIT_TEST(what_an_earlier_file_of_the_own_plugin_left_is_by_the_remover);
  CPPUNIT_TEST(in_a_family_where_nobody_serves_it_is_by_the_remover);
  CPPUNIT_TEST(kube_proxys_ipvs_is_absent);
  CPPUNIT_TEST(kube_proxys_ipvs_is_not_absent_beside_other_backends);
  CPPUNIT_TEST(the_artifacts_of_modes);
  CPPUNIT_TEST_SUITE_END();

  static AbsentInput input(std::vector<ownership::Claim> ledger, const char* own = "iptables") {
    AbsentInput out;
    out.ledger = std::move(ledger);
    out.own = own;
    out.installed = {"iptables", "ipvs", "nftables"};
    out.families = {Family::ipv4, Family::ipv6};
    out.drain = 60s;
    out.now = std::chrono::sys_days(std::chrono::year(2026) / 7 / 1);
    return out;
  }
  static ownership::Claim drains(AbsentInput& at, std::chrono::milliseconds left) {
    ownership::Claim out = of("ipvs", Family::ipv4, ownership::ClaimState::retiring, {"a"});
    out.until = at.now + left;
    return out;
  }

 public:
  void an_ordinary_start_finds_nobody() {
    CPPUNIT_ASSERT(find_absent(input({})).empty());
    CPPUNIT_ASSERT(find_absent(input({of("iptables", Family::ipv4, ownership::ClaimState::serving, {"a"}),
                                      of("iptables", Family::ipv6, ownership::ClaimState::serving, {"b"})}))
                       .empty());
  }

  void the_mode_was_changed_while_nothing_ran() {
    const auto found = find_absent(input({of("ipvs", Family::ipv4, ownership::ClaimState::serving, {"b", "a", "b"}),
                                          of("ipvs", Family::ipv6, ownership::ClaimState::serving, {"c"})}));
    CPPUNIT_ASSERT_EQUAL(
        std::string("ipvs IPv4 plugin 60 [a b] serving retiring\nipvs IPv6 plugin 60 [c] serving retiring\n"),
        text(found));
    CPPUNIT_ASSERT_EQUAL(std::string("/p/ipvs.so"), found[0].plugin);
  }

  void the_process_died_in_the_middle_of_a_swap() {
    // Of the two, either may be the one that the configuration names now.
    const std::vector<ownership::Claim> ledger = {of("iptables", Family::ipv4, ownership::ClaimState::serving, {"a"}),
                                                  of("nftables", Family::ipv4, ownership::ClaimState::arriving, {"b"})};
    CPPUNIT_ASSERT_EQUAL(std::string("nftables IPv4 plugin 60 [b] arriving\n"), text(find_absent(input(ledger))));
    CPPUNIT_ASSERT_EQUAL(std::string("iptables IPv4 plugin 60 [a] serving retiring\n"),
                         text(find_absent(input(ledger, "nftables"))));
    CPPUNIT_ASSERT_EQUAL(
        std::string("iptables IPv4 plugin 60 [a] serving retiring\nnftables IPv4 plugin 60 [b] arriving\n"),
        text(find_absent(input(ledger, "ipvs"))));
  }

  void one_that_drained_has_what_is_left_of_its_time() {
    for (const auto& [left, seconds] : {std::pair{30000ms, "30"}, std::pair{1ms, "1"}, std::pair{0ms, "0"}}) {
      AbsentInput at = input({});
      at.ledger = {drains(at, left)};
      CPPUNIT_ASSERT_EQUAL(std::string("ipvs IPv4 plugin ") + seconds + " [a] retiring\n", text(find_absent(at)));
    }
    // It was not decided yet.
    CPPUNIT_ASSERT_EQUAL(std::string("ipvs IPv4 plugin 60 [a] retiring\n"),
                         text(find_absent(input({of("ipvs", Family::ipv4, ownership::ClaimState::retiring, {"a"})}))));
  }

  void a_clock_that_was_changed_gives_nobody_more() {
    AbsentInput at = input({});
    at.ledger = {drains(at, 24h)};
    CPPUNIT_ASSERT_EQUAL(std::string("ipvs IPv4 plugin 60 [a] retiring\n"), text(find_absent(at)));
    at.ledger = {drains(at, -24h)};
    CPPUNIT_ASSERT_EQUAL(std::string("ipvs IPv4 plugin 0 [a] retiring\n"), text(find_absent(at)));
  }

  void one_in_several_states_is_one() {
    AbsentInput at = input({});
    at.ledger = {of("ipvs", Family::ipv4, ownership::ClaimState::serving, {"a", "b"}),
                 of("ipvs", Family::ipv4, ownership::ClaimState::arriving, {"c"}), drains(at, 5s)};
    CPPUNIT_ASSERT_EQUAL(std::string("ipvs IPv4 plugin 60 [a b c] serving retiring arriving\n"), text(find_absent(at)));
  }

  void without_its_plugin_it_is_by_the_remover() {
    CPPUNIT_ASSERT_EQUAL(std::string("com.example.dpu IPv4 remover 60 [nft/ip/dpu] serving retiring\n"),
                         text(find_absent(input(
                             {of("com.example.dpu", Family::ipv4, ownership::ClaimState::serving, {"nft/ip/dpu"})}))));
  }

  void what_an_earlier_file_of_the_own_plugin_left_is_by_the_remover() {
    CPPUNIT_ASSERT_EQUAL(
        std::string("iptables IPv4 remover 60 [old] retiring\n"),
        text(find_absent(input({of("iptables", Family::ipv4, ownership::ClaimState::serving, {"a"}),
                                of("iptables", Family::ipv4, ownership::ClaimState::arriving, {"a"}),
                                of("iptables", Family::ipv4, ownership::ClaimState::retiring, {"old"})}))));
  }

  void in_a_family_where_nobody_serves_it_is_by_the_remover() {
    AbsentInput at = input({of("iptables", Family::ipv6, ownership::ClaimState::serving, {"a"}),
                            of("ipvs", Family::ipv6, ownership::ClaimState::serving, {"b"})});
    at.families = {Family::ipv4};
    CPPUNIT_ASSERT_EQUAL(
        std::string("iptables IPv6 remover 60 [a] serving retiring\nipvs IPv6 remover 60 [b] serving retiring\n"),
        text(find_absent(at)));
  }

  void kube_proxys_ipvs_is_absent() {
    AbsentInput at = input({of("iptables", Family::ipv4, ownership::ClaimState::serving, {"a"})});
    at.ipvs_stands = true;
    const auto found = find_absent(at);
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, found.size());
    for (const Absent& one : found) {
      CPPUNIT_ASSERT_EQUAL(std::string("ipvs"), one.backend);
      CPPUNIT_ASSERT(one.by == Absent::By::plugin && one.states.empty() && one.drain == 60s);
      CPPUNIT_ASSERT(std::count(one.artifacts.begin(), one.artifacts.end(), "ipvs/virtual-servers") == 1);
      CPPUNIT_ASSERT(std::count(one.artifacts.begin(), one.artifacts.end(), "link/kube-ipvs0") == 1);
    }
    // What the ledger knows of it counts.
    at.ledger.push_back(drains(at, 7s));
    CPPUNIT_ASSERT_EQUAL(std::string("ipvs IPv4 plugin 7 [a] retiring"), text(find_absent(at)).substr(0, 31));
  }

  void kube_proxys_ipvs_is_not_absent_beside_other_backends() {
    for (const char* own : {"ipvs", "com.example.dpu"}) {
      AbsentInput at = input({}, own);
      at.ipvs_stands = true;
      CPPUNIT_ASSERT_MESSAGE(own, find_absent(at).empty());
    }
    AbsentInput at = input({});
    at.ipvs_stands = true;
    at.installed = {"iptables"};
    CPPUNIT_ASSERT(find_absent(at).empty());  // the remover has it in any case
  }

  void the_artifacts_of_modes() {
    const auto has = [](const ownership::Artifacts& all, const char* one) {
      return std::find(all.begin(), all.end(), one) != all.end();
    };
    const ownership::Artifacts ipvs6 = artifacts_of(kIpvs, Family::ipv6);
    for (const char* one :
         {"ip6tables/nat/KUBE-SERVICES", "ip6tables/filter/KUBE-IPVS-FILTER", "ipset/KUBE-6-CLUSTER-IP",
          "ipset/KUBE-6-LOAD-BALANCER-SOURCE-CID", "link/kube-ipvs0", "ipvs/virtual-servers"}) {
      CPPUNIT_ASSERT_MESSAGE(one, has(ipvs6, one));
    }
    for (const char* one : {"ip6tables/nat/KUBE-SVC-*", "ipset/KUBE-CLUSTER-IP", "nft/ip6/kube-proxy",
                            "ip6tables/nat/KUBE-PORTALS-HOST"}) {
      CPPUNIT_ASSERT_MESSAGE(one, !has(ipvs6, one));
    }
    CPPUNIT_ASSERT(has(artifacts_of(kIptables, Family::ipv4), "iptables/nat/KUBE-SVC-*"));
    CPPUNIT_ASSERT(artifacts_of(kNftables, Family::ipv4) == ownership::Artifacts{"nft/ip/kube-proxy"});
    CPPUNIT_ASSERT(std::is_sorted(ipvs6.begin(), ipvs6.end()));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(CleanupAbsentTest);

}  // namespace absent_test
}  // namespace sluice::cleanup
