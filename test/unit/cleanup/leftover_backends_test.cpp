// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cleanup/leftover_backends.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <string>

#include "core/cleanup/names.hpp"

namespace sluice::cleanup {
namespace leftover_backends_test {

using lib::Family;
using names::kIptables;
using names::kIpvs;
using names::kNftables;
using namespace std::chrono_literals;

ownership::Claim of(const char* backend, Family family, ownership::ClaimState state, ownership::Artifacts artifacts) {
  return {backend, family, state, std::string("/p/") + backend + ".so", {}, std::move(artifacts)};
}

// "ipvs IPv4 plugin 60 [a b] retiring", one line each.
std::string text(const std::vector<LeftoverBackend>& all) {
  std::string out;
  for (const LeftoverBackend& one : all) {
    out += one.backend + " " + std::string(lib::family_name(one.family)) +
           (one.by == LeftoverBackend::By::plugin ? " plugin " : " remover ") + std::to_string(one.drain.count()) + " [";
    for (const auto& artifact : one.artifacts) out += (out.ends_with('[') ? "" : " ") + artifact;
    out += "]";
    for (const ownership::ClaimState state : one.states) out += std::string(" ") + ownership::claim_state_name(state);
    out += "\n";
  }
  return out;
}

class CleanupLeftoverBackendsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(CleanupLeftoverBackendsTest);
  CPPUNIT_TEST(an_ordinary_start_finds_no_leftover_backend);
  CPPUNIT_TEST(finds_the_old_backend_after_the_mode_was_changed_offline);
  CPPUNIT_TEST(finds_the_other_backend_after_a_crash_during_a_swap);
  CPPUNIT_TEST(a_draining_backend_keeps_its_remaining_drain_time);
  CPPUNIT_TEST(a_changed_clock_does_not_extend_the_drain_time);
  CPPUNIT_TEST(merges_the_entries_of_a_backend_in_several_states);
  CPPUNIT_TEST(the_remover_handles_a_backend_without_its_plugin);
  CPPUNIT_TEST(the_remover_handles_artifacts_of_an_earlier_version_of_the_active_plugin);
  CPPUNIT_TEST(the_remover_handles_every_backend_of_a_family_that_is_not_served);
  CPPUNIT_TEST(finds_the_ipvs_mode_of_kube_proxy);
  CPPUNIT_TEST(ignores_the_ipvs_mode_of_kube_proxy_beside_other_backends);
  CPPUNIT_TEST(lists_the_artifacts_of_each_mode);
  CPPUNIT_TEST_SUITE_END();

  static LeftoverInput input(std::vector<ownership::Claim> ownership_ledger, const char* own = "iptables") {
    LeftoverInput out;
    out.ownership_ledger = std::move(ownership_ledger);
    out.own = own;
    out.installed = {"iptables", "ipvs", "nftables"};
    out.families = {Family::ipv4, Family::ipv6};
    out.drain = 60s;
    out.now = std::chrono::sys_days(std::chrono::year(2026) / 7 / 1);
    return out;
  }
  static ownership::Claim drains(LeftoverInput& at, std::chrono::milliseconds left) {
    ownership::Claim out = of("ipvs", Family::ipv4, ownership::ClaimState::retiring, {"a"});
    out.until = at.now + left;
    return out;
  }

 public:
  void an_ordinary_start_finds_no_leftover_backend() {
    CPPUNIT_ASSERT(find_leftover_backends(input({})).empty());
    CPPUNIT_ASSERT(find_leftover_backends(input({of("iptables", Family::ipv4, ownership::ClaimState::serving, {"a"}),
                                      of("iptables", Family::ipv6, ownership::ClaimState::serving, {"b"})}))
                       .empty());
  }

  void finds_the_old_backend_after_the_mode_was_changed_offline() {
    const auto found = find_leftover_backends(input({of("ipvs", Family::ipv4, ownership::ClaimState::serving, {"b", "a", "b"}),
                                          of("ipvs", Family::ipv6, ownership::ClaimState::serving, {"c"})}));
    CPPUNIT_ASSERT_EQUAL(
        std::string("ipvs IPv4 plugin 60 [a b] serving retiring\nipvs IPv6 plugin 60 [c] serving retiring\n"),
        text(found));
    CPPUNIT_ASSERT_EQUAL(std::string("/p/ipvs.so"), found[0].plugin);
  }

  void finds_the_other_backend_after_a_crash_during_a_swap() {
    // The configuration may name either backend, or a third one.
    const std::vector<ownership::Claim> ownership_ledger = {of("iptables", Family::ipv4, ownership::ClaimState::serving, {"a"}),
                                                  of("nftables", Family::ipv4, ownership::ClaimState::arriving, {"b"})};
    CPPUNIT_ASSERT_EQUAL(std::string("nftables IPv4 plugin 60 [b] arriving\n"), text(find_leftover_backends(input(ownership_ledger))));
    CPPUNIT_ASSERT_EQUAL(std::string("iptables IPv4 plugin 60 [a] serving retiring\n"),
                         text(find_leftover_backends(input(ownership_ledger, "nftables"))));
    CPPUNIT_ASSERT_EQUAL(
        std::string("iptables IPv4 plugin 60 [a] serving retiring\nnftables IPv4 plugin 60 [b] arriving\n"),
        text(find_leftover_backends(input(ownership_ledger, "ipvs"))));
  }

