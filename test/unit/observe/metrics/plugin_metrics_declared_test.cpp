// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Declared metrics of backends: series as handles, and their lifetimes.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <thread>

#include "core/observe/metrics/plugin_metrics.hpp"
#include "test/unit/plugin/captured_log.hpp"

namespace sluice::observe {
namespace plugin_metrics_declared_test {

using plugin::BackendMetrics;
using plugin::MetricDeclarations;
using Type = abi::MetricType;

std::shared_ptr<const MetricDeclarations> declarations() {
  MetricDeclarations out;
  out["a_total"] = {Type::kCounter, true, false, "Number of a.", "", {"table"}, {}};
  out["b"] = {Type::kGauge, false, false, "B.", "", {}, {}};
  out["c_seconds"] = {Type::kHistogram, true, false, "C.", "", {}, {0.5, 1}};
  out["kubeproxy_mine"] = {Type::kGauge, false, false, "[ALPHA] Mine", "", {}, {}};
  out["process_mine"] = {Type::kGauge, false, false, "Mine.", "", {}, {}};
  out["of_services_total"] = {Type::kCounter, false, true, "Of Services.", "", {"service"}, {}};
  out["sluice_events_total"] = {Type::kCounter, false, false, "Mine.", "", {}, {}};
  return std::make_shared<const MetricDeclarations>(std::move(out));
}

class PluginMetricsDeclaredTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(PluginMetricsDeclaredTest);
  CPPUNIT_TEST(a_series_exists_with_zero_and_is_updated);
  CPPUNIT_TEST(the_family_is_a_label);
  CPPUNIT_TEST(one_object_gets_the_same_series_again);
  CPPUNIT_TEST(refused_series_have_a_reason);
  CPPUNIT_TEST(names_of_the_daemon_stay_reserved);
  CPPUNIT_TEST(another_type_is_refused);
  CPPUNIT_TEST(wrong_updates_are_counted_and_logged_once);
  CPPUNIT_TEST(host_metric_uses_the_declaration);
  CPPUNIT_TEST(objects_share_a_series);
  CPPUNIT_TEST(a_series_outlives_its_object);
  CPPUNIT_TEST(a_removed_series_disappears_with_its_last_user);
  CPPUNIT_TEST(a_removed_series_begins_again);
  CPPUNIT_TEST(the_number_of_series_is_bounded);
  CPPUNIT_TEST(threads_update_while_a_scrape_reads);
  CPPUNIT_TEST_SUITE_END();

  PluginMetrics metrics_;

  std::unique_ptr<BackendMetrics> open(const std::string& plugin = "test", lib::Family family = lib::Family::ipv4) {
    return metrics_.open(plugin, family, declarations());
  }
  static abi::MetricSeries* series(BackendMetrics& backend, std::string_view name,
                                   const std::vector<std::string_view>& labels = {}) {
    std::string reason;
    abi::MetricSeries* const out = backend.series(name, labels, reason);
    CPPUNIT_ASSERT_EQUAL(std::string(), reason);
    CPPUNIT_ASSERT(out != nullptr);
    return out;
  }
  static std::string refusal(BackendMetrics& backend, std::string_view name,
                             const std::vector<std::string_view>& labels = {}) {
    std::string reason;
    CPPUNIT_ASSERT(backend.series(name, labels, reason) == nullptr);
    return reason;
  }
  // Every series: "name{label=value,}" → value, or the count of a histogram.
  std::map<std::string, double> all() const {
    std::map<std::string, double> out;
    for (const auto& family : metrics_.Collect()) {
      for (const auto& one : family.metric) {
        std::string key = family.name + "{";
        for (const auto& label : one.label) key += label.name + "=" + label.value + ",";
        out[key + "}"] = family.type == prometheus::MetricType::Counter ? one.counter.value
                         : family.type == prometheus::MetricType::Gauge ? one.gauge.value
                                                                        : static_cast<double>(one.histogram.sample_count);
      }
    }
    return out;
  }
  double dropped(const std::string& plugin = "test") const {
    const auto series = all();
    const auto found = series.find("sluice_plugin_metrics_dropped_total{plugin=" + plugin + ",}");
    return found == series.end() ? 0 : found->second;
  }

