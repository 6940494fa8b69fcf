// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/health/proxy_health.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

namespace sluice::observe {
namespace proxy_health_test {

using namespace std::chrono_literals;
using lib::Family;

constexpr const char* kNow = "2026-02-03T04:05:06.789Z";
constexpr const char* kNewest = "2026-02-03T04:00:00Z";

WallTime at(std::chrono::nanoseconds since) { return WallTime(std::chrono::duration_cast<WallTime::duration>(since)); }

const WallTime kWallNow = at(1'770'091'506'789ms);
const WallTime kOlder = at(1'770'091'199s);
const WallTime kNewer = at(1'770'091'200s);

struct Row {
  const char* name;
  std::optional<lib::Clock::Duration> pending4;
  std::optional<lib::Clock::Duration> pending6;
  bool eligible;
  int healthz;
  int livez;
  bool healthy;
  bool healthy4;
  bool healthy6;
};

// The limit is 60 s.
const Row kRows[] = {
    {"idle for hours", {}, {}, true, 200, 200, true, true, true},
    {"pending for nothing", 0ns, {}, true, 200, 200, true, true, true},
    {"pending for 59 s", 59s, {}, true, 200, 200, true, true, true},
    {"pending for 59.999999999 s", 60s - 1ns, 60s - 1ns, true, 200, 200, true, true, true},
    {"pending for 60 s", 60s, {}, true, 503, 503, false, false, true},
    {"IPv6 late", 1s, 1h, true, 503, 503, false, true, false},
    {"both late", 61s, 61s, true, 503, 503, false, false, false},
    {"node about to go, or never seen", {}, {}, false, 503, 200, true, true, true},
    {"late on a node about to go", 60s, {}, false, 503, 503, false, false, true},
};

class ProxyHealthTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ProxyHealthTest);
  CPPUNIT_TEST(table);
  CPPUNIT_TEST(family_without_a_running_loop);
  CPPUNIT_TEST(no_family_at_all);
  CPPUNIT_TEST(headers);
  CPPUNIT_TEST(ages);
  CPPUNIT_TEST(a_family_without_a_sync_is_pending_since_the_start);
  CPPUNIT_TEST(readyz_needs_a_sync_and_no_error_in_every_family);
  CPPUNIT_TEST_SUITE_END();

  static std::string word(bool value) { return value ? "true" : "false"; }

  void table() {  // cases 110, 111, 112
    for (const Row& row : kRows) {
      const ProxyHealth health{
          {{Family::ipv4, kNewer, row.pending4}, {Family::ipv6, kOlder, row.pending6}}, 60s, row.eligible, kWallNow};
      const HttpResponse ready = healthz(health);
      const HttpResponse alive = livez(health);
      CPPUNIT_ASSERT_EQUAL_MESSAGE(row.name, row.healthz, ready.status);
      CPPUNIT_ASSERT_EQUAL_MESSAGE(row.name, row.livez, alive.status);
      CPPUNIT_ASSERT_EQUAL_MESSAGE(row.name, row.healthy, proxy_healthy(health));
      const std::string rest =
          ",\"healthy\":" + word(row.healthy) + ",\"status\":{\"IPv4\":{\"lastUpdated\":\"" + kNewest +
          "\",\"healthy\":" + word(row.healthy4) +
          "},\"IPv6\":{\"lastUpdated\":\"2026-02-03T03:59:59Z\",\"healthy\":" + word(row.healthy6) + "}}}";
      const auto begin = [](int status) {
        return std::string("{\"lastUpdated\":\"") + (status == 200 ? kNow : kNewest) + "\",\"currentTime\":\"" + kNow +
               "\"";
      };
      CPPUNIT_ASSERT_EQUAL_MESSAGE(row.name, begin(row.healthz) + ",\"nodeEligible\":" + word(row.eligible) + rest,
                                   ready.body);
      CPPUNIT_ASSERT_EQUAL_MESSAGE(row.name, begin(row.livez) + rest, alive.body);
    }
  }

  void family_without_a_running_loop() {
    const ProxyHealth health{{{Family::ipv4, kNewer, {}}, {Family::ipv6, {}, 2h}}, 60s, true, kWallNow};
    CPPUNIT_ASSERT_EQUAL(std::string("{\"lastUpdated\":\"") + kNow + "\",\"currentTime\":\"" + kNow +
                             "\",\"healthy\":true,\"status\":{\"IPv4\":{\"lastUpdated\":\"" + kNewest +
                             "\",\"healthy\":true}}}",
                         livez(health).body);
  }

  void no_family_at_all() {
    const HttpResponse answer = healthz({{}, 60s, false, kWallNow});
    CPPUNIT_ASSERT_EQUAL(503, answer.status);
    CPPUNIT_ASSERT_EQUAL(std::string("{\"lastUpdated\":\"0001-01-01T00:00:00Z\",\"currentTime\":\"") + kNow +
                             "\",\"nodeEligible\":false,\"healthy\":true,\"status\":{}}",
                         answer.body);
  }

  void headers() {
    for (const HttpResponse& answer : {healthz({}), livez({}), readyz({}), sync_ages({})}) {
      CPPUNIT_ASSERT_EQUAL(std::string("application/json"), answer.content_type);
      CPPUNIT_ASSERT_EQUAL(std::size_t(1), answer.headers.size());
      CPPUNIT_ASSERT_EQUAL(std::string("X-Content-Type-Options"), answer.headers[0].first);
      CPPUNIT_ASSERT_EQUAL(std::string("nosniff"), answer.headers[0].second);
    }
  }

  void ages() {
    const ProxyHealth health{
        {{Family::ipv4, kNewer, 1500ms, kNewer, 1h}, {Family::ipv6, {}, {}}}, 60s, false, kWallNow};
    const HttpResponse answer = sync_ages(health);
    CPPUNIT_ASSERT_EQUAL(200, answer.status);
    CPPUNIT_ASSERT_EQUAL(std::string("{\"currentTime\":\"") + kNow +
                             "\",\"families\":{\"IPv4\":{\"oldestPendingSeconds\":1.500,"
                             "\"oldestPendingSince\":\"2026-02-03T04:05:05.289Z\",\"lastUpdated\":\"" +
                             kNewest +
                             "\"},\"IPv6\":{\"oldestPendingSeconds\":0,\"oldestPendingSince\":null,"
                             "\"lastUpdated\":null}}}\n",
                         answer.body);
  }

  // kube-proxy counts the begin of its loop as an update; /sync does not.
  void a_family_without_a_sync_is_pending_since_the_start() {
    const ProxyHealth health{{{Family::ipv4, kNewer, {}, {}, 1500ms}}, 60s, false, kWallNow};
    CPPUNIT_ASSERT_EQUAL(std::string("{\"currentTime\":\"") + kNow +
                             "\",\"families\":{\"IPv4\":{\"oldestPendingSeconds\":1.500,"
                             "\"oldestPendingSince\":\"2026-02-03T04:05:05.289Z\",\"lastUpdated\":null}}}\n",
                         sync_ages(health).body);
  }

  void readyz_needs_a_sync_and_no_error_in_every_family() {
    const auto ready = [](const FamilyHealth& second) {
      return readyz({{{Family::ipv4, kNewer, {}, kNewer, 1h}, second}, 60s, false, kWallNow});
    };
    const HttpResponse good = ready({Family::ipv6, kNewer, 2h, kNewer, 1h});
    CPPUNIT_ASSERT_EQUAL(200, good.status);
    CPPUNIT_ASSERT_EQUAL(std::string("{\"ready\":true,\"currentTime\":\"") + kNow +
                             "\",\"families\":{\"IPv4\":{\"ready\":true},\"IPv6\":{\"ready\":true}}}\n",
                         good.body);
    const HttpResponse never = ready({Family::ipv6, kNewer, {}, {}, 1h});
    CPPUNIT_ASSERT_EQUAL(503, never.status);
    CPPUNIT_ASSERT_EQUAL(
        std::string("{\"ready\":false,\"currentTime\":\"") + kNow +
            "\",\"families\":{\"IPv4\":{\"ready\":true},\"IPv6\":{\"ready\":false,\"reason\":\"no successful "
            "sync since the start\"}}}\n",
        never.body);
    const HttpResponse failing = ready({Family::ipv6, kNewer, {}, kNewer, 1h, "no \xff space"});
    CPPUNIT_ASSERT_EQUAL(503, failing.status);
    CPPUNIT_ASSERT(failing.body.find("\"reason\":\"no \xef\xbf\xbd space\"") != std::string::npos);
    const HttpResponse none = readyz({{}, 60s, true, kWallNow});
    CPPUNIT_ASSERT_EQUAL(503, none.status);
    CPPUNIT_ASSERT(none.body.find("\"reason\":\"no backend is active yet\"") != std::string::npos);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ProxyHealthTest);

}  // namespace proxy_health_test
}  // namespace sluice::observe
