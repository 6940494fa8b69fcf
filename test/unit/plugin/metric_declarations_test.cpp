// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/plugin/metric_declarations.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <cmath>
#include <limits>

#include "sluice/sdk/metrics.hpp"

namespace sluice::plugin {
namespace metric_declarations_test {

const double kBounds[] = {0.5, 1, 2};
const abi::StringView kLabels[] = {sdk::view("table"), sdk::view("result")};

class MetricDeclarationsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(MetricDeclarationsTest);
  CPPUNIT_TEST(valid_declarations_are_copied);
  CPPUNIT_TEST(an_entry_without_metrics_has_none);
  CPPUNIT_TEST(invalid_names_are_rejected);
  CPPUNIT_TEST(a_name_occurs_once);
  CPPUNIT_TEST(a_type_of_a_later_minor_is_skipped);
  CPPUNIT_TEST(invalid_labels_are_rejected);
  CPPUNIT_TEST(invalid_buckets_are_rejected);
  CPPUNIT_TEST(texts_are_lines_of_utf8);
  CPPUNIT_TEST(numbers_are_bounded);
  CPPUNIT_TEST(longer_elements_of_a_later_minor_are_read);
  CPPUNIT_TEST_SUITE_END();

  std::uint16_t minor_ = abi::kMinor;

  lib::Result<MetricDeclarations> read(const std::vector<abi::MetricSpec>& specs) const {
    abi::PluginEntry entry{};
    entry.struct_size = sizeof(entry);
    entry.minor = minor_;
    entry.metrics = sdk::array(specs.data(), specs.size());
    return read_metric_declarations(entry);
  }
  std::string fault(const std::vector<abi::MetricSpec>& specs) const {
    const auto result = read(specs);
    return result.ok() ? "" : result.status().message();
  }
  void rejects(const abi::MetricSpec& spec, const std::string& part) const {
    const std::string found = fault({spec});
    CPPUNIT_ASSERT_MESSAGE(part + " is not in: " + found, found.find(part) != std::string::npos);
  }

  void valid_declarations_are_copied() {
    const auto result = read({sdk::counter("a_total", "Number of a.", "More.", sdk::array(kLabels)),
                              sdk::gauge("kubeproxy_b:c", "B.", {}, {}, abi::kMetricPerService | 1u << 20),
                              sdk::histogram("c_seconds", "C.", sdk::array(kBounds))});
    CPPUNIT_ASSERT_EQUAL(std::string(), result.status().message());
    const DeclaredMetric& a = result->at("a_total");
    CPPUNIT_ASSERT(a.type == abi::MetricType::kCounter && a.by_family && !a.per_service && a.buckets.empty());
    CPPUNIT_ASSERT_EQUAL(std::string("Number of a. More."), a.help + " " + a.note);
    CPPUNIT_ASSERT(a.labels == (std::vector<std::string>{"table", "result"}));
    const DeclaredMetric& b = result->at("kubeproxy_b:c");
    CPPUNIT_ASSERT(b.type == abi::MetricType::kGauge && !b.by_family && b.per_service);
    CPPUNIT_ASSERT(result->at("c_seconds").buckets == (std::vector<double>{0.5, 1, 2}));
  }

  void an_entry_without_metrics_has_none() { CPPUNIT_ASSERT(read({})->empty()); }

  void invalid_names_are_rejected() {
    for (const std::string& name : {std::string(), std::string("1a"), std::string("a-b"), std::string("a\nb"),
                                    std::string(201, 'a')}) {
      rejects(sdk::gauge(name, "A."), ": a name has up to 200 letters");
    }
  }

  void a_name_occurs_once() {
    CPPUNIT_ASSERT_EQUAL(std::string("metric 'a': it is declared twice"),
                         fault({sdk::gauge("a", "A."), sdk::gauge("a", "A.")}));
  }

  void a_type_of_a_later_minor_is_skipped() {
    abi::MetricSpec spec = sdk::gauge("a", "A.");
    spec.metric_type = abi::MetricType{9};
    rejects(spec, "metric 'a': its type 9 is unknown; use kCounter");
    minor_ = abi::kMinor + 1;
    CPPUNIT_ASSERT_EQUAL(std::string(), fault({spec}));
    CPPUNIT_ASSERT(read({spec})->empty());
    spec.metric_type = {};
    rejects(spec, "its type 0 is unknown");
  }