  void a_draining_backend_keeps_its_remaining_drain_time() {
    for (const auto& [left, seconds] : {std::pair{30000ms, "30"}, std::pair{1ms, "1"}, std::pair{0ms, "0"}}) {
      LeftoverInput at = input({});
      at.ownership_ledger = {drains(at, left)};
      CPPUNIT_ASSERT_EQUAL(std::string("ipvs IPv4 plugin ") + seconds + " [a] retiring\n", text(find_leftover_backends(at)));
    }
    // The end of the drain was not recorded yet.
    CPPUNIT_ASSERT_EQUAL(std::string("ipvs IPv4 plugin 60 [a] retiring\n"),
                         text(find_leftover_backends(input({of("ipvs", Family::ipv4, ownership::ClaimState::retiring, {"a"})}))));
  }

  void a_changed_clock_does_not_extend_the_drain_time() {
    LeftoverInput at = input({});
    at.ownership_ledger = {drains(at, 24h)};
    CPPUNIT_ASSERT_EQUAL(std::string("ipvs IPv4 plugin 60 [a] retiring\n"), text(find_leftover_backends(at)));
    at.ownership_ledger = {drains(at, -24h)};
    CPPUNIT_ASSERT_EQUAL(std::string("ipvs IPv4 plugin 0 [a] retiring\n"), text(find_leftover_backends(at)));
  }

  void merges_the_entries_of_a_backend_in_several_states() {
    LeftoverInput at = input({});
    at.ownership_ledger = {of("ipvs", Family::ipv4, ownership::ClaimState::serving, {"a", "b"}),
                 of("ipvs", Family::ipv4, ownership::ClaimState::arriving, {"c"}), drains(at, 5s)};
    CPPUNIT_ASSERT_EQUAL(std::string("ipvs IPv4 plugin 60 [a b c] serving retiring arriving\n"), text(find_leftover_backends(at)));
  }

  void the_remover_handles_a_backend_without_its_plugin() {
    CPPUNIT_ASSERT_EQUAL(std::string("com.example.dpu IPv4 remover 60 [nft/ip/dpu] serving retiring\n"),
                         text(find_leftover_backends(input(
                             {of("com.example.dpu", Family::ipv4, ownership::ClaimState::serving, {"nft/ip/dpu"})}))));
  }

  void the_remover_handles_artifacts_of_an_earlier_version_of_the_active_plugin() {
    CPPUNIT_ASSERT_EQUAL(
        std::string("iptables IPv4 remover 60 [old] retiring\n"),
        text(find_leftover_backends(input({of("iptables", Family::ipv4, ownership::ClaimState::serving, {"a"}),
                                of("iptables", Family::ipv4, ownership::ClaimState::arriving, {"a"}),
                                of("iptables", Family::ipv4, ownership::ClaimState::retiring, {"old"})}))));
  }

  void the_remover_handles_every_backend_of_a_family_that_is_not_served() {
    LeftoverInput at = input({of("iptables", Family::ipv6, ownership::ClaimState::serving, {"a"}),
                            of("ipvs", Family::ipv6, ownership::ClaimState::serving, {"b"})});
    at.families = {Family::ipv4};
    CPPUNIT_ASSERT_EQUAL(
        std::string("iptables IPv6 remover 60 [a] serving retiring\nipvs IPv6 remover 60 [b] serving retiring\n"),
        text(find_leftover_backends(at)));
  }

  void finds_the_ipvs_mode_of_kube_proxy() {
    LeftoverInput at = input({of("iptables", Family::ipv4, ownership::ClaimState::serving, {"a"})});
    at.ipvs_in_use = true;
    const auto found = find_leftover_backends(at);
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, found.size());
    for (const LeftoverBackend& one : found) {
      CPPUNIT_ASSERT_EQUAL(std::string("ipvs"), one.backend);
      CPPUNIT_ASSERT(one.by == LeftoverBackend::By::plugin && one.states.empty() && one.drain == 60s);
      CPPUNIT_ASSERT(std::count(one.artifacts.begin(), one.artifacts.end(), "ipvs/virtual-servers") == 1);
      CPPUNIT_ASSERT(std::count(one.artifacts.begin(), one.artifacts.end(), "link/kube-ipvs0") == 1);
    }
    // An entry in the ownership ledger takes precedence.
    at.ownership_ledger.push_back(drains(at, 7s));
    CPPUNIT_ASSERT_EQUAL(std::string("ipvs IPv4 plugin 7 [a] retiring"), text(find_leftover_backends(at)).substr(0, 31));
  }

  void ignores_the_ipvs_mode_of_kube_proxy_beside_other_backends() {
    for (const char* own : {"ipvs", "com.example.dpu"}) {
      LeftoverInput at = input({}, own);
      at.ipvs_in_use = true;
      CPPUNIT_ASSERT_MESSAGE(own, find_leftover_backends(at).empty());
    }
    LeftoverInput at = input({});
    at.ipvs_in_use = true;
    at.installed = {"iptables"};
    CPPUNIT_ASSERT(find_leftover_backends(at).empty());  // the remover handles it anyway
  }

  void lists_the_artifacts_of_each_mode() {
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

CPPUNIT_TEST_SUITE_REGISTRATION(CleanupLeftoverBackendsTest);

}  // namespace leftover_backends_test
}  // namespace sluice::cleanup
