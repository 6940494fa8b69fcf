// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Every setting of the backend: default, valid values, and invalid ones with the exact error.
#include "plugins/userspace/settings.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <functional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "sluice/sdk/address.hpp"
#include "plugins/userspace/option_table.hpp"
#include "test/unit/common/backend_settings.hpp"

namespace sluice::userspace {
namespace settings_test {

using namespace std::chrono_literals;
using test::AsOptions;
using test::Given;

Settings read(const Given& given, abi::Family family = abi::Family::kIpv4) {
  return read_settings(AsOptions(given), family);
}

std::string refusal(const Given& given, abi::Family family = abi::Family::kIpv4) {
  return test::refusal_of([&] { read(given, family); });
}

// A list in brackets becomes key[0], key[1], …
Given written(const std::string& key, const std::string& value) {
  if (!value.starts_with('[')) return {{key, value}};
  Given out;
  std::istringstream parts(value.substr(1, value.size() - 2));
  for (std::string part; std::getline(parts, part, ',');) {
    out.emplace_back(key + "[" + std::to_string(out.size()) + "]", part.substr(part.find_first_not_of(' ')));
  }
  return out;
}

struct Good {
  std::string value;
  std::function<bool(const Settings&)> arrives;
};
struct Case {
  std::string key;
  std::vector<Good> good;
  std::vector<std::string> bad;  // of a list: one element
};
using S = const Settings&;

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"balance",
       {{"leastConnections", [](S s) { return s.balancer.balance == Balance::kLeastConnections; }},
        {"powerOfTwoChoices", [](S s) { return s.balancer.balance == Balance::kTwoChoices; }}},
       {"", "roundrobin", "random"}},
      {"dialTimeouts",
       {{"[1ms]", [](S s) { return s.relay.dial_timeouts == std::vector{1ms}; }},
        {"[1s, 1m, 2.5s]",
         [](S s) {
           return s.relay.dial_timeouts == std::vector<std::chrono::milliseconds>{1s, 1min, 2500ms};
         }},
        {"[1s, 2s, 3s, 4s, 5s, 6s, 7s, 8s, 9s, 10s, 11s, 12s, 13s, 14s, 15s, 16s]",
         [](S s) { return s.relay.dial_timeouts.size() == 16 && s.relay.dial_timeouts[9] == 10s; }}},
       {"", "0s", "61s", "1", "-1s"}},
      {"drainTimeout",
       {{"0s", [](S s) { return s.relay.drain == 0s; }}, {"24h", [](S s) { return s.relay.drain == 24h; }}},
       {"", "24h1ms", "30", "soon"}},
      {"maxAffinityClients",
       {{"1", [](S s) { return s.balancer.max_affinity_clients == 1; }},
        {"10000000", [](S s) { return s.balancer.max_affinity_clients == 10'000'000; }}},
       {"", "0", "10000001", "1k", "-1"}},
      {"maxConnections",
       {{"1", [](S s) { return s.relay.max_connections == 1; }},
        {"10000000", [](S s) { return s.relay.max_connections == 10'000'000; }}},
       {"", "10000001", "1.5", "-1"}},
      {"maxUDPClients",
       {{"1", [](S s) { return s.relay.max_udp_clients == 1; }},
        {"10000000", [](S s) { return s.relay.max_udp_clients == 10'000'000; }}},
       {"", "0", "10000001"}},
      {"outlierFailures",
       {{"0", [](S s) { return s.balancer.outliers.failures == 0; }},
        {"1000", [](S s) { return s.balancer.outliers.failures == 1000; }}},
       {"", "1001", "never"}},
      {"outlierFirstPause",
       {{"1ms", [](S s) { return s.balancer.outliers.first_pause == 1ms; }},
        {"1m", [](S s) { return s.balancer.outliers.first_pause == 1min; }}},
       {"", "0s", "25h"}},
      {"outlierLongestPause",
       {{"1s", [](S s) { return s.balancer.outliers.longest_pause == 1s; }},
        {"24h", [](S s) { return s.balancer.outliers.longest_pause == 24h; }}},
       {"", "0s", "25h"}},
      {"pipeSize",
       {{"4096", [](S s) { return s.relay.pipe_bytes == 4096; }},
        {"16777216", [](S s) { return s.relay.pipe_bytes == 16777216; }}},
       {"", "4095", "16777217", "64Ki"}},
      {"proxyProtocol",
       {{"[shop/cart, shop/cart:http, mail/*]",
         [](S s) {
           return s.proxy_protocol == std::vector<std::string>{"shop/cart", "shop/cart:http", "mail/*"};
         }}},
       {"", "cart", "/cart", "shop/", "*/cart", "*", "shop/*:http", "shop/cart:", "shop/Cart", "a/b/c"}},
      {"stopDrainTimeout",
       {{"5m", [](S s) { return s.relay.stop_drain == 5min; }}, {"24h", [](S s) { return s.relay.stop_drain == 24h; }}},
       {"", "24h1ms", "-1s", "5"}},
      {"tcpIdleTimeout",
       {{"1ms", [](S s) { return s.relay.tcp_idle_timeout == 1ms; }},
        {"720h", [](S s) { return s.relay.tcp_idle_timeout == 720h; }}},
       {"", "721h", "5"}},
      {"tcpKeepalive",
       {{"0s", [](S s) { return s.relay.tcp_keepalive == 0s; }},
        {"1s", [](S s) { return s.relay.tcp_keepalive == 1s; }},
        {"9h", [](S s) { return s.relay.tcp_keepalive == 9h; }}},
       {"", "9h1s"}},
      {"threads",
       {{"1", [](S s) { return s.relay.threads == 1; }}, {"256", [](S s) { return s.relay.threads == 256; }}},
       {"", "257", "0x2", "two"}},
      {"userspace.listenAddress",
       {{"192.0.2.1",
         [](S s) { return s.listen_address && sdk::to_string(*s.listen_address, abi::Family::kIpv4) == "192.0.2.1"; }},
        {"", [](S s) { return !s.listen_address; }},
        {"::", [](S s) { return !s.listen_address; }},
        {"2001:db8::1", [](S s) { return !s.listen_address; }}},
       {"eth0", "192.0.2.1:80", "[::]"}},
      {"userspace.portRange",
       {{"0-0", [](S s) { return s.proxy_ports.any(); }},
        {"30000-32767",
         [](S s) {
           return s.proxy_ports == PortRange{30000, 32767};
         }},
        {"30000+500",
         [](S s) {
           return s.proxy_ports == PortRange{30000, 30500};
         }},
        {"8080",
         [](S s) {
           return s.proxy_ports == PortRange{8080, 8080};
         }},
        {"65535",
         [](S s) {
           return s.proxy_ports == PortRange{65535, 65535};
         }}},
       {"x", "65536", "2000-1000", "65000+600", "1-2-3", "-5", "5-", " 5"}},
      {"userspace.udpTimeout",
       {{"10s", [](S s) { return s.relay.udp_timeout == 10s; }},
        {"1ns", [](S s) { return s.relay.udp_timeout == 1ms; }},
        {"1h0m0s", [](S s) { return s.relay.udp_timeout == 1h; }}},
       {"", "0s", "10"}},
      {"whenEndpointRemoved",
       {{"drain", [](S s) { return s.relay.when_removed == WhenRemoved::kDrain; }},
        {"reset", [](S s) { return s.relay.when_removed == WhenRemoved::kReset; }}},
       {"", "Keep", "close"}},
  };
  return all;
}

