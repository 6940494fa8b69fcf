// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The service addresses of a node, against links and addresses in memory.
#include "plugins/ipvs/links/address_writer.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <random>

#include "plugins/ipvs/values.hpp"
#include "test/unit/ipvs/fake_link_kernel.hpp"

namespace sluice::ipvs {
namespace address_writer_test {

using abi::Family;
using Addresses = std::vector<abi::Address>;

abi::Address v4(const std::string& text) { return *sdk::parse_address(text, Family::kIpv4); }
abi::Address v6(const std::string& text) { return *sdk::parse_address(text, Family::kIpv6); }

class AddressWriterTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(AddressWriterTest);
  CPPUNIT_TEST(makes_the_link_once_for_both_families);
  CPPUNIT_TEST(what_is_held_costs_nothing);
  CPPUNIT_TEST(looking_makes_nothing);
  CPPUNIT_TEST(a_link_of_another_kind_is_left_alone);
  CPPUNIT_TEST(binding_without_a_link_asks_for_everything);
  CPPUNIT_TEST(damage_is_what_was_bound_and_is_missing);
  CPPUNIT_TEST(what_went_before_a_refresh_and_is_not_wanted_is_no_damage);
  CPPUNIT_TEST(a_link_made_anew_is_damage_and_mended);
  CPPUNIT_TEST(what_failed_is_not_remembered);
  CPPUNIT_TEST(what_no_link_can_have_stays_out_alone);
  CPPUNIT_TEST(the_link_goes_with_the_last_family);
  CPPUNIT_TEST(both_families_going_at_once_leave_no_link);
  CPPUNIT_TEST(any_history_ends_as_wanted);
  CPPUNIT_TEST_SUITE_END();

  FakeLinkKernel kernel_;

  AddressWriter writer(Family family = Family::kIpv4) { return {kernel_, family, sdk::Logger(nullptr)}; }
  std::set<abi::Address>& bound(Family family = Family::kIpv4) { return kernel_.links.at(kLinkName).addresses[family]; }

 public:
  void makes_the_link_once_for_both_families() {
    auto four = writer();
    auto six = writer(Family::kIpv6);
    four.refresh();
    six.refresh();
    CPPUNIT_ASSERT_EQUAL(1, kernel_.calls["create"]);
    CPPUNIT_ASSERT_EQUAL(std::string("dummy"), kernel_.links.at(kLinkName).state.kind);
    four.bind({v4("10.0.0.1")});
    six.bind({v6("fd00::1")});
    CPPUNIT_ASSERT(bound() == std::set{v4("10.0.0.1")});
    CPPUNIT_ASSERT(bound(Family::kIpv6) == std::set{v6("fd00::1")});
    CPPUNIT_ASSERT(!four.find_damage());
    CPPUNIT_ASSERT(!six.find_damage());
  }

