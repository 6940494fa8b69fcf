// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The settings of the backend and kube-proxy's for its mode: values, errors, documentation.
#include "plugins/ipvs/settings.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <string>

#include "sluice/sdk/address.hpp"
#include "plugins/ipvs/option_table.hpp"
#include "test/unit/common/backend_settings.hpp"

namespace sluice::ipvs {
namespace settings_test {

using namespace std::chrono_literals;
using test::AsOptions;
using test::Given;

Settings read(const Given& given, abi::Family family = abi::Family::kIpv4) {
  return read_settings(AsOptions(given), family);
}

std::string refusal(const Given& given) {
  return test::refusal_of([&] { read(given); });
}

class IpvsSettingsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(IpvsSettingsTest);
  CPPUNIT_TEST(without_options_defaults);
  CPPUNIT_TEST(values_the_daemon_always_sends_are_the_defaults);
  CPPUNIT_TEST(every_key_is_read);
  CPPUNIT_TEST(seconds_are_rounded_up);
  CPPUNIT_TEST(cidrs_of_this_family_are_kept);
  CPPUNIT_TEST(values_out_of_range_are_rejected);
  CPPUNIT_TEST(unknown_keys_are_rejected_by_name);
  CPPUNIT_TEST(every_key_is_described);
  CPPUNIT_TEST_SUITE_END();

  static void check_defaults(const Settings& settings) {
    CPPUNIT_ASSERT_EQUAL(std::string("rr"), settings.scheduler);
    CPPUNIT_ASSERT(settings.exclude_cidrs.empty());
    CPPUNIT_ASSERT(!settings.strict_arp);
    CPPUNIT_ASSERT(settings.tcp_timeout == 0s && settings.tcp_fin_timeout == 0s && settings.udp_timeout == 0s);
    CPPUNIT_ASSERT(settings.when_removed == WhenRemoved::kKeep);
    CPPUNIT_ASSERT(settings.drain == 30s);
  }

  void without_options_defaults() { check_defaults(read({})); }

  void values_the_daemon_always_sends_are_the_defaults() {
    check_defaults(read({{"ipvs.scheduler", ""},
                         {"ipvs.excludeCIDRs", ""},
                         {"ipvs.strictARP", "false"},
                         {"ipvs.tcpTimeout", "0s"},
                         {"ipvs.tcpFinTimeout", "0s"},
                         {"ipvs.udpTimeout", "0s"}}));
    Given defaults;
    for (const abi::OptionSpec& spec : kOptions) {
      for (auto& value : test::default_of(spec)) defaults.push_back(std::move(value));
    }
    check_defaults(read(defaults));
  }

  void every_key_is_read() {
    const Settings settings = read({{"ipvs.scheduler", "wlc"},
                                    {"ipvs.strictARP", "true"},
                                    {"ipvs.tcpTimeout", "15m0s"},
                                    {"ipvs.tcpFinTimeout", "2m0s"},
                                    {"ipvs.udpTimeout", "5m"},
                                    {"whenEndpointRemoved", "drain"},
                                    {"drainTimeout", "1m30s"}});
    CPPUNIT_ASSERT_EQUAL(std::string("wlc"), settings.scheduler);
    CPPUNIT_ASSERT(settings.strict_arp);
    CPPUNIT_ASSERT(settings.tcp_timeout == 15min && settings.tcp_fin_timeout == 2min && settings.udp_timeout == 5min);
    CPPUNIT_ASSERT(settings.when_removed == WhenRemoved::kDrain);
    CPPUNIT_ASSERT(settings.drain == 90s);
    CPPUNIT_ASSERT(read({{"whenEndpointRemoved", "reset"}}).when_removed == WhenRemoved::kReset);
    CPPUNIT_ASSERT(read({{"whenEndpointRemoved", "keep"}}).when_removed == WhenRemoved::kKeep);
  }

  void seconds_are_rounded_up() {
    CPPUNIT_ASSERT(read({{"ipvs.udpTimeout", "1ms"}}).udp_timeout == 1s);
    CPPUNIT_ASSERT(read({{"ipvs.udpTimeout", "1500ms"}}).udp_timeout == 2s);
    CPPUNIT_ASSERT(read({{"ipvs.udpTimeout", "2s"}}).udp_timeout == 2s);
    CPPUNIT_ASSERT(read({{"drainTimeout", "0.2s"}}).drain == 1s);
  }

  void cidrs_of_this_family_are_kept() {
    const Given given{{"ipvs.excludeCIDRs", "10.1.2.3/8,fd00::1/64,192.0.2.7/32,::/0"}};
    std::string text;
    for (const abi::Family family : {abi::Family::kIpv4, abi::Family::kIpv6}) {
      for (const abi::Prefix& prefix : read(given, family).exclude_cidrs) text += sdk::to_string(prefix, family) + " ";
    }
    CPPUNIT_ASSERT_EQUAL(std::string("10.0.0.0/8 192.0.2.7/32 fd00::/64 ::/0 "), text);
  }

  void values_out_of_range_are_rejected() {
    CPPUNIT_ASSERT_EQUAL(std::string("whenEndpointRemoved: 'never' is not a valid value; allowed: keep, drain or "
                                     "reset"),
                         refusal({{"whenEndpointRemoved", "never"}}));
    for (const auto& [key, value] : Given{{"drainTimeout", "25h"},
                                          {"drainTimeout", "-1s"},
                                          {"drainTimeout", "5"},
                                          {"ipvs.tcpTimeout", "600h"},
                                          {"ipvs.udpTimeout", "soon"},
                                          {"ipvs.tcpFinTimeout", "556h"},
                                          {"ipvs.strictARP", "yes"},
                                          {"ipvs.scheduler", "Round Robin"},
                                          {"ipvs.scheduler", "abcdefghijklmnop"},
                                          {"ipvs.excludeCIDRs", "10.0.0.0"},
                                          {"ipvs.excludeCIDRs", "10.0.0.0/33"},
                                          {"ipvs.excludeCIDRs", "10.0.0.0/8,,fd00::/64"},
                                          {"ipvs.excludeCIDRs", "fd00::/129"}}) {
      const std::string error = refusal({{key, value}});
      CPPUNIT_ASSERT_MESSAGE(key + "=" + value + " gave " + error, error.starts_with(key + ": '" + value + "' is not"));
    }
  }

  void unknown_keys_are_rejected_by_name() {
    CPPUNIT_ASSERT_EQUAL(std::string("drainTimeouts: unknown setting; did you mean drainTimeout?"),
                         refusal({{"drainTimeouts", "1s"}}));
    const std::string other = refusal({{"queues", "1"}});
    CPPUNIT_ASSERT_MESSAGE(other, other.starts_with("queues: unknown setting; allowed: "));
    CPPUNIT_ASSERT_EQUAL(std::string("drainTimeout[0]: is a list or a map; allowed for drainTimeout: a duration from "
                                     "0s to 24h"),
                         refusal({{"drainTimeout[0]", "1s"}}));
  }

  void every_key_is_described() {
    test::expect_described(sdk::array(kOptions));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(IpvsSettingsTest);

}  // namespace settings_test
}  // namespace sluice::ipvs
