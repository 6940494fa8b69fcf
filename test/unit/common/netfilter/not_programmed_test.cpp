// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Reports of service ports that are not programmed, shared by all backends.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "plugins/common/netfilter/not_programmed.hpp"
#include "test/unit/common/fake_host.hpp"
#include "test/unit/common/world.hpp"

namespace sluice::test {
namespace not_programmed_test {

using netfilter::NotProgrammed;
using netfilter::Problems;

class NotProgrammedTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(NotProgrammedTest);
  CPPUNIT_TEST(several_reasons_are_one_text);
  CPPUNIT_TEST(each_one_is_reported);
  CPPUNIT_TEST(gain_is_reported_only_after_a_failure);
  CPPUNIT_TEST(retried_or_removed_ones_are_forgotten);
  CPPUNIT_TEST(served_again_is_reported_by_key);
  CPPUNIT_TEST(keys_are_those_of_the_transaction_or_of_before);
  CPPUNIT_TEST_SUITE_END();

  struct Rig {
    Rig() { host.step = 0; }
    void full(const Problems& problems) {
      not_programmed.note(World().full({}, 1), problems);
    }
    // The key of ns1/NAME:p80.
    void delta(const std::vector<std::string>& changed, const std::vector<std::string>& removed,
               const Problems& problems) {
      World world;
      not_programmed.note(world.delta(specs(changed), specs(removed), 2), problems);
    }
    static std::vector<ServiceSpec> specs(const std::vector<std::string>& names) {
      std::vector<ServiceSpec> all;
      for (const std::string& name : names) all.emplace_back().name = name;
      return all;
    }

    FakeHost host;
    NotProgrammed not_programmed{host};
  };

  void several_reasons_are_one_text() {
    Problems problems;
    netfilter::add_problem(problems, "ns1/a:p80", "first");
    netfilter::add_problem(problems, "ns1/b:p80", "other");
    netfilter::add_problem(problems, "ns1/a:p80", "second");
    CPPUNIT_ASSERT((Problems{{"ns1/a:p80", "first; second"}, {"ns1/b:p80", "other"}}) == problems);
  }

  void each_one_is_reported() {
    Rig rig;
    rig.full({{"ns1/b:p80", "two"}, {"ns1/a:p80", "one"}});
    CPPUNIT_ASSERT((std::vector<std::string>{"ns1/a:p80: one", "ns1/b:p80: two"}) == rig.host.failed);
    rig.delta({"c"}, {}, {});
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig.host.failed.size());
  }

  void gain_is_reported_only_after_a_failure() {
    Rig rig;
    rig.full({{"ns1/a:p80", "one"}});
    rig.not_programmed.request_retry("ns1/b:p80", "something");
    CPPUNIT_ASSERT(rig.host.resyncs.empty());
    rig.not_programmed.request_retry("ns1/a:p80", "something");
    CPPUNIT_ASSERT(std::vector<std::string>{"ns1/a:p80 has got something"} == rig.host.resyncs);
    rig.delta({"a"}, {}, {});
    rig.not_programmed.request_retry("ns1/a:p80", "something");
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.host.resyncs.size());
  }

  void retried_or_removed_ones_are_forgotten() {
    Rig rig;
    const auto is_not_programmed = [&rig](const std::string& name) {
      const std::size_t before = rig.host.resyncs.size();
      rig.not_programmed.request_retry("ns1/" + name + ":p80", "something");
      return rig.host.resyncs.size() != before;
    };
    rig.full({{"ns1/a:p80", "one"}, {"ns1/b:p80", "two"}, {"ns1/c:p80", "three"}});
    rig.delta({"a", "d"}, {"b"}, {{"ns1/d:p80", "four"}});
    CPPUNIT_ASSERT(!is_not_programmed("a") && !is_not_programmed("b") && is_not_programmed("c") &&
                   is_not_programmed("d"));
    rig.full({});
    CPPUNIT_ASSERT(!is_not_programmed("c") && !is_not_programmed("d"));
  }

  void served_again_is_reported_by_key() {
    Rig rig;
    rig.full({{"ns1/a:p80", "one"}});
    rig.not_programmed.mark_programmed("ns1/b:p80");
    CPPUNIT_ASSERT(rig.host.served.empty());
    rig.not_programmed.mark_programmed("ns1/a:p80");
    CPPUNIT_ASSERT(std::vector<std::string>{"ns1/a:p80/tcp"} == rig.host.served);
  }

  void keys_are_those_of_the_transaction_or_of_before() {
    Rig rig;
    ServiceSpec udp;
    udp.name = "u:/";  // its printed name cannot be parsed
    udp.protocol = abi::Protocol::kUdp;
    World world;
    rig.not_programmed.note(world.full({udp}, 1), {{"ns1/u:/:p80", "one"}});
    CPPUNIT_ASSERT(rig.host.failed_ids.contains("ns1/u:/:p80/udp"));
    rig.host.failed_ids.clear();
    rig.delta({"b"}, {}, {{"ns1/u:/:p80", "still"}});
    CPPUNIT_ASSERT((std::set<std::string>{"ns1/u:/:p80/udp"}) == rig.host.failed_ids);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(NotProgrammedTest);

}  // namespace not_programmed_test
}  // namespace sluice::test
