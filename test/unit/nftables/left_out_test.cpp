// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Service ports that are left out, as all backends note them.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "plugins/common/netfilter/left_out.hpp"
#include "test/unit/iptables/fake_host.hpp"
#include "test/unit/iptables/world.hpp"

namespace sluice::test {
namespace left_out_test {

using netfilter::LeftOut;
using netfilter::Problems;

class LeftOutTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(LeftOutTest);
  CPPUNIT_TEST(several_reasons_are_one_text);
  CPPUNIT_TEST(the_daemon_is_told_of_each);
  CPPUNIT_TEST(who_gains_is_told_of_only_if_he_was_left_out);
  CPPUNIT_TEST(who_was_tried_or_removed_is_not_left_out_any_more);
  CPPUNIT_TEST(who_is_served_by_now_is_told_by_key);
  CPPUNIT_TEST(keys_are_those_of_the_transaction_or_of_before);
  CPPUNIT_TEST_SUITE_END();

  struct Rig {
    Rig() { host.step = 0; }
    void full(const Problems& problems) {
      left_out.note(World().full({}, 1), problems);
    }
    // Of ns1/NAME:p80.
    void delta(const std::vector<std::string>& changed, const std::vector<std::string>& removed,
               const Problems& problems) {
      World world;
      left_out.note(world.delta(specs(changed), specs(removed), 2), problems);
    }
    static std::vector<ServiceSpec> specs(const std::vector<std::string>& names) {
      std::vector<ServiceSpec> all;
      for (const std::string& name : names) all.emplace_back().name = name;
      return all;
    }

    FakeHost host;
    LeftOut left_out{host};
  };

  void several_reasons_are_one_text() {
    Problems problems;
    netfilter::add_problem(problems, "ns1/a:p80", "first");
    netfilter::add_problem(problems, "ns1/b:p80", "other");
    netfilter::add_problem(problems, "ns1/a:p80", "second");
    CPPUNIT_ASSERT((Problems{{"ns1/a:p80", "first; second"}, {"ns1/b:p80", "other"}}) == problems);
  }

  void the_daemon_is_told_of_each() {
    Rig rig;
    rig.full({{"ns1/b:p80", "two"}, {"ns1/a:p80", "one"}});
    CPPUNIT_ASSERT((std::vector<std::string>{"ns1/a:p80: one", "ns1/b:p80: two"}) == rig.host.failed);
    rig.delta({"c"}, {}, {});
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig.host.failed.size());
  }

  void who_gains_is_told_of_only_if_he_was_left_out() {
    Rig rig;
    rig.full({{"ns1/a:p80", "one"}});
    rig.left_out.gained("ns1/b:p80", "something");
    CPPUNIT_ASSERT(rig.host.resyncs.empty());
    rig.left_out.gained("ns1/a:p80", "something");
    CPPUNIT_ASSERT(std::vector<std::string>{"ns1/a:p80 has got something"} == rig.host.resyncs);
    rig.delta({"a"}, {}, {});
    rig.left_out.gained("ns1/a:p80", "something");
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.host.resyncs.size());
  }

  void who_was_tried_or_removed_is_not_left_out_any_more() {
    Rig rig;
    const auto is_left_out = [&rig](const std::string& name) {
      const std::size_t before = rig.host.resyncs.size();
      rig.left_out.gained("ns1/" + name + ":p80", "something");
      return rig.host.resyncs.size() != before;
    };
    rig.full({{"ns1/a:p80", "one"}, {"ns1/b:p80", "two"}, {"ns1/c:p80", "three"}});
    rig.delta({"a", "d"}, {"b"}, {{"ns1/d:p80", "four"}});
    CPPUNIT_ASSERT(!is_left_out("a") && !is_left_out("b") && is_left_out("c") && is_left_out("d"));
    rig.full({});
    CPPUNIT_ASSERT(!is_left_out("c") && !is_left_out("d"));
  }

  void who_is_served_by_now_is_told_by_key() {
    Rig rig;
    rig.full({{"ns1/a:p80", "one"}});
    rig.left_out.served("ns1/b:p80");
    CPPUNIT_ASSERT(rig.host.served.empty());
    rig.left_out.served("ns1/a:p80");
    CPPUNIT_ASSERT(std::vector<std::string>{"ns1/a:p80/tcp"} == rig.host.served);
  }

  void keys_are_those_of_the_transaction_or_of_before() {
    Rig rig;
    ServiceSpec udp;
    udp.name = "u:/";  // its printed name cannot be taken apart
    udp.protocol = abi::Protocol::kUdp;
    World world;
    rig.left_out.note(world.full({udp}, 1), {{"ns1/u:/:p80", "one"}});
    CPPUNIT_ASSERT(rig.host.failed_ids.contains("ns1/u:/:p80/udp"));
    rig.host.failed_ids.clear();
    rig.delta({"b"}, {}, {{"ns1/u:/:p80", "still"}});
    CPPUNIT_ASSERT((std::set<std::string>{"ns1/u:/:p80/udp"}) == rig.host.failed_ids);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(LeftOutTest);

}  // namespace left_out_test
}  // namespace sluice::test
