// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What a backend may report, and what is dropped.
#include "core/observe/metrics/plugin_metrics.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/observe/metrics/label_text.hpp"
#include "test/unit/plugin/captured_log.hpp"

namespace sluice::observe {
namespace plugin_metrics_test {

constexpr auto kAdd = abi::MetricKind::kCounterAdd;
constexpr auto kSet = abi::MetricKind::kGaugeSet;
constexpr auto kObserve = abi::MetricKind::kHistogramObserve;
constexpr auto kWhole = abi::MetricKind::kCounterSet;

class PluginMetricsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(PluginMetricsTest);
  CPPUNIT_TEST(values_add_up_or_replace);
  CPPUNIT_TEST(one_set_of_labels_is_one_series_in_any_order);
  CPPUNIT_TEST(invalid_names_are_dropped);
  CPPUNIT_TEST(names_of_the_daemon_are_reserved);
  CPPUNIT_TEST(a_name_keeps_its_type);
  CPPUNIT_TEST(suffixes_of_histograms_are_reserved);
  CPPUNIT_TEST(invalid_values_are_dropped);
  CPPUNIT_TEST(the_number_of_series_is_bounded);
  CPPUNIT_TEST(one_line_for_each_reason);
  CPPUNIT_TEST(labels_are_parsed_as_in_the_text_format);
  CPPUNIT_TEST_SUITE_END();

  PluginMetrics metrics_;

  void record_for(const std::string& plugin, abi::MetricKind kind, const std::string& name, const std::string& labels,
                  double value) {
    metrics_.open(plugin, lib::Family::ipv4, nullptr)->record(kind, name, labels, value);
  }
  void record(abi::MetricKind kind, const std::string& name, const std::string& labels, double value) {
    record_for("test", kind, name, labels, value);
  }
  const prometheus::MetricFamily* family(const std::string& name) {
    collected_ = metrics_.Collect();
    const auto found =
        std::find_if(collected_.begin(), collected_.end(), [&](const auto& one) { return one.name == name; });
    return found == collected_.end() ? nullptr : &*found;
  }
  std::vector<prometheus::MetricFamily> collected_;
  double dropped() {
    const auto* found = family("sluice_plugin_metrics_dropped_total");
    return found == nullptr ? 0 : found->metric.at(0).counter.value;
  }