bool equal(const Settings& a, const Settings& b) {
  return a.listen_address.has_value() == b.listen_address.has_value() &&
         (!a.listen_address || sdk::equal(*a.listen_address, *b.listen_address)) && a.proxy_ports == b.proxy_ports &&
         a.relay == b.relay && a.balancer == b.balancer && a.proxy_protocol == b.proxy_protocol;
}

class SettingsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(SettingsTest);
  CPPUNIT_TEST(every_key_has_a_case);
  CPPUNIT_TEST(no_options_equal_the_documented_defaults);
  CPPUNIT_TEST(valid_values_set_only_their_field);
  CPPUNIT_TEST(invalid_values_are_rejected_with_the_allowed_ones);
  CPPUNIT_TEST(the_listen_address_of_the_other_family_is_every_address);
  CPPUNIT_TEST(localhost_is_rejected_in_either_family);
  CPPUNIT_TEST(contradicting_pauses_are_rejected);
  CPPUNIT_TEST(a_list_too_long_is_rejected);
  CPPUNIT_TEST(unknown_keys_are_rejected_by_name);
  CPPUNIT_TEST(a_list_instead_of_a_value_is_rejected);
  CPPUNIT_TEST(proxy_protocol_matches_what_it_names);
  CPPUNIT_TEST(times_are_rounded_up_and_keepalive_is_whole_seconds);
  CPPUNIT_TEST(every_key_is_described);
  CPPUNIT_TEST_SUITE_END();

  void every_key_has_a_case() {
    std::set<std::string> known, tested;
    for (const abi::OptionSpec& spec : kOptions) known.emplace(sdk::option_name(spec));
    for (const Case& one : cases()) tested.insert(one.key);
    CPPUNIT_ASSERT(known == tested);
  }

  void no_options_equal_the_documented_defaults() {
    CPPUNIT_ASSERT(equal(Settings{}, read({})));
    Given all;
    for (const abi::OptionSpec& spec : kOptions) {
      const Given given = test::default_of(spec);
      CPPUNIT_ASSERT_MESSAGE(std::string(sdk::option_name(spec)), equal(Settings{}, read(given)));
      all.insert(all.end(), given.begin(), given.end());
    }
    CPPUNIT_ASSERT(equal(Settings{}, read(all)));
  }

  void valid_values_set_only_their_field() {
    for (const Case& one : cases()) {
      for (const Good& good : one.good) {
        const std::string what = one.key + ": " + good.value;
        const Given given = written(one.key, good.value);
        CPPUNIT_ASSERT_EQUAL_MESSAGE(what, std::string(), refusal(given));
        CPPUNIT_ASSERT_MESSAGE(what, good.arrives(read(given)));
        for (const Case& other : cases()) {
          if (other.key == one.key || other.good.empty()) continue;
          if (other.key.starts_with("outlier") && one.key.starts_with("outlier")) continue;  // they bound each other
          Given both = written(other.key, other.good[0].value);
          both.insert(both.end(), given.begin(), given.end());
          const Settings settings = read(both);
          CPPUNIT_ASSERT_MESSAGE(what + " beside " + other.key,
                                 good.arrives(settings) && other.good[0].arrives(settings));
        }
      }
    }
  }

  void invalid_values_are_rejected_with_the_allowed_ones() {
    for (const abi::OptionSpec& spec : kOptions) {
      for (const Case& one : cases()) {
        if (one.key != sdk::option_name(spec)) continue;
        CPPUNIT_ASSERT_MESSAGE(one.key, !one.bad.empty());
        const std::string name = one.key + (sdk::is_list(spec) ? "[0]" : "");
        for (const std::string& bad : one.bad) {
          CPPUNIT_ASSERT_EQUAL(name + ": '" + bad + "' is not a valid value; allowed: " + sdk::allowed_values(spec),
                               refusal({{name, bad}}));
        }
      }
    }
    // One exact message as an example of the format.
    CPPUNIT_ASSERT_EQUAL(
        std::string("whenEndpointRemoved: 'close' is not a valid value; allowed: keep, drain or reset"),
        refusal({{"whenEndpointRemoved", "close"}}));
  }

  void the_listen_address_of_the_other_family_is_every_address() {
    const Given given{{"userspace.listenAddress", "2001:db8::1"}};
    CPPUNIT_ASSERT(!read(given, abi::Family::kIpv4).listen_address);
    const auto address = read(given, abi::Family::kIpv6).listen_address;
    CPPUNIT_ASSERT(address && sdk::to_string(*address, abi::Family::kIpv6) == "2001:db8::1");
    CPPUNIT_ASSERT(!read({{"userspace.listenAddress", "192.0.2.1"}}, abi::Family::kIpv6).listen_address);
  }

  void localhost_is_rejected_in_either_family() {
    for (const abi::Family family : {abi::Family::kIpv4, abi::Family::kIpv6}) {
      for (const std::string address : {"127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"}) {
        CPPUNIT_ASSERT_EQUAL("userspace.listenAddress: '" + address +
                                 "' is a loopback address; allowed: an address of this node, or 0.0.0.0 or ::",
                             refusal({{"userspace.listenAddress", address}}, family));
      }
    }
  }

  void contradicting_pauses_are_rejected() {
    CPPUNIT_ASSERT_EQUAL(std::string("outlierFirstPause: '2m': the first pause of 120000 ms is longer than the longest "
                                     "one of 60000 ms; set outlierFirstPause to at most outlierLongestPause"),
                         refusal({{"outlierFirstPause", "2m"}}));
    CPPUNIT_ASSERT_EQUAL(std::string("outlierLongestPause: '1ms': the first pause of 1000 ms is longer than the "
                                     "longest one of 1 ms; set outlierFirstPause to at most outlierLongestPause"),
                         refusal({{"outlierLongestPause", "1ms"}}));
    CPPUNIT_ASSERT_EQUAL(std::string(), refusal({{"outlierFirstPause", "2m"}, {"outlierLongestPause", "2m"}}));
  }

  void a_list_too_long_is_rejected() {
    Given given;
    for (int i = 0; i < 17; ++i) given.emplace_back("dialTimeouts[" + std::to_string(i) + "]", "1s");
    CPPUNIT_ASSERT_EQUAL(std::string("dialTimeouts[16]: the list is too long; allowed: a list of at most 16 elements, "
                                     "each a duration from 1ms to 1m"),
                         refusal(given));
  }

  void unknown_keys_are_rejected_by_name() {
    const auto unknown = [](const std::string& key) { return refusal({{key, "1"}}); };
    CPPUNIT_ASSERT_EQUAL(std::string("thread: unknown setting; did you mean threads?"), unknown("thread"));
    CPPUNIT_ASSERT_EQUAL(std::string("maxUdpClients: unknown setting; did you mean maxUDPClients?"),
                         unknown("maxUdpClients"));
    CPPUNIT_ASSERT_EQUAL(std::string("dialTimeout[0]: unknown setting; did you mean dialTimeouts?"),
                         unknown("dialTimeout[0]"));
    const std::string other = unknown("queues.depth");
    CPPUNIT_ASSERT_MESSAGE(other, other.starts_with("queues.depth: unknown setting; allowed: "));
    for (const abi::OptionSpec& spec : kOptions) {
      CPPUNIT_ASSERT_MESSAGE(other, other.find(" " + std::string(sdk::option_name(spec))) != std::string::npos);
    }
  }

  void a_list_instead_of_a_value_is_rejected() {
    CPPUNIT_ASSERT_EQUAL(
        std::string("threads[0]: is a list or a map; allowed for threads: a number of threads from 0 to 256"),
        refusal({{"threads[0]", "1"}}));
    CPPUNIT_ASSERT_EQUAL(std::string("balance.kind: is a list or a map; allowed for balance: roundRobin, "
                                     "leastConnections or powerOfTwoChoices"),
                         refusal({{"balance.kind", "1"}}));
    CPPUNIT_ASSERT_EQUAL(
        std::string("dialTimeouts: is not a list; allowed for dialTimeouts: a list of at most 16 elements, each a duration "
                    "from 1ms to 1m"),
        refusal({{"dialTimeouts", "1s"}}));
    CPPUNIT_ASSERT_EQUAL(
        std::string("dialTimeouts[x]: is not a list; allowed for dialTimeouts: a list of at most 16 elements, each a "
                    "duration from 1ms to 1m"),
        refusal({{"dialTimeouts[x]", "1s"}}));
  }

  void proxy_protocol_matches_what_it_names() {
    const Settings settings = read(written("proxyProtocol", "[shop/cart, shop/till:http, mail/*]"));
    CPPUNIT_ASSERT(settings.uses_proxy_protocol("shop", "cart", ""));
    CPPUNIT_ASSERT(settings.uses_proxy_protocol("shop", "cart", "http"));
    CPPUNIT_ASSERT(settings.uses_proxy_protocol("shop", "till", "http"));
    CPPUNIT_ASSERT(settings.uses_proxy_protocol("mail", "anything", "smtp"));
    CPPUNIT_ASSERT(!settings.uses_proxy_protocol("shop", "till", "https"));
    CPPUNIT_ASSERT(!settings.uses_proxy_protocol("shop", "till", ""));
    CPPUNIT_ASSERT(!settings.uses_proxy_protocol("shop", "cart2", "http"));
    CPPUNIT_ASSERT(!settings.uses_proxy_protocol("sho", "cart", ""));
    CPPUNIT_ASSERT(!settings.uses_proxy_protocol("mailbox", "anything", ""));
    CPPUNIT_ASSERT(!Settings{}.uses_proxy_protocol("shop", "cart", ""));
  }

  void times_are_rounded_up_and_keepalive_is_whole_seconds() {
    CPPUNIT_ASSERT(read({{"tcpIdleTimeout", "1ns"}}).relay.tcp_idle_timeout == 1ms);
    CPPUNIT_ASSERT(read({{"tcpIdleTimeout", "1001us"}}).relay.tcp_idle_timeout == 2ms);
    CPPUNIT_ASSERT_EQUAL(std::string("tcpKeepalive: '1500ms' is not a whole number of seconds; allowed: a duration from 0s "
                                     "to 9h"),
                         refusal({{"tcpKeepalive", "1500ms"}}));
  }

  void every_key_is_described() {
    test::expect_described(sdk::array(kOptions));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(SettingsTest);

}  // namespace settings_test
}  // namespace sluice::userspace