  void what_is_held_costs_nothing() {
    kernel_.put(kLinkName, "dummy").addresses[Family::kIpv4] = {v4("10.0.0.1"), v4("10.0.0.2")};
    auto writer = this->writer();
    writer.refresh();
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, writer.held().size());
    writer.bind({v4("10.0.0.1"), v4("10.0.0.2")});
    writer.unbind({v4("10.0.0.9")});
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, kernel_.messages());
    writer.bind({v4("10.0.0.2"), v4("10.0.0.3")});
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{1}, kernel_.messages());
    writer.unbind({v4("10.0.0.3"), v4("10.0.0.9")});
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{2}, kernel_.messages());
    CPPUNIT_ASSERT(bound() == (std::set{v4("10.0.0.1"), v4("10.0.0.2")}));
    CPPUNIT_ASSERT_EQUAL(1, kernel_.calls["addresses"]);
    // What was there before is missed as well, once it has been asked for.
    bound().erase(v4("10.0.0.1"));
    CPPUNIT_ASSERT(writer.find_damage().has_value());
  }

  void looking_makes_nothing() {
    auto writer = this->writer();
    writer.look();
    CPPUNIT_ASSERT(writer.held().empty());
    CPPUNIT_ASSERT(kernel_.links.empty());
    CPPUNIT_ASSERT(!writer.find_damage());
    kernel_.put(kLinkName, "dummy").addresses[Family::kIpv4] = {v4("10.0.0.1")};
    writer.look();
    CPPUNIT_ASSERT(writer.held() == std::set{v4("10.0.0.1")});
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, kernel_.messages());
  }

  void a_link_of_another_kind_is_left_alone() {
    kernel_.put(kLinkName, "bridge").addresses[Family::kIpv4] = {v4("10.0.0.1")};
    auto writer = this->writer();
    try {
      writer.refresh();
      CPPUNIT_FAIL("a bridge was taken");
    } catch (const sdk::Failure& failure) {
      CPPUNIT_ASSERT_EQUAL(std::string("link kube-ipvs0 is of kind bridge and not of kind dummy, so service addresses "
                                       "cannot be bound to it; rename or remove it: ip link del kube-ipvs0"),
                           std::string(failure.what()));
      CPPUNIT_ASSERT(failure.code() == abi::Code::kKernel);
    }
    writer.look();  // whoever cleans up is not stopped by it
    CPPUNIT_ASSERT(writer.held().empty());
    writer.remove_all();
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, bound().size());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, kernel_.messages());
    kernel_.links.at(kLinkName).state.kind.clear();
    CPPUNIT_ASSERT_THROW(writer.refresh(), sdk::Failure);
  }

  void binding_without_a_link_asks_for_everything() {
    auto writer = this->writer();
    writer.look();
    try {
      writer.bind({v4("10.0.0.1")});
      CPPUNIT_FAIL("bound to no link");
    } catch (const sdk::Failure& failure) {
      CPPUNIT_ASSERT(failure.code() == abi::Code::kNeedFull);
    }
  }

  void damage_is_what_was_bound_and_is_missing() {
    auto writer = this->writer();
    writer.refresh();
    writer.bind({v4("10.0.0.1"), v4("10.0.0.2"), v4("10.0.0.3")});
    bound().insert(v4("192.0.2.1"));  // somebody else's
    CPPUNIT_ASSERT(!writer.find_damage());
    bound().erase(v4("10.0.0.2"));
    CPPUNIT_ASSERT_EQUAL(std::string("link kube-ipvs0 lacks 1 of 3 addresses, 10.0.0.2 for one"),
                         *writer.find_damage());
    writer.refresh();
    writer.bind({v4("10.0.0.1"), v4("10.0.0.2"), v4("10.0.0.3")});
    CPPUNIT_ASSERT(!writer.find_damage());
    CPPUNIT_ASSERT(bound().contains(v4("192.0.2.1")));
    kernel_.links.clear();
    CPPUNIT_ASSERT_EQUAL(std::string("link kube-ipvs0 is gone"), *writer.find_damage());
  }

  void what_went_before_a_refresh_and_is_not_wanted_is_no_damage() {
    auto writer = this->writer();
    writer.refresh();
    writer.bind({v4("10.0.0.1"), v4("10.0.0.2")});
    bound().erase(v4("10.0.0.2"));
    writer.refresh();
    writer.bind({v4("10.0.0.1")});
    CPPUNIT_ASSERT(!writer.find_damage());
  }

  void a_link_made_anew_is_damage_and_mended() {
    auto writer = this->writer();
    writer.refresh();
    // Also while nothing is bound: the next address would go to the old one.
    kernel_.links.clear();
    kernel_.put(kLinkName, "dummy");
    CPPUNIT_ASSERT(writer.find_damage().has_value());
    writer.refresh();
    writer.bind({v4("10.0.0.1")});
    kernel_.links.clear();
    kernel_.put(kLinkName, "dummy");
    CPPUNIT_ASSERT(writer.find_damage().has_value());
    writer.refresh();
    CPPUNIT_ASSERT(writer.held().empty());
    writer.bind({v4("10.0.0.1")});
    CPPUNIT_ASSERT(!writer.find_damage());
    CPPUNIT_ASSERT(bound() == std::set{v4("10.0.0.1")});
    kernel_.links.at(kLinkName).state.kind = "vlan";
    CPPUNIT_ASSERT(writer.find_damage().has_value());
  }

  void what_failed_is_not_remembered() {
    auto writer = this->writer();
    writer.refresh();
    kernel_.before = [](const std::string& what) {
      if (what == "bind") throw sdk::Failure(abi::Code::kRetry, "", "No buffer space available");
    };
    CPPUNIT_ASSERT_THROW(writer.bind({v4("10.0.0.1")}), sdk::Failure);
    CPPUNIT_ASSERT(writer.held().empty());
    kernel_.before = nullptr;
    writer.refresh();
    writer.bind({v4("10.0.0.1")});
    CPPUNIT_ASSERT(bound() == std::set{v4("10.0.0.1")});
    kernel_.has_dummy = false;
    kernel_.links.clear();
    CPPUNIT_ASSERT_THROW(writer.refresh(), sdk::Failure);
    CPPUNIT_ASSERT(writer.held().empty());
  }

  void what_no_link_can_have_stays_out_alone() {
    auto writer = this->writer();
    writer.refresh();
    kernel_.refuse = {v4("10.0.0.2")};
    writer.bind({v4("10.0.0.1"), v4("10.0.0.2"), v4("10.0.0.3")});
    CPPUNIT_ASSERT(bound() == (std::set{v4("10.0.0.1"), v4("10.0.0.3")}));
    CPPUNIT_ASSERT(writer.held() == bound());
    CPPUNIT_ASSERT(!writer.find_damage());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, writer.refused().size());
    CPPUNIT_ASSERT_EQUAL(std::string("cannot bind 10.0.0.2 to kube-ipvs0: refused"),
                         writer.refused().at(v4("10.0.0.2")));
    writer.unbind({v4("10.0.0.2")});
    CPPUNIT_ASSERT(writer.refused().empty());
    writer.bind({v4("10.0.0.2")});
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, writer.refused().size());
    kernel_.refuse.clear();
    writer.refresh();
    CPPUNIT_ASSERT(writer.refused().empty());
    writer.bind({v4("10.0.0.1"), v4("10.0.0.2"), v4("10.0.0.3")});
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, bound().size());
    CPPUNIT_ASSERT(writer.refused().empty());
  }

  void the_link_goes_with_the_last_family() {
    auto four = writer();
    auto six = writer(Family::kIpv6);
    four.refresh();
    six.refresh();
    four.bind({v4("10.0.0.1"), v4("10.0.0.2")});
    six.bind({v6("fd00::1")});
    four.remove_all();
    CPPUNIT_ASSERT(bound().empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, bound(Family::kIpv6).size());
    six.remove_all();
    CPPUNIT_ASSERT(kernel_.links.empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, kernel_.unbound);  // the last ones went with the link
    four.remove_all();
    CPPUNIT_ASSERT_EQUAL(1, kernel_.calls["remove"]);
  }

  void both_families_going_at_once_leave_no_link() {
    auto four = writer();
    auto six = writer(Family::kIpv6);
    four.refresh();
    six.refresh();
    four.bind({v4("10.0.0.1")});
    six.bind({v6("fd00::1")});
    // The other one takes its addresses off while this one does.
    kernel_.before = [&](const std::string& what) {
      if (what == "unbind") bound(Family::kIpv6).clear();
    };
    four.remove_all();
    CPPUNIT_ASSERT(kernel_.links.empty());
  }

  // Whatever happens in between, after a full round the kernel has what is wanted, and what others bound.
  void any_history_ends_as_wanted() {
    std::mt19937 random(20);
    const auto below = [&](unsigned limit) { return static_cast<unsigned>(random() % limit); };
    Addresses all;
    for (int i = 1; i <= 12; ++i) all.push_back(v4("10.0.0." + std::to_string(i)));
    const abi::Address foreign = v4("192.0.2.7");
    for (int history = 0; history < 300; ++history) {
      kernel_ = FakeLinkKernel();
      auto writer = this->writer();
      std::set<abi::Address> wanted;
      bool trusted = false;
      bool damaged = false;
      for (int step = 0; step < 30; ++step) {
        // What others do.
        if (below(8) == 0 && kernel_.links.contains(kLinkName)) {
          switch (below(4)) {
            case 0:
              kernel_.links.clear();
              break;
            case 1:
              bound().erase(all[below(12)]);
              break;
            case 2:
              bound().insert(foreign);
              break;
            default:
              bound().insert(all[below(12)]);
              break;
          }
        }
        if (trusted) {
          const bool whole = kernel_.links.contains(kLinkName) &&
                             std::includes(bound().begin(), bound().end(), wanted.begin(), wanted.end());
          damaged = writer.find_damage().has_value();
          CPPUNIT_ASSERT_EQUAL(!whole, damaged);
        }
        Addresses come;
        Addresses go;
        for (const abi::Address& address : all) {
          if (below(4) != 0) continue;
          if (wanted.erase(address) != 0)
            go.push_back(address);
          else if (wanted.insert(address).second)
            come.push_back(address);
        }
        kernel_.before = [&](const std::string&) {
          if (below(40) == 0) throw sdk::Failure(abi::Code::kRetry, "", "interrupted");
        };
        try {
          if (!trusted || damaged || below(10) == 0) {
            writer.refresh();
            writer.bind({wanted.begin(), wanted.end()});
            Addresses more;
            for (const abi::Address& held : writer.held()) {
              if (!wanted.contains(held) && !(held == foreign)) more.push_back(held);
            }
            writer.unbind(more);
            kernel_.before = nullptr;
            auto now = bound();
            now.erase(foreign);
            CPPUNIT_ASSERT(now == wanted);
            trusted = true;
          } else {
            const auto before = kernel_.messages();
            writer.bind(come);
            writer.unbind(go);
            CPPUNIT_ASSERT(kernel_.messages() - before <= come.size() + go.size());
          }
        } catch (const sdk::Failure&) {
          trusted = false;
        }
        kernel_.before = nullptr;
      }
    }
  }
};
CPPUNIT_TEST_SUITE_REGISTRATION(AddressWriterTest);

}  // namespace address_writer_test
}  // namespace sluice::ipvs
