// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The service addresses of a node, against links and addresses in memory.
#include "plugins/ipvs/links/address_writer.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <random>

#include "plugins/ipvs/server_types.hpp"
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
  CPPUNIT_TEST(held_addresses_cost_nothing);
  CPPUNIT_TEST(read_back_creates_nothing);
  CPPUNIT_TEST(a_link_of_another_kind_is_not_changed);
  CPPUNIT_TEST(binding_without_a_link_needs_a_full_transaction);
  CPPUNIT_TEST(drift_is_a_bound_address_that_is_missing);
  CPPUNIT_TEST(an_unwanted_address_that_went_before_a_refresh_is_not_drift);
  CPPUNIT_TEST(a_recreated_link_is_drift_and_is_repaired);
  CPPUNIT_TEST(failed_addresses_are_not_held);
  CPPUNIT_TEST(a_rejected_address_does_not_stop_the_others);
  CPPUNIT_TEST(the_link_goes_with_the_last_family);
  CPPUNIT_TEST(both_families_removing_at_once_leave_no_link);
  CPPUNIT_TEST(random_histories_converge);
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
    CPPUNIT_ASSERT(!four.find_drift());
    CPPUNIT_ASSERT(!six.find_drift());
  }

  void held_addresses_cost_nothing() {
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
    // An address that existed before counts as drift once it has been bound again.
    bound().erase(v4("10.0.0.1"));
    CPPUNIT_ASSERT(writer.find_drift().has_value());
  }

  void read_back_creates_nothing() {
    auto writer = this->writer();
    writer.read_back();
    CPPUNIT_ASSERT(writer.held().empty());
    CPPUNIT_ASSERT(kernel_.links.empty());
    CPPUNIT_ASSERT(!writer.find_drift());
    kernel_.put(kLinkName, "dummy").addresses[Family::kIpv4] = {v4("10.0.0.1")};
    writer.read_back();
    CPPUNIT_ASSERT(writer.held() == std::set{v4("10.0.0.1")});
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, kernel_.messages());
  }

  void a_link_of_another_kind_is_not_changed() {
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
    writer.read_back();  // does not stop a clean-up
    CPPUNIT_ASSERT(writer.held().empty());
    writer.remove_all();
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, bound().size());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, kernel_.messages());
    kernel_.links.at(kLinkName).state.kind.clear();
    CPPUNIT_ASSERT_THROW(writer.refresh(), sdk::Failure);
  }

  void binding_without_a_link_needs_a_full_transaction() {
    auto writer = this->writer();
    writer.read_back();
    try {
      writer.bind({v4("10.0.0.1")});
      CPPUNIT_FAIL("bound to no link");
    } catch (const sdk::Failure& failure) {
      CPPUNIT_ASSERT(failure.code() == abi::Code::kNeedFull);
    }
  }

  void drift_is_a_bound_address_that_is_missing() {
    auto writer = this->writer();
    writer.refresh();
    writer.bind({v4("10.0.0.1"), v4("10.0.0.2"), v4("10.0.0.3")});
    bound().insert(v4("192.0.2.1"));  // foreign
    CPPUNIT_ASSERT(!writer.find_drift());
    bound().erase(v4("10.0.0.2"));
    CPPUNIT_ASSERT_EQUAL(std::string("link kube-ipvs0 lacks 1 of 3 addresses, 10.0.0.2 for one"), *writer.find_drift());
    writer.refresh();
    writer.bind({v4("10.0.0.1"), v4("10.0.0.2"), v4("10.0.0.3")});
    CPPUNIT_ASSERT(!writer.find_drift());
    CPPUNIT_ASSERT(bound().contains(v4("192.0.2.1")));
    kernel_.links.clear();
    CPPUNIT_ASSERT_EQUAL(std::string("link kube-ipvs0 is gone"), *writer.find_drift());
  }

  void an_unwanted_address_that_went_before_a_refresh_is_not_drift() {
    auto writer = this->writer();
    writer.refresh();
    writer.bind({v4("10.0.0.1"), v4("10.0.0.2")});
    bound().erase(v4("10.0.0.2"));
    writer.refresh();
    writer.bind({v4("10.0.0.1")});
    CPPUNIT_ASSERT(!writer.find_drift());
  }

  void a_recreated_link_is_drift_and_is_repaired() {
    auto writer = this->writer();
    writer.refresh();
    // Also while nothing is bound: the next address would go to the old link.
    kernel_.links.clear();
    kernel_.put(kLinkName, "dummy");
    CPPUNIT_ASSERT(writer.find_drift().has_value());
    writer.refresh();
    writer.bind({v4("10.0.0.1")});
    kernel_.links.clear();
    kernel_.put(kLinkName, "dummy");
    CPPUNIT_ASSERT(writer.find_drift().has_value());
    writer.refresh();
    CPPUNIT_ASSERT(writer.held().empty());
    writer.bind({v4("10.0.0.1")});
    CPPUNIT_ASSERT(!writer.find_drift());
    CPPUNIT_ASSERT(bound() == std::set{v4("10.0.0.1")});
    kernel_.links.at(kLinkName).state.kind = "vlan";
    CPPUNIT_ASSERT(writer.find_drift().has_value());
  }

  void failed_addresses_are_not_held() {
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

  void a_rejected_address_does_not_stop_the_others() {
    auto writer = this->writer();
    writer.refresh();
    kernel_.refuse = {v4("10.0.0.2")};
    writer.bind({v4("10.0.0.1"), v4("10.0.0.2"), v4("10.0.0.3")});
    CPPUNIT_ASSERT(bound() == (std::set{v4("10.0.0.1"), v4("10.0.0.3")}));
    CPPUNIT_ASSERT(writer.held() == bound());
    CPPUNIT_ASSERT(!writer.find_drift());
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

  void both_families_removing_at_once_leave_no_link() {
    auto four = writer();
    auto six = writer(Family::kIpv6);
    four.refresh();
    six.refresh();
    four.bind({v4("10.0.0.1")});
    six.bind({v6("fd00::1")});
    // The other family removes its addresses at the same time.
    kernel_.before = [&](const std::string& what) {
      if (what == "unbind") bound(Family::kIpv6).clear();
    };
    four.remove_all();
    CPPUNIT_ASSERT(kernel_.links.empty());
  }

  // After any history, a full round leaves the wanted and the foreign addresses.
  void random_histories_converge() {
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
      bool drifted = false;
      for (int step = 0; step < 30; ++step) {
        // Foreign changes.
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
          drifted = writer.find_drift().has_value();
          CPPUNIT_ASSERT_EQUAL(!whole, drifted);
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
          if (!trusted || drifted || below(10) == 0) {
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
