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
namespace {

using netfilter::LeftOut;
using netfilter::Problems;

class LeftOutTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(LeftOutTest);
  CPPUNIT_TEST(several_reasons_are_one_text);
  CPPUNIT_TEST(the_daemon_is_told_of_each);
  CPPUNIT_TEST(a_full_one_has_tried_all);
  CPPUNIT_TEST(a_delta_has_tried_those_it_names);
  CPPUNIT_TEST(they_are_tried_again_ever_more_rarely);
  CPPUNIT_TEST(another_one_begins_from_the_start);
  CPPUNIT_TEST(who_gains_is_told_of_only_if_he_was_left_out);
  CPPUNIT_TEST(who_is_served_by_now_is_told_by_key);
  CPPUNIT_TEST(keys_are_those_of_the_transaction_or_of_before);
  CPPUNIT_TEST_SUITE_END();

  static constexpr std::uint64_t kMinute = 60'000'000'000;

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
    // Whether another transaction is asked for then.
    bool asks_after(std::uint64_t time) {
      const std::size_t before = host.resyncs.size();
      host.clock += time;
      left_out.retry_when_due();
      return host.resyncs.size() != before;
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

  void a_full_one_has_tried_all() {
    Rig rig;
    rig.full({{"ns1/a:p80", "one"}});
    rig.full({});
    CPPUNIT_ASSERT(!rig.asks_after(1000 * kMinute));
  }

  void a_delta_has_tried_those_it_names() {
    Rig rig;
    rig.full({{"ns1/a:p80", "one"}, {"ns1/b:p80", "two"}, {"ns1/c:p80", "three"}});
    rig.delta({"a", "d"}, {"b"}, {{"ns1/d:p80", "four"}});
    CPPUNIT_ASSERT(rig.asks_after(kMinute));
    CPPUNIT_ASSERT_EQUAL(std::string("service ports that could not be served are tried again: 2"),
                         rig.host.resyncs.back());
    rig.delta({"c"}, {"d"}, {});
    CPPUNIT_ASSERT(!rig.asks_after(1000 * kMinute));
  }

  void they_are_tried_again_ever_more_rarely() {
    Rig rig;
    rig.full({{"ns1/a:p80", "one"}});
    CPPUNIT_ASSERT(!rig.asks_after(kMinute - 1));
    CPPUNIT_ASSERT(rig.asks_after(1));
    rig.full({{"ns1/a:p80", "one"}});
    CPPUNIT_ASSERT(!rig.asks_after(2 * kMinute - 1));
    // What concerns others does not put it off.
    rig.delta({"b"}, {}, {});
    CPPUNIT_ASSERT(rig.asks_after(1));
    for (unsigned i = 0; i < 10; ++i) rig.asks_after(60 * kMinute);
    CPPUNIT_ASSERT(!rig.asks_after(60 * kMinute - 1));
    CPPUNIT_ASSERT(rig.asks_after(1));
  }

  void another_one_begins_from_the_start() {
    Rig rig;
    rig.full({{"ns1/a:p80", "one"}});
    CPPUNIT_ASSERT(rig.asks_after(kMinute));
    rig.delta({"b"}, {}, {{"ns1/b:p80", "two"}});
    CPPUNIT_ASSERT(!rig.asks_after(kMinute - 1));
    CPPUNIT_ASSERT(rig.asks_after(1));
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

  void who_is_served_by_now_is_told_by_key() {
    Rig rig;
    rig.full({{"ns1/a:p80", "one"}});
    rig.left_out.served("ns1/b:p80");
    CPPUNIT_ASSERT(rig.host.served.empty());
    rig.left_out.served("ns1/a:p80");
    CPPUNIT_ASSERT(std::vector<std::string>{"ns1/a:p80/tcp"} == rig.host.served);
    CPPUNIT_ASSERT(!rig.asks_after(1000 * kMinute));
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

}  // namespace
}  // namespace sluice::test
