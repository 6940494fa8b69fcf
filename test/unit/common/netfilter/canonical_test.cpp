// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Pairs of a rule as the backend writes it and as iptables-save 1.8.9 prints it, copied from
// a real kernel. test/system/iptables_kernel_test.sh runs against a real kernel.
#include "plugins/common/netfilter/canonical.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <cstdint>
#include <string>

namespace sluice::netfilter {
namespace canonical_test {

class CanonicalTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(CanonicalTest);
  CPPUNIT_TEST(written_and_printed_rules_are_equal);
  CPPUNIT_TEST(rules_that_differ_stay_different);
  CPPUNIT_TEST(finds_the_target);
  CPPUNIT_TEST(spellings_of_an_option_are_equal);
  CPPUNIT_TEST(match_of_everything_is_dropped);
  CPPUNIT_TEST(invalid_text_keeps_its_words);
  CPPUNIT_TEST(hash_follows_the_canonical_form);
  CPPUNIT_TEST(order_of_rules_changes_the_content_of_a_chain);
  CPPUNIT_TEST(hash_can_exclude_comments);
  CPPUNIT_TEST_SUITE_END();

  static std::string canonical(const std::string& rule) { return std::string(Canonicaliser().canonical(rule)); }

  void written_and_printed_rules_are_equal() {
    const struct {
      const char* written;
      const char* printed;
    } kPairs[] = {
        {R"(-s 1.2.3.4 -m ipvs --vaddr 1.2.3.4 --vproto tcp --vport 80 -j DROP)",
         R"(-s 1.2.3.4/32 -m ipvs --vproto 6 --vaddr 1.2.3.4 --vport 80 -j DROP)"},
        {R"(-s fd00::9 -m ipvs --vaddr fd00::9 --vproto sctp --vport 80 -j DROP)",
         R"(-s fd00::9/128 -m ipvs --vproto 132 --vaddr fd00::9 --vport 80 -j DROP)"},
        {R"(-m comment --comment "type 'hash ip:port'" -m set --match-set A dst,dst ! -s 10.0.0.0/8 -j B)",
         R"(! -s 10.0.0.0/8 -m comment --comment "type \'hash ip:port\'" -m set --match-set A dst,dst -j B)"},
        {R"(-m conntrack --ctstate NEW -m comment --comment "kubernetes service portals" -j KUBE-SERVICES)",
         R"(-m conntrack --ctstate NEW -m comment --comment "kubernetes service portals" -j KUBE-SERVICES)"},
        {R"(-m comment --comment "block incoming localnet connections" -d 127.0.0.0/8 ! -s 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP)",
         R"(! -s 127.0.0.0/8 -d 127.0.0.0/8 -m comment --comment "block incoming localnet connections" -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP)"},
        {R"(-m comment --comment "kubernetes forwarding rules" -m mark --mark 0x00004000/0x00004000 -j ACCEPT)",
         R"(-m comment --comment "kubernetes forwarding rules" -m mark --mark 0x4000/0x4000 -j ACCEPT)"},
        {"-m mark ! --mark 0x00004000/0x00004000 -j RETURN", "-m mark ! --mark 0x4000/0x4000 -j RETURN"},
        {"-j MARK --xor-mark 0x00004000", "-j MARK --set-xmark 0x4000/0x0"},
        {"-j MARK --or-mark 0x00004000", "-j MARK --set-xmark 0x4000/0x4000"},
        {R"(-m comment --comment "ns1/svc1:p80 cluster IP" -m tcp -p tcp -d 172.30.0.41 --dport 80 -j KUBE-SVC-A)",
         R"(-d 172.30.0.41/32 -p tcp -m comment --comment "ns1/svc1:p80 cluster IP" -m tcp --dport 80 -j KUBE-SVC-A)"},
        {R"(-m comment --comment "ns1/svc1:p80 cluster IP" -m tcp -p tcp -d 172.30.0.41 --dport 80 ! -s 10.0.0.0/8 -j KUBE-MARK-MASQ)",
         R"(! -s 10.0.0.0/8 -d 172.30.0.41/32 -p tcp -m comment --comment "ns1/svc1:p80 cluster IP" -m tcp --dport 80 -j KUBE-MARK-MASQ)"},
        {R"(-m comment --comment "ns1/svc1:p80 cluster IP" -m udp -p udp -d 172.30.0.41 --dport 53 ! -i cni+ -j KUBE-MARK-MASQ)",
         R"(-d 172.30.0.41/32 ! -i cni+ -p udp -m comment --comment "ns1/svc1:p80 cluster IP" -m udp --dport 53 -j KUBE-MARK-MASQ)"},
        {R"(-m comment --comment "ns1/svc1:p80 has no endpoints" -m sctp -p sctp -d 1.2.3.4 --dport 80 -j REJECT)",
         R"(-d 1.2.3.4/32 -p sctp -m comment --comment "ns1/svc1:p80 has no endpoints" -m sctp --dport 80 -j REJECT --reject-with icmp-port-unreachable)"},
        {"-m sctp -p sctp -d fd00::1 --dport 80 -j REJECT",
         "-d fd00::1/128 -p sctp -m sctp --dport 80 -j REJECT --reject-with icmp6-port-unreachable"},
        {R"(-m comment --comment "ns1/svc1:p80 has no local endpoints" -m addrtype --dst-type LOCAL -m tcp -p tcp --dport 30001 -j DROP)",
         R"(-p tcp -m comment --comment "ns1/svc1:p80 has no local endpoints" -m addrtype --dst-type LOCAL -m tcp --dport 30001 -j DROP)"},
        {"-m comment --comment ns1/svc1:p80 -m tcp -p tcp --dport 30001 -j KUBE-EXT-A",
         R"(-p tcp -m comment --comment "ns1/svc1:p80" -m tcp --dport 30001 -j KUBE-EXT-A)"},
        {R"(-m comment --comment "S -> 10.180.0.1:80" -m recent --name KUBE-SEP-A --rcheck --seconds 10800 --reap -j KUBE-SEP-A)",
         R"(-m comment --comment "S -> 10.180.0.1:80" -m recent --rcheck --seconds 10800 --reap --name KUBE-SEP-A --mask 255.255.255.255 --rsource -j KUBE-SEP-A)"},
        {R"(-m comment --comment "S -> 10.180.0.1:80" -m statistic --mode random --probability 0.3333333333 -j KUBE-SEP-A)",
         R"(-m comment --comment "S -> 10.180.0.1:80" -m statistic --mode random --probability 0.33333333349 -j KUBE-SEP-A)"},
        {"-m statistic --mode random --probability 0.0010000000 -j KUBE-SEP-A",
         "-m statistic --mode random --probability 0.00100000016 -j KUBE-SEP-A"},
        {"-m comment --comment ns1/svc1:p80 -s 10.180.0.1 -j KUBE-MARK-MASQ",
         R"(-s 10.180.0.1/32 -m comment --comment "ns1/svc1:p80" -j KUBE-MARK-MASQ)"},
        {"-m comment --comment ns1/svc1:p80 -m recent --name KUBE-SEP-A --set -m tcp -p tcp -j DNAT --to-destination 10.180.0.1:80",
         R"(-p tcp -m comment --comment "ns1/svc1:p80" -m recent --set --name KUBE-SEP-A --mask 255.255.255.255 --rsource -m tcp -j DNAT --to-destination 10.180.0.1:80)"},
        {"-m comment --comment x -m recent --name KUBE-SEP-A --set -m tcp -p tcp -j DNAT --to-destination [fd00::1]:80",
         "-p tcp -m comment --comment x -m recent --set --name KUBE-SEP-A --mask ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff --rsource -m tcp -j DNAT --to-destination [fd00::1]:80"},
        {R"(-m comment --comment "this must be the last rule in this chain" -m addrtype --dst-type LOCAL ! -d 127.0.0.0/8 -j KUBE-NODEPORTS)",
         R"(! -d 127.0.0.0/8 -m comment --comment "this must be the last rule in this chain" -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS)"},
        {R"(-m comment --comment "other traffic to S will be dropped by KUBE-PROXY-FIREWALL")",
         R"(-m comment --comment "other traffic to S will be dropped by KUBE-PROXY-FIREWALL")"},
        {"-m conntrack --ctstate DNAT,NEW -j DROP", "-m conntrack --ctstate NEW,DNAT -j DROP"},
        {"-s 10.1.2.3/8", "-s 10.0.0.0/8"},
        {R"(-m comment --comment "a b\"c\\d")", R"(-m comment --comment "a b\"c\\d")"},
        {R"(-m comment --comment "-x")", "-m comment --comment -x"},
        {"-d 64:ff9b::1.2.3.4", "-d 64:ff9b::102:304/128"},
    };
    for (const auto& pair : kPairs) CPPUNIT_ASSERT_EQUAL(canonical(pair.printed), canonical(pair.written));
  }

  void rules_that_differ_stay_different() {
    const char* const kRules[] = {
        "-s 10.0.0.1 -j A",
        "! -s 10.0.0.1 -j A",
        "-d 10.0.0.1 -j A",
        "-s 10.0.0.1/31 -j A",
        "-s 10.0.0.1 -j B",
        "-s 10.0.0.1 -g A",
        "-s 10.0.0.1",
        "-i eth0 -j A",
        "-i eth0+ -j A",
        "-p tcp -m tcp --dport 80 -j A",
        "-p udp -m udp --dport 80 -j A",
        "-p tcp -m tcp --dport 81 -j A",
        "-p tcp -m tcp --sport 80 -j A",
        "-p tcp -m tcp ! --dport 80 -j A",
        "-p tcp -j A",
        "-m comment --comment \"a b\" -j A",
        "-m comment --comment a -j A",
        "-m mark --mark 0x4000 -j A",
        "-m mark --mark 0x4000/0x4000 -j A",
        "-m mark ! --mark 0x4000/0x4000 -j A",
        "-j MARK --or-mark 0x4000",
        "-j MARK --xor-mark 0x4000",
        "-j MARK --and-mark 0x4000",
        "-j MARK --set-mark 0x4000",
        "-j REJECT",
        "-j REJECT --reject-with tcp-reset",
        "-m conntrack --ctstate NEW -j A",
        "-m conntrack ! --ctstate NEW -j A",
        "-m conntrack --ctstate NEW,RELATED -j A",
        "-m statistic --mode random --probability 0.5 -j A",
        "-m statistic --mode random --probability 0.50000001 -j A",
        "-m recent --name A --set -j A",
        "-m recent --name A --rcheck -j A",
        "-m recent --name A --set --rdest -j A",
        "-m recent --name B --set -j A",
        "-j DNAT --to-destination 10.0.0.1:80",
        "-j DNAT --to-destination 10.0.0.1:81",
        "-j MASQUERADE",
        "-j MASQUERADE --random-fully",
        "-m addrtype --dst-type LOCAL -j A",
        "-m addrtype --src-type LOCAL -j A",
    };
    for (const char* a : kRules) {
      for (const char* b : kRules) {
        if (a != b) CPPUNIT_ASSERT_MESSAGE(std::string(a) + " / " + b, canonical(a) != canonical(b));
      }
    }
  }

  void finds_the_target() {
    Canonicaliser canonicaliser;
    canonicaliser.canonical("-m tcp -p tcp --dport 80 -j KUBE-SVC-A");
    CPPUNIT_ASSERT_EQUAL(std::string("KUBE-SVC-A"), std::string(canonicaliser.target()));
    canonicaliser.canonical("-g ELSEWHERE");
    CPPUNIT_ASSERT_EQUAL(std::string("ELSEWHERE"), std::string(canonicaliser.target()));
    canonicaliser.canonical("-m comment --comment \"-j KUBE-SVC-A\"");
    CPPUNIT_ASSERT_EQUAL(std::string(), std::string(canonicaliser.target()));
  }

  void spellings_of_an_option_are_equal() {
    CPPUNIT_ASSERT_EQUAL(canonical("-s 10.0.0.0/8 -p tcp -m tcp --dport 80 -j A"),
                         canonical("--source 10.0.0.0/255.0.0.0 --proto 6 --destination-port 80 --jump A"));
    CPPUNIT_ASSERT_EQUAL(canonical("-p tcp -m tcp -j A"), canonical("-p tcp -j A"));
    CPPUNIT_ASSERT_EQUAL(canonical("-p tcp -m comment --comment c --dport 80 -j A"),
                         canonical("-p tcp -m tcp --dport 80 -m comment --comment c -j A"));
    CPPUNIT_ASSERT_EQUAL(canonical("-j MARK --set-xmark 0x4000/0xffffffff"), canonical("-j MARK --set-mark 0x4000"));
    CPPUNIT_ASSERT_EQUAL(canonical("-c 5 10 -s 10.0.0.1 -j A"), canonical("-s 10.0.0.1 -j A"));
  }

  void match_of_everything_is_dropped() {
    CPPUNIT_ASSERT_EQUAL(canonical("-j A"), canonical("-s 0.0.0.0/0 -d 10.0.0.0/0 -i + -p all -j A"));
    CPPUNIT_ASSERT(canonical("! -s 0.0.0.0/0 -j A") != canonical("-j A"));
  }

  void invalid_text_keeps_its_words() {
    CPPUNIT_ASSERT(canonical("hello world") != canonical("world hello"));
    CPPUNIT_ASSERT(canonical("-s") != canonical("-d"));
    CPPUNIT_ASSERT(canonical("-s 10.0.0.0/99") != canonical("-s 10.0.0.0/8"));
    CPPUNIT_ASSERT(canonical("-m statistic --probability nan") != canonical("-m statistic --probability 0"));
    CPPUNIT_ASSERT(canonical("-m mark --mark 0x1ffffffff") != canonical("-m mark --mark 0xffffffff"));
    for (const char* text : {"", "\"", "!", "! !", "-", "--", "-m", "-j", "-p -p -p", "\\", "-m \"", "-s \"10.0.0.1"}) {
      canonical(text);
    }
    canonical("-s " + std::string(5000, '9') + "/8 -d " + std::string(5000, ':'));
  }

  void hash_follows_the_canonical_form() {
    Canonicaliser canonicaliser;
    CPPUNIT_ASSERT(canonicaliser.hash("-s 10.0.0.1 -j A") == canonicaliser.hash("-s 10.0.0.1/32 -j A"));
    CPPUNIT_ASSERT(canonicaliser.hash("-s 10.0.0.1 -j A") != canonicaliser.hash("-s 10.0.0.2 -j A"));
    CPPUNIT_ASSERT(hash_text("") != hash_text(std::string_view("\0", 1)));
  }

  void order_of_rules_changes_the_content_of_a_chain() {
    const std::uint64_t a = hash_text("a");
    const std::uint64_t b = hash_text("b");
    CPPUNIT_ASSERT(fold(fold(0, a), b) != fold(fold(0, b), a));
    CPPUNIT_ASSERT(fold(fold(0, a), a) != fold(0, a));
    CPPUNIT_ASSERT(fold(0, a) != 0);
  }

  void hash_can_exclude_comments() {
    Canonicaliser canonicaliser;
    const std::uint64_t bare = canonicaliser.hash("-s 10.0.0.1 -j KUBE-MARK-MASQ");
    const std::string commented = "-s 10.0.0.1/32 -m comment --comment \"ns/a:p b\" -j KUBE-MARK-MASQ";
    CPPUNIT_ASSERT_EQUAL(bare, canonicaliser.hash_without_comments(commented));
    CPPUNIT_ASSERT_EQUAL(bare, canonicaliser.hash_without_comments("-s 10.0.0.1 -j KUBE-MARK-MASQ"));
    CPPUNIT_ASSERT(bare != canonicaliser.hash(commented));
    CPPUNIT_ASSERT(bare != canonicaliser.hash_without_comments("-s 10.0.0.2 -m comment --comment x -j KUBE-MARK-MASQ"));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(CanonicalTest);

}  // namespace canonical_test
}  // namespace sluice::netfilter
