// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/http/host_resolver.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>
#include <netdb.h>

#include <atomic>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "test/unit/kube/http/hanging_lookup.hpp"
#include "test/unit/patience.hpp"

namespace sluice::kube {
namespace host_resolver_test {

using namespace std::chrono_literals;
using test::wait_until;

bool never() { return false; }

// The timeout for responses that must arrive.
std::chrono::milliseconds patience() { return std::chrono::ceil<std::chrono::milliseconds>(test::stretched(20s)); }

class HostResolverTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(HostResolverTest);
  CPPUNIT_TEST(ip_addresses_need_no_lookup);
  CPPUNIT_TEST(lookups_of_a_hanging_name_server_are_bounded);
  CPPUNIT_TEST(callers_share_the_lookup_of_a_name);
  CPPUNIT_TEST(a_lookup_that_timed_out_is_followed_by_another);
  CPPUNIT_TEST(other_names_are_resolved_meanwhile);
  CPPUNIT_TEST(stop_ends_the_wait);
  CPPUNIT_TEST(failures_have_the_text_of_getaddrinfo);
  CPPUNIT_TEST(a_lookup_may_outlive_the_resolver);
  CPPUNIT_TEST_SUITE_END();

  static std::string message(const lib::Result<std::vector<lib::IpAddress>>& got) {
    return got ? "found " + got->at(0).to_string() : got.status().message();
  }

  void ip_addresses_need_no_lookup() {
    test::HangingLookup names;
    for (const char* host : {"192.0.2.1", "fd00::1"}) {
      CPPUNIT_ASSERT_EQUAL(std::string("found ") + host,
                           message(HostResolver(names.function()).resolve(host, 0ms, never)));
    }
    CPPUNIT_ASSERT(names.hosts().empty());
  }

  void lookups_of_a_hanging_name_server_are_bounded() {
    test::HangingLookup names;
    HostResolver resolver(names.function());
    for (std::size_t i = 0; i < 3 * HostResolver::kMostLookups; ++i) {
      const auto got = resolver.resolve("api.test", 0ms, never);
      CPPUNIT_ASSERT_EQUAL(
          i < HostResolver::kMostLookups
              ? std::string("the name api.test cannot be looked up: no answer from the name server; check "
                            "the name servers in /etc/resolv.conf, or use an IP address")
              : std::string("the name api.test cannot be looked up: 4 lookups still wait for the name "
                            "server, and no more are started; check the name servers in "
                            "/etc/resolv.conf, or use an IP address"),
          message(got));
      CPPUNIT_ASSERT(got.status().code() == lib::StatusCode::unavailable);
    }
    CPPUNIT_ASSERT_EQUAL(HostResolver::kMostLookups, resolver.in_progress());
    // There are exactly as many threads.
    CPPUNIT_ASSERT(wait_until([&] { return names.hosts().size() == HostResolver::kMostLookups; }));

    names.release();
    CPPUNIT_ASSERT(wait_until([&] { return resolver.in_progress() == 0; }));
    CPPUNIT_ASSERT_EQUAL(std::string("found 192.0.2.7"), message(resolver.resolve("api.test", patience(), never)));
  }

  void callers_share_the_lookup_of_a_name() {
    constexpr int kCallers = 3 * static_cast<int>(HostResolver::kMostLookups);
    test::HangingLookup names;
    HostResolver resolver(names.function());
    std::atomic<int> waiting = 0;
    std::vector<std::string> got(kCallers);
    std::vector<std::thread> callers;
    for (int i = 0; i < kCallers; ++i) {
      callers.emplace_back([&, i] {
        got[i] = message(resolver.resolve("api.test", patience(), [&waiting, first = true]() mutable {
          if (std::exchange(first, false)) ++waiting;
          return false;
        }));
      });
    }
    const bool all_wait = wait_until([&] { return waiting == kCallers; });
    const std::size_t in_progress = resolver.in_progress();
    names.release();
    for (auto& caller : callers) caller.join();
    CPPUNIT_ASSERT(all_wait);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, in_progress);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, names.hosts().size());
    for (const std::string& one : got) CPPUNIT_ASSERT_EQUAL(std::string("found 192.0.2.7"), one);
  }

  // When the name server works again, a hanging lookup does not block the next one.
  void a_lookup_that_timed_out_is_followed_by_another() {
    test::HangingLookup names;
    HostResolver resolver(names.function(1));
    CPPUNIT_ASSERT(!resolver.resolve("api.test", 0ms, never));
    // Otherwise the second one could be the one that hangs.
    CPPUNIT_ASSERT(wait_until([&] { return names.hosts().size() == 1; }));
    CPPUNIT_ASSERT_EQUAL(std::string("found 192.0.2.7"), message(resolver.resolve("api.test", patience(), never)));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, resolver.in_progress());
  }

  void other_names_are_resolved_meanwhile() {
    test::HangingLookup names;
    HostResolver resolver(names.function(1));
    CPPUNIT_ASSERT(!resolver.resolve("api.test", 0ms, [] { return true; }));
    CPPUNIT_ASSERT(wait_until([&] { return names.hosts().size() == 1; }));
    CPPUNIT_ASSERT_EQUAL(std::string("found 192.0.2.7"), message(resolver.resolve("proxy.test", patience(), never)));
    CPPUNIT_ASSERT(names.hosts() == (std::vector<std::string>{"api.test", "proxy.test"}));
  }

  void stop_ends_the_wait() {
    test::HangingLookup names;
    HostResolver resolver(names.function());
    CPPUNIT_ASSERT_EQUAL(std::string("stopped"),
                         message(resolver.resolve("api.test", patience(), [] { return true; })));
    // No caller has timed out, so the next one shares the lookup.
    CPPUNIT_ASSERT_EQUAL(std::string("stopped"),
                         message(resolver.resolve("api.test", patience(), [] { return true; })));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, resolver.in_progress());
  }

  void failures_have_the_text_of_getaddrinfo() {
    HostResolver unknown([](const std::string&) { return LookupResult{EAI_NONAME, {}}; });
    CPPUNIT_ASSERT_EQUAL(std::string("the name api.test cannot be looked up: ") + gai_strerror(EAI_NONAME),
                         message(unknown.resolve("api.test", patience(), never)));
    HostResolver empty([](const std::string&) { return LookupResult{}; });
    CPPUNIT_ASSERT_EQUAL(std::string("the name api.test has no address"),
                         message(empty.resolve("api.test", patience(), never)));
    HostResolver exhausted([](const std::string&) -> LookupResult { throw std::bad_alloc(); });
    CPPUNIT_ASSERT_EQUAL(std::string("the name api.test cannot be looked up: ") + gai_strerror(EAI_MEMORY),
                         message(exhausted.resolve("api.test", patience(), never)));
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, exhausted.in_progress());
  }

  void a_lookup_may_outlive_the_resolver() {
    test::HangingLookup names;
    {
      HostResolver resolver(names.function());
      CPPUNIT_ASSERT(!resolver.resolve("api.test", 0ms, never));
    }
    CPPUNIT_ASSERT(wait_until([&] { return names.hosts().size() == 1; }));
    CPPUNIT_ASSERT(!names.unused());
    names.release();
    CPPUNIT_ASSERT(wait_until([&] { return names.unused(); }));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(HostResolverTest);

}  // namespace host_resolver_test
}  // namespace sluice::kube
