// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "sluice/sdk/metrics.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <map>

#include "test/unit/common/fake_host.hpp"

namespace sluice::sdk {
namespace metrics_test {

constexpr abi::StringView kResultLabel[] = {view("result")};
constexpr double kBounds[] = {0.1, 1};
constexpr auto kWrites = counter("dpu_writes_total", "Number of writes by result.", "result: ok or failed.",
                                 array(kResultLabel));
constexpr auto kRules = gauge("dpu_rules", "Number of rules.", "", {}, 0);
constexpr auto kWait = histogram("dpu_wait_seconds", "Time that a write waits.", array(kBounds));
constexpr abi::MetricSpec kMetrics[] = {kWrites, kRules, kWait};
constexpr abi::ArrayView kDeclared = array(kMetrics);  // as in a descriptor: a constant expression
static_assert(kDeclared.count == 3 && kDeclared.stride == sizeof(abi::MetricSpec));

// A daemon of minor 1.
class DeclaringHost final : public abi::HostMetrics {
 public:
  class One final : public abi::MetricSeries {
   public:
    ~One() = default;
    void add(double value) noexcept override { text += "add " + std::to_string(value) + ";"; }
    void set(double value) noexcept override { text += "set " + std::to_string(value) + ";"; }
    void observe(double value) noexcept override { text += "observe " + std::to_string(value) + ";"; }
    std::string text;
  };
  ~DeclaringHost() = default;
  abi::MetricSeries* series(abi::StringView name, abi::ArrayView label_values, abi::Error*) noexcept override {
    std::string key(text(name));
    if (key == "dpu_rules") return nullptr;  // too many
    for (const abi::StringView& value : range<abi::StringView>(label_values)) key.append(" ").append(text(value));
    return &all[key];
  }
  void remove(abi::MetricSeries* series) noexcept override {
    removed += series == &all["dpu_writes_total failed"] ? "failed" : "?";
  }
  std::map<std::string, One> all;
  std::string removed;
};

class MetricsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(MetricsTest);
  CPPUNIT_TEST(series_are_those_of_the_extension);
  CPPUNIT_TEST(a_daemon_without_the_extension_gets_labels_as_text);
  CPPUNIT_TEST(without_a_host_nothing_is_reported);
  CPPUNIT_TEST_SUITE_END();

  void series_are_those_of_the_extension() {
    DeclaringHost declaring;
    test::FakeHost host;
    host.declared_metrics = &declaring;
    const Metrics metrics(&host, abi::Family::kIpv6);
    Series failed = metrics.series(kWrites, {"failed"});
    failed.add(2);
    failed.set(7);
    metrics.series(kWait).observe(0.5);
    metrics.series(kRules).set(1);  // the daemon refused it
    CPPUNIT_ASSERT_EQUAL(std::string("add 2.000000;set 7.000000;"), declaring.all["dpu_writes_total failed"].text);
    CPPUNIT_ASSERT_EQUAL(std::string("observe 0.500000;"), declaring.all["dpu_wait_seconds"].text);
    metrics.remove(failed);
    failed.add(1);
    CPPUNIT_ASSERT_EQUAL(std::string("failed"), declaring.removed);
    CPPUNIT_ASSERT_EQUAL(std::string("add 2.000000;set 7.000000;"), declaring.all["dpu_writes_total failed"].text);
    CPPUNIT_ASSERT(host.metrics.empty());
  }

  void a_daemon_without_the_extension_gets_labels_as_text() {
    test::FakeHost host;
    const Metrics metrics(&host, abi::Family::kIpv6);
    Series odd = metrics.series(kWrites, {"a\"b\\c\nd"});
    const std::string name = "dpu_writes_total{result=\"a\\\"b\\\\c\\nd\",ip_family=\"IPv6\"}";
    CPPUNIT_ASSERT_EQUAL_MESSAGE("it exists", std::size_t(1), host.metrics.count(name));
    odd.add(2);
    odd.add(3);
    CPPUNIT_ASSERT_EQUAL(5.0, host.metrics.at(name));
    odd.set(40);
    CPPUNIT_ASSERT_EQUAL(40.0, host.metrics.at(name));
    const Series rules = metrics.series(kRules);
    CPPUNIT_ASSERT_EQUAL_MESSAGE("a gauge has no value yet", std::size_t(0), host.metrics.count("dpu_rules{}"));
    rules.set(4);
    rules.add(-1);
    CPPUNIT_ASSERT_EQUAL(3.0, host.metrics.at("dpu_rules{}"));
    metrics.series(kWait).observe(0.25);
    CPPUNIT_ASSERT_EQUAL(0.25, host.metrics.at("dpu_wait_seconds{ip_family=\"IPv6\"}"));
    metrics.remove(odd);
    CPPUNIT_ASSERT_EQUAL(0.0, host.metrics.at(name));
  }

  void without_a_host_nothing_is_reported() {
    const Metrics metrics(nullptr, abi::Family::kIpv4);
    Series none = metrics.series(kWrites, {"ok"});
    none.add(1);
    none.set(1);
    none.observe(1);
    metrics.remove(none);
    Series().add(1);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(MetricsTest);

}  // namespace metrics_test
}  // namespace sluice::sdk
