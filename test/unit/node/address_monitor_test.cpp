// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Tests family support with a fake /proc, and addresses and their monitor with the real kernel, read-only.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>

#include "core/node/address_monitor.hpp"
#include "core/node/debounce.hpp"
#include "core/node/family_support.hpp"
#include "core/node/kernel_settings.hpp"
#include "lib/sysctl.hpp"
#include "test/unit/temporary_folder.hpp"

namespace sluice::node {
namespace address_monitor_test {

using namespace std::chrono_literals;
using lib::Family;

class NodeKernelTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(NodeKernelTest);
  CPPUNIT_TEST(tcp_be_liberal_is_off_without_conntrack);
  CPPUNIT_TEST(ipv6_support_needs_kernel_and_sysctl);
  CPPUNIT_TEST(primary_family_is_first_and_must_be_supported);
  CPPUNIT_TEST(debounce_has_a_quiet_period_and_a_limit);
  CPPUNIT_TEST(debounce_retries_after_a_delay);
  CPPUNIT_TEST(loopback_address_is_listed);
  CPPUNIT_TEST(monitor_returns_current_addresses_and_stops);
  CPPUNIT_TEST(monitor_start_fails_if_reading_fails);
  CPPUNIT_TEST_SUITE_END();

  std::optional<test::TemporaryFolder> proc_;

 public:
  void setUp() override { proc_.emplace(); }
  void tearDown() override { proc_.reset(); }

  void tcp_be_liberal_is_off_without_conntrack() {
    const lib::Sysctl sysctl(proc_->path());
    CPPUNIT_ASSERT(!*conntrack_tcp_be_liberal(sysctl));
    proc_->write("net/netfilter/nf_conntrack_tcp_be_liberal", "1\n");
    CPPUNIT_ASSERT(*conntrack_tcp_be_liberal(sysctl));
    proc_->write("net/netfilter/nf_conntrack_tcp_be_liberal", "0\n");
    CPPUNIT_ASSERT(!*conntrack_tcp_be_liberal(sysctl));
  }

  void ipv6_support_needs_kernel_and_sysctl() {
    CPPUNIT_ASSERT_EQUAL("this kernel has no IPv6: " + proc_->path("net/if_inet6") + " is missing",
                         check_ipv6(proc_->path()).message());
    proc_->write("net/if_inet6", "");
    CPPUNIT_ASSERT(check_ipv6(proc_->path()).ok());
    proc_->write("sys/net/ipv6/conf/all/disable_ipv6", "0\n");
    CPPUNIT_ASSERT(check_ipv6(proc_->path()).ok());
    proc_->write("sys/net/ipv6/conf/all/disable_ipv6", "1\n");
    CPPUNIT_ASSERT(check_ipv6(proc_->path()).code() == lib::StatusCode::unsupported);
  }

  void primary_family_is_first_and_must_be_supported() {
    const lib::Status no(lib::StatusCode::unsupported, "no such tool");
    CPPUNIT_ASSERT((*choose_families(Family::ipv4, {}) == std::vector{Family::ipv4, Family::ipv6}));
    CPPUNIT_ASSERT((*choose_families(Family::ipv6, {}) == std::vector{Family::ipv6, Family::ipv4}));
    CPPUNIT_ASSERT((*choose_families(Family::ipv4, {lib::Status(), no}) == std::vector{Family::ipv4}));
    CPPUNIT_ASSERT_EQUAL(std::string("the primary family of this node, IPv6, cannot be served: no such tool"),
                         choose_families(Family::ipv6, {lib::Status(), no}).status().message());
  }

  void debounce_has_a_quiet_period_and_a_limit() {
    Debounce debounce({100ms, 1s});
    const Debounce::Time start{};
    CPPUNIT_ASSERT(debounce.due() == Debounce::Time::max());
    CPPUNIT_ASSERT(!debounce.take(start));
    debounce.event(start);
    CPPUNIT_ASSERT(!debounce.take(start + 99ms));
    debounce.event(start + 99ms);
    CPPUNIT_ASSERT(debounce.due() == start + 199ms);
    CPPUNIT_ASSERT(debounce.take(start + 199ms));
    CPPUNIT_ASSERT(!debounce.take(start + 1h));
    for (auto now = start; now < start + 2s; now += 50ms) debounce.event(now);
    CPPUNIT_ASSERT(debounce.due() == start + 1s);
  }

  void debounce_retries_after_a_delay() {
    Debounce debounce({100ms, 1s});
    const Debounce::Time start{};
    debounce.retry(start, 5s);
    CPPUNIT_ASSERT(!debounce.take(start + 4s));
    CPPUNIT_ASSERT(debounce.take(start + 5s));
    debounce.retry(start, 5s);
    debounce.event(start + 1s);
    CPPUNIT_ASSERT(debounce.due() == start + 1100ms);
  }

  void loopback_address_is_listed() {
    const auto addresses = read_interface_addresses();
    CPPUNIT_ASSERT_MESSAGE(addresses.status().message(), addresses.ok());
    CPPUNIT_ASSERT(std::is_sorted(addresses->begin(), addresses->end()));
    const auto loopback = std::find_if(addresses->begin(), addresses->end(), [](const InterfaceAddress& entry) {
      return entry.address == lib::IpAddress::loopback(Family::ipv4);
    });
    // A build container may have its loopback interface down, and then no address.
    if (loopback == addresses->end()) return;
    CPPUNIT_ASSERT_EQUAL(std::string("lo"), loopback->interface_name);
    CPPUNIT_ASSERT(loopback->loopback_interface);
    CPPUNIT_ASSERT(loopback->scope == AddressScope::host);
    CPPUNIT_ASSERT_EQUAL(8, loopback->prefix_length);
  }

  void monitor_returns_current_addresses_and_stops() {
    const InterfaceAddresses now{{lib::IpAddress::loopback(Family::ipv4), 8, AddressScope::host, true, "lo"}};
    AddressMonitor::Options options;
    options.read = [&]() -> lib::Result<InterfaceAddresses> { return now; };
    options.changed = [](const InterfaceAddresses&) {};
    AddressMonitor monitor(options);
    const auto started = monitor.start();
    CPPUNIT_ASSERT_MESSAGE(started.status().message(), started.ok());
    CPPUNIT_ASSERT(*started == now);
    monitor.stop();
    monitor.stop();
  }

  void monitor_start_fails_if_reading_fails() {
    AddressMonitor::Options options;
    options.read = []() -> lib::Result<InterfaceAddresses> { return lib::unavailable("no netlink"); };
    AddressMonitor monitor(options);
    CPPUNIT_ASSERT_EQUAL(std::string("no netlink"), monitor.start().status().message());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(NodeKernelTest);

}  // namespace address_monitor_test
}  // namespace sluice::node