  void values_add_up_or_replace() {
    record(kAdd, "a_total", "", 2);
    record(kAdd, "a_total", "", 3);
    CPPUNIT_ASSERT_EQUAL(5.0, family("a_total")->metric.at(0).counter.value);
    record(kSet, "b", "", 2);
    record(kSet, "b", "", -3);
    CPPUNIT_ASSERT_EQUAL(-3.0, family("b")->metric.at(0).gauge.value);
    record(kWhole, "c_total", "", 7);
    record(kWhole, "c_total", "", 9);
    CPPUNIT_ASSERT_EQUAL(9.0, family("c_total")->metric.at(0).counter.value);
    for (const double value : {0.0005, 0.001, 3.0, 100.0}) record(kObserve, "d_seconds", "", value);
    const auto& histogram = family("d_seconds")->metric.at(0).histogram;
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(4), histogram.sample_count);
    CPPUNIT_ASSERT_DOUBLES_EQUAL(103.0015, histogram.sample_sum, 1e-9);
    CPPUNIT_ASSERT_EQUAL(std::size_t(16), histogram.bucket.size());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(2), histogram.bucket.front().cumulative_count);  // bounds are inclusive
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(3), histogram.bucket.at(14).cumulative_count);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(4), histogram.bucket.back().cumulative_count);
    CPPUNIT_ASSERT_EQUAL(0.0, dropped());
  }

  void one_set_of_labels_is_one_series_in_any_order() {
    record(kAdd, "a_total", "x=\"1\",y=\"2\"", 1);
    record(kAdd, "a_total", "y=\"2\",x=\"1\"", 1);
    record(kAdd, "a_total", "y=\"3\",x=\"1\"", 1);
    record(kAdd, "a_total", "x=\"1\",y=\"2\",z=\"\"", 1);  // an empty label is skipped
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), family("a_total")->metric.size());
    CPPUNIT_ASSERT_EQUAL(3.0, family("a_total")->metric.at(0).counter.value);
  }

  void invalid_names_are_dropped() {
    for (const std::string& name : {std::string(), std::string("1a"), std::string("a-b"), std::string("a b"),
                                    std::string("a\nb 1"), std::string("ä"), std::string(1000, 'a')}) {
      record(kSet, name, "", 1);
    }
    CPPUNIT_ASSERT_EQUAL(7.0, dropped());
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), metrics_.Collect().size());
    record(kSet, "com_example:dpu_2", "", 1);
    CPPUNIT_ASSERT(family("com_example:dpu_2") != nullptr);
  }

  void names_of_the_daemon_are_reserved() {
    record(kAdd, "sluice_events_total", "", 1);
    record(kAdd, "sluice_plugin_metrics_dropped_total", "", 1);
    record(kSet, "kubeproxy_of_my_own", "", 1);
    record(kSet, "process_of_my_own", "", 1);
    CPPUNIT_ASSERT_EQUAL(4.0, dropped());
    record(kAdd, "sluice_of_my_own_total", "", 1);
    CPPUNIT_ASSERT_EQUAL(4.0, dropped());
  }

  void a_name_keeps_its_type() {
    record(kAdd, "a_total", "", 1);
    record(kSet, "a_total", "", 5);
    record(kObserve, "a_total", "", 5);
    CPPUNIT_ASSERT_EQUAL(2.0, dropped());
    CPPUNIT_ASSERT_EQUAL(1.0, family("a_total")->metric.at(0).counter.value);
  }

  void suffixes_of_histograms_are_reserved() {
    record(kObserve, "a_seconds", "", 1);
    record(kAdd, "a_seconds_count", "", 1);
    record(kAdd, "kubeproxy_network_programming_duration_seconds_sum", "", 1);
    record(kSet, "b_sum", "", 1);
    record(kObserve, "b", "", 1);
    record(kObserve, "a_seconds", "le=\"1\"", 1);
    CPPUNIT_ASSERT_EQUAL(4.0, dropped());
    CPPUNIT_ASSERT(family("a_seconds_count") == nullptr && family("b") == nullptr);
  }

  void invalid_values_are_dropped() {
    record(kAdd, "a_total", "", -1);
    record(kWhole, "a_total", "", -1);
    record(kSet, "b", "", std::nan(""));
    record(static_cast<abi::MetricKind>(99), "c", "", 1);
    for (const char* labels : {"x", "x=1", "x=\"1", "x=\"1\",", ",", "x=\"1\"y=\"2\"", "x=\"1\",x=\"2\"", "__x=\"1\"",
                               "1x=\"1\"", "x=\"\\q\"", "x=\"\xff\"", "x=\"\xed\xa0\x80\"", "=\"1\""}) {
      record(kSet, "d", labels, 1);
    }
    CPPUNIT_ASSERT_EQUAL(17.0, dropped());
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), metrics_.Collect().size());
    record(kSet, "b", "", std::numeric_limits<double>::infinity());
    CPPUNIT_ASSERT_EQUAL(17.0, dropped());
  }

  void the_number_of_series_is_bounded() {
    for (std::size_t i = 0; i < PluginMetrics::kMaxSeries + 50; ++i) {
      record(kSet, i % 2 == 0 ? "a" : "b", "n=\"" + std::to_string(i) + "\"", 1);
    }
    record(kSet, "c", "", 1);
    CPPUNIT_ASSERT_EQUAL(51.0, dropped());
    CPPUNIT_ASSERT_EQUAL(PluginMetrics::kMaxSeries, family("a")->metric.size() + family("b")->metric.size());
    CPPUNIT_ASSERT(family("c") == nullptr);
    record(kSet, "a", "n=\"0\"", 7);  // existing series continue
    CPPUNIT_ASSERT_EQUAL(51.0, dropped());
    record_for("another", kSet, "e", "", 1);  // and so do other plugins
    CPPUNIT_ASSERT(family("e") != nullptr);
  }

  void one_line_for_each_reason() {
    const test::CapturedLog log;
    for (int i = 0; i < 100; ++i) record(kSet, "a\nb", "", 1);
    for (int i = 0; i < 100; ++i) record(kAdd, "d_total", "", -1);
    record_for("another", kSet, "a-b", "", 1);
    CPPUNIT_ASSERT_EQUAL(std::size_t(3), log.lines().size());
    CPPUNIT_ASSERT_MESSAGE(log.text(), log.lines()[0].find("WARN sluice.plugin backend test: metric \"a b\" dropped: "
                                                           "a name has letters") == 0);
    CPPUNIT_ASSERT_EQUAL(200.0, family("sluice_plugin_metrics_dropped_total")->metric.at(1).counter.value);
  }

  void labels_are_parsed_as_in_the_text_format() {
    const auto labels = parse_labels("b=\"a\\\"b\\\\c\\nd, e=\",a_1=\"\xc3\xa4\"");
    CPPUNIT_ASSERT(labels && labels->size() == 2);
    CPPUNIT_ASSERT_EQUAL(std::string("a_1"), labels->at(0).first);
    CPPUNIT_ASSERT_EQUAL(std::string("\xc3\xa4"), labels->at(0).second);
    CPPUNIT_ASSERT_EQUAL(std::string("a\"b\\c\nd, e="), labels->at(1).second);
    CPPUNIT_ASSERT(parse_labels("") && parse_labels("")->empty());
    CPPUNIT_ASSERT(parse_labels("x=\"\xf0\x9f\x90\xb3\""));
    CPPUNIT_ASSERT(!parse_labels("x=\"" + std::string(2000, 'a') + "\""));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(PluginMetricsTest);

}  // namespace plugin_metrics_test
}  // namespace sluice::observe