  void invalid_labels_are_rejected() {
    for (const char* name : {"", "1a", "a:b", "__a", "a b", "\xc3\xa4"}) {
      const abi::StringView labels[] = {sdk::view(name)};
      rejects(sdk::gauge("a", "A.", {}, sdk::array(labels)), "has other characters than letters");
    }
    const abi::StringView twice[] = {sdk::view("x"), sdk::view("y"), sdk::view("x")};
    rejects(sdk::gauge("a", "A.", {}, sdk::array(twice)), "the label 'x' occurs twice");
    const abi::StringView family[] = {sdk::view("ip_family")};
    rejects(sdk::gauge("a", "A.", {}, sdk::array(family)), "the daemon adds the label 'ip_family'");
    CPPUNIT_ASSERT_EQUAL(std::string(), fault({sdk::gauge("a", "A.", {}, sdk::array(family), 0)}));
    const abi::StringView le[] = {sdk::view("le")};
    rejects(sdk::histogram("a", "A.", sdk::array(kBounds), {}, sdk::array(le)), "cannot have the label 'le'");
    CPPUNIT_ASSERT_EQUAL(std::string(), fault({sdk::gauge("a", "A.", {}, sdk::array(le))}));
  }

  void invalid_buckets_are_rejected() {
    rejects(sdk::histogram("a", "A.", {}), "a histogram needs buckets");
    const double equal[] = {1, 1};
    rejects(sdk::histogram("a", "A.", sdk::array(equal)), "do not ascend");
    const double infinite[] = {1, std::numeric_limits<double>::infinity()};
    rejects(sdk::histogram("a", "A.", sdk::array(infinite)), "not finite");
    const double none[] = {std::nan("")};
    rejects(sdk::histogram("a", "A.", sdk::array(none)), "not finite");
    abi::MetricSpec gauge = sdk::gauge("a", "A.");
    gauge.buckets = sdk::array(kBounds);
    rejects(gauge, "only a histogram has buckets");
  }

  void texts_are_lines_of_utf8() {
    rejects(sdk::gauge("a", ""), "it has no HELP text");
    for (const std::string& text : {std::string("A\nB"), std::string("\xff"), std::string(1001, 'a')}) {
      rejects(sdk::gauge("a", text), "is no line of UTF-8");
      rejects(sdk::gauge("a", "A.", text), "is no line of UTF-8");
    }
    CPPUNIT_ASSERT_EQUAL(std::string(), fault({sdk::gauge("a", "\xc3\xa4")}));
  }

  void numbers_are_bounded() {
    std::vector<std::string> names;
    for (int i = 0; i < 501; ++i) names.push_back("a" + std::to_string(i));
    std::vector<abi::MetricSpec> specs;
    for (const std::string& name : names) specs.push_back(sdk::gauge(name, "A."));
    CPPUNIT_ASSERT_EQUAL(std::string("it declares 501 metrics; at most 500 are allowed"), fault(specs));
    specs.pop_back();
    CPPUNIT_ASSERT_EQUAL(std::string(), fault(specs));
    std::vector<abi::StringView> labels;
    for (int i = 0; i < 17; ++i) labels.push_back(sdk::view(names[static_cast<std::size_t>(i)]));
    rejects(sdk::gauge("a", "A.", {}, sdk::array(labels.data(), labels.size())), "more than 16 labels");
    std::vector<double> bounds;
    for (int i = 0; i < 201; ++i) bounds.push_back(i);
    rejects(sdk::histogram("a", "A.", sdk::array(bounds.data(), bounds.size())), "more than 200 buckets");
  }

  void longer_elements_of_a_later_minor_are_read() {
    struct Later {
      abi::MetricSpec known;
      std::uint64_t more;
    };
    const Later specs[] = {{sdk::gauge("a", "A."), ~0ull}, {sdk::gauge("b", "B."), ~0ull}};
    abi::PluginEntry entry{};
    entry.metrics = {specs, 2, sizeof(Later), 0};
    const auto result = read_metric_declarations(entry);
    CPPUNIT_ASSERT_EQUAL(std::string(), result.status().message());
    CPPUNIT_ASSERT(result->contains("a") && result->contains("b"));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(MetricDeclarationsTest);

}  // namespace metric_declarations_test
}  // namespace sluice::plugin