  void a_series_exists_with_zero_and_is_updated() {
    const auto backend = open();
    abi::MetricSeries* const counter = series(*backend, "a_total", {"nat"});
    const std::string key = "a_total{ip_family=IPv4,table=nat,}";
    CPPUNIT_ASSERT_EQUAL(0.0, all().at(key));
    counter->add(2);
    counter->add(3);
    CPPUNIT_ASSERT_EQUAL(5.0, all().at(key));
    counter->set(40);
    CPPUNIT_ASSERT_EQUAL(40.0, all().at(key));
    abi::MetricSeries* const gauge = series(*backend, "b");
    gauge->set(-1);
    gauge->add(-2);
    CPPUNIT_ASSERT_EQUAL(-3.0, all().at("b{}"));
    abi::MetricSeries* const histogram = series(*backend, "c_seconds");
    for (const double value : {0.5, 0.7, 9.0}) histogram->observe(value);
    const auto families = metrics_.Collect();
    const auto family = std::find_if(families.begin(), families.end(), [](const auto& one) { return one.name == "c_seconds"; });
    const auto& read = family->metric.at(0).histogram;
    CPPUNIT_ASSERT_EQUAL(std::string("C."), family->help);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(3), read.sample_count);
    CPPUNIT_ASSERT_DOUBLES_EQUAL(10.2, read.sample_sum, 1e-9);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), read.bucket.at(0).cumulative_count);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(2), read.bucket.at(1).cumulative_count);
    CPPUNIT_ASSERT(read.bucket.size() == 3 && std::isinf(read.bucket.at(2).upper_bound));
    CPPUNIT_ASSERT_EQUAL(0.0, dropped());
  }

  void the_family_is_a_label() {
    const auto v4 = open();
    const auto v6 = open("test", lib::Family::ipv6);
    series(*v4, "a_total", {"nat"})->add(1);
    series(*v6, "a_total", {"nat"})->add(2);
    series(*v4, "a_total", {""})->add(3);  // an empty value omits the label
    CPPUNIT_ASSERT_EQUAL(1.0, all().at("a_total{ip_family=IPv4,table=nat,}"));
    CPPUNIT_ASSERT_EQUAL(2.0, all().at("a_total{ip_family=IPv6,table=nat,}"));
    CPPUNIT_ASSERT_EQUAL(3.0, all().at("a_total{ip_family=IPv4,}"));
  }

  void one_object_gets_the_same_series_again() {
    const auto backend = open();
    CPPUNIT_ASSERT(series(*backend, "a_total", {"nat"}) == series(*backend, "a_total", {"nat"}));
    CPPUNIT_ASSERT(series(*backend, "a_total", {"nat"}) != series(*backend, "a_total", {"filter"}));
  }

  void refused_series_have_a_reason() {
    const auto backend = open();
    CPPUNIT_ASSERT_EQUAL(std::string("the plugin does not declare it"), refusal(*backend, "unknown"));
    CPPUNIT_ASSERT_EQUAL(std::string("it has 1 labels, not 0"), refusal(*backend, "a_total"));
    CPPUNIT_ASSERT_EQUAL(std::string("it has 0 labels, not 1"), refusal(*backend, "b", {"x"}));
    CPPUNIT_ASSERT(refusal(*backend, "a_total", {"\xff"}).find("is no UTF-8") != std::string::npos);
    CPPUNIT_ASSERT(refusal(*backend, "a_total", {std::string(1001, 'x')}).find("too long") != std::string::npos);
    CPPUNIT_ASSERT_EQUAL(5.0, dropped());
    const auto undeclared = metrics_.open("old", lib::Family::ipv4, nullptr);
    CPPUNIT_ASSERT_EQUAL(std::string("the plugin does not declare it"), refusal(*undeclared, "b"));
  }

  void names_of_the_daemon_stay_reserved() {
    const auto backend = open();
    series(*backend, "kubeproxy_mine")->set(1);
    CPPUNIT_ASSERT_EQUAL(std::string("the beginning of its name is reserved"), refusal(*backend, "process_mine"));
    CPPUNIT_ASSERT_EQUAL(std::string("the daemon has one of that name"), refusal(*backend, "sluice_events_total"));
    metrics_.open("old", lib::Family::ipv4, nullptr)->record(abi::MetricKind::kGaugeSet, "kubeproxy_other", "", 1);
    CPPUNIT_ASSERT_EQUAL(1.0, dropped("old"));
  }

  void another_type_is_refused() {
    const auto backend = open();
    metrics_.open("old", lib::Family::ipv4, nullptr)->record(abi::MetricKind::kCounterAdd, "b", "", 1);
    CPPUNIT_ASSERT_EQUAL(std::string("it is of another type than that name has"), refusal(*backend, "b"));
    metrics_.open("old", lib::Family::ipv4, nullptr)->record(abi::MetricKind::kGaugeSet, "c_seconds_sum", "", 1);
    CPPUNIT_ASSERT_EQUAL(std::string("a part of it would have the name of another metric"), refusal(*backend, "c_seconds"));
  }

  void wrong_updates_are_counted_and_logged_once() {
    const test::CapturedLog log;
    const auto backend = open();
    abi::MetricSeries* const counter = series(*backend, "a_total", {"nat"});
    abi::MetricSeries* const histogram = series(*backend, "c_seconds");
    for (int i = 0; i < 10; ++i) counter->add(-1);
    counter->set(std::nan(""));
    counter->observe(1);
    histogram->add(1);
    histogram->set(1);
    histogram->observe(std::nan(""));
    CPPUNIT_ASSERT_EQUAL_MESSAGE("an update does not log", std::size_t(0), log.lines().size());
    CPPUNIT_ASSERT_EQUAL(15.0, dropped());
    CPPUNIT_ASSERT_EQUAL(0.0, all().at("a_total{ip_family=IPv4,table=nat,}"));
    CPPUNIT_ASSERT_EQUAL_MESSAGE(log.text(), std::size_t(3), log.lines().size());
    CPPUNIT_ASSERT_MESSAGE(log.text(), log.text().find("metric \"a_total\" dropped: a counter does not go down") !=
                                           std::string::npos);
    counter->add(-1);
    CPPUNIT_ASSERT_EQUAL(16.0, dropped());
    CPPUNIT_ASSERT_EQUAL(std::size_t(3), log.lines().size());
  }

  void host_metric_uses_the_declaration() {
    const auto backend = open();
    backend->record(abi::MetricKind::kCounterAdd, "a_total", "table=\"nat\"", 2);  // the family is added
    backend->record(abi::MetricKind::kCounterAdd, "a_total", "table=\"nat\",ip_family=\"IPv4\"", 3);
    series(*backend, "a_total", {"nat"})->add(4);
    CPPUNIT_ASSERT_EQUAL(9.0, all().at("a_total{ip_family=IPv4,table=nat,}"));
    backend->record(abi::MetricKind::kHistogramObserve, "c_seconds", "", 0.1);
    CPPUNIT_ASSERT_EQUAL(1.0, all().at("c_seconds{ip_family=IPv4,}"));
    CPPUNIT_ASSERT_EQUAL(0.0, dropped());
    backend->record(abi::MetricKind::kGaugeSet, "a_total", "", 1);
    backend->record(abi::MetricKind::kCounterAdd, "a_total", "chain=\"x\"", 1);
    CPPUNIT_ASSERT_EQUAL(2.0, dropped());
    backend->record(abi::MetricKind::kGaugeSet, "undeclared", "x=\"1\"", 1);  // as before
    CPPUNIT_ASSERT_EQUAL(1.0, all().at("undeclared{x=1,}"));
  }

  void objects_share_a_series() {
    const auto v4 = open();
    auto v6 = open("test", lib::Family::ipv6);
    const auto other = open("other");
    series(*v4, "of_services_total", {"x"})->add(1);
    series(*v6, "of_services_total", {"x"})->add(2);
    series(*other, "of_services_total", {"x"})->add(4);
    v6.reset();
    series(*v4, "of_services_total", {"x"})->add(8);
    CPPUNIT_ASSERT_EQUAL(15.0, all().at("of_services_total{service=x,}"));
    series(*other, "of_services_total", {"x"})->add(-1);  // counts for the plugin that did it
    CPPUNIT_ASSERT_EQUAL(1.0, dropped("other"));
    CPPUNIT_ASSERT_EQUAL(0.0, dropped("test"));
  }

  void a_series_outlives_its_object() {
    auto old = open();
    series(*old, "a_total", {"nat"})->add(5);
    old.reset();
    CPPUNIT_ASSERT_EQUAL(5.0, all().at("a_total{ip_family=IPv4,table=nat,}"));
    const auto next = open();
    series(*next, "a_total", {"nat"})->add(1);
    CPPUNIT_ASSERT_EQUAL(6.0, all().at("a_total{ip_family=IPv4,table=nat,}"));
  }

  void a_removed_series_disappears_with_its_last_user() {
    auto active = open();
    auto draining = open();
    abi::MetricSeries* const shared = series(*draining, "b");
    active->remove(series(*active, "b"));
    shared->set(7);
    CPPUNIT_ASSERT_EQUAL(7.0, all().at("b{}"));
    active->remove(shared);  // not its own: ignored
    shared->set(8);
    CPPUNIT_ASSERT_EQUAL(8.0, all().at("b{}"));
    draining.reset();
    CPPUNIT_ASSERT(!all().contains("b{}"));
    CPPUNIT_ASSERT(metrics_.Collect().empty());
  }

  void a_removed_series_begins_again() {
    auto backend = open();
    series(*backend, "b")->set(7);
    backend->remove(series(*backend, "b"));
    CPPUNIT_ASSERT(!all().contains("b{}"));
    CPPUNIT_ASSERT(series(*backend, "b") != nullptr);
    CPPUNIT_ASSERT_EQUAL(0.0, all().at("b{}"));
    // Wanted again while another object uses it.
    auto other = open();
    series(*other, "b")->set(3);
    backend->remove(series(*backend, "b"));
    series(*backend, "b");
    other.reset();
    backend.reset();
    CPPUNIT_ASSERT_EQUAL_MESSAGE("not removed any more", 3.0, all().at("b{}"));
  }

  void the_number_of_series_is_bounded() {
    const auto backend = open();
    std::vector<abi::MetricSeries*> made;
    for (std::size_t i = 0; i < PluginMetrics::kMaxSeries; ++i) {
      made.push_back(series(*backend, "a_total", {std::to_string(i)}));
    }
    CPPUNIT_ASSERT_EQUAL(std::string("the plugin has 1000 series already"), refusal(*backend, "b"));
    CPPUNIT_ASSERT(series(*backend, "a_total", {"1"}) == made[1]);
    for (int i = 0; i < 2000; ++i) series(*backend, "of_services_total", {std::to_string(i)});  // a bound of their own
    backend->remove(made[0]);
    series(*backend, "b");
    CPPUNIT_ASSERT_EQUAL(1.0, dropped());
  }

  void threads_update_while_a_scrape_reads() {
    constexpr int kThreads = 4, kEach = 2000;
    std::atomic<bool> done{false};
    std::thread scrapes([&] {
      while (!done) all();
    });
    std::vector<std::thread> threads;
    const auto shared = open();
    abi::MetricSeries* const counter = series(*shared, "a_total", {"nat"});
    for (int n = 0; n < kThreads; ++n) {
      threads.emplace_back([&, n] {
        const auto own = open("test", n % 2 == 0 ? lib::Family::ipv4 : lib::Family::ipv6);
        for (int i = 0; i < kEach; ++i) {
          counter->add(1);
          series(*own, "c_seconds")->observe(0.75);
          own->remove(series(*own, "of_services_total", {"x"}));
          if (i % 100 == 0) counter->add(-1);
        }
      });
    }
    for (auto& thread : threads) thread.join();
    done = true;
    scrapes.join();
    CPPUNIT_ASSERT_EQUAL(1.0 * kThreads * kEach, all().at("a_total{ip_family=IPv4,table=nat,}"));
    CPPUNIT_ASSERT_EQUAL(0.5 * kThreads * kEach, all().at("c_seconds{ip_family=IPv4,}"));
    CPPUNIT_ASSERT_EQUAL(kThreads * kEach / 100.0, dropped());
    CPPUNIT_ASSERT(!all().contains("of_services_total{service=x,}"));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(PluginMetricsDeclaredTest);

}  // namespace plugin_metrics_declared_test
}  // namespace sluice::observe
