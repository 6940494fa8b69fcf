// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/plugin/host_services.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <map>
#include <new>
#include <stdexcept>
#include <utility>

#include "sluice/sdk/sdk.hpp"
#include "test/unit/plugin/captured_log.hpp"

namespace sluice::plugin {
namespace host_services_test {

class FixedClock final : public lib::Clock {
 public:
  Time now() const override { return Time(std::chrono::seconds(7)); }
};

// Of one backend: records the calls.
class RecordedMetrics final : public BackendMetrics {
 public:
  explicit RecordedMetrics(std::string& to) : reported_(to) {}
  void record(abi::MetricKind kind, std::string_view name, std::string_view labels, double value) override {
    reported_ += std::to_string(static_cast<int>(kind)) + " " + std::string(name) + "{" + std::string(labels) + "} " +
                 std::to_string(value) + ";";
  }
  abi::MetricSeries* series(std::string_view name, const std::vector<std::string_view>& label_values,
                            std::string& reason) override {
    if (name == "throws") throw std::bad_alloc();
    reported_ += "series " + std::string(name);
    for (const std::string_view value : label_values) reported_ += " " + std::string(value);
    reported_ += ";";
    if (name == "unknown") reason = "the plugin does not declare it";
    return name == "unknown" ? nullptr : &series_;
  }
  void remove(abi::MetricSeries* series) override { reported_ += series == &series_ ? "removed;" : "?;"; }

 private:
  class Series final : public abi::MetricSeries {
   public:
    ~Series() = default;
    void add(double) noexcept override {}
    void set(double) noexcept override {}
    void observe(double) noexcept override {}
  };
  std::string& reported_;
  Series series_;
};

// Keeps the descriptor numbers instead of duplicates.
class RecordedDescriptors final : public BackendDescriptors {
 public:
  lib::Status keep(std::string_view name, int fd) override {
    reported += "keep " + std::string(name) + " " + std::to_string(fd) + ";";
    if (fd < 0) return {lib::StatusCode::invalid, "it is not open", 9};
    kept[std::string(name)] = fd;
    return {};
  }
  int take(std::string_view name) override {
    reported += "take " + std::string(name) + ";";
    const auto found = kept.find(std::string(name));
    return found == kept.end() ? -1 : found->second;
  }
  void drop(std::string_view name) override {
    reported += "drop " + std::string(name) + ";";
    kept.erase(std::string(name));
  }
  std::vector<std::string> names() override {
    std::vector<std::string> out;
    for (const auto& [name, fd] : kept) out.push_back(name);
    return out;
  }
  std::map<std::string, int> kept;
  std::string reported;
};

class ThrowingDescriptors final : public BackendDescriptors {
 public:
  lib::Status keep(std::string_view, int) override { throw std::bad_alloc(); }
  int take(std::string_view) override { throw std::bad_alloc(); }
  void drop(std::string_view) override { throw std::bad_alloc(); }
  std::vector<std::string> names() override { throw std::bad_alloc(); }
};

class Reported final : public HostObserver {
 public:
  void resync_requested(std::string reason) override { text += "resync " + reason + ";"; }
  void health_reported(std::string reason) override { text += "unwell " + reason + ";"; }
  void event_reported(abi::Severity severity, const std::string& reason, const std::string& note,
                      const std::optional<ServicePortName>& regarding) override {
    text += "event " + std::to_string(static_cast<int>(severity)) + " " + reason + " " + note;
    if (regarding) text += " of " + regarding->name_space + "/" + regarding->service + ":" + regarding->port_name;
    text += ";";
  }
  void relayed(RelayedPort port) override {
    text += port.name_space + "/" + port.service + ":" + port.port_name;
    for (const std::uint16_t number : port.ports) text += " " + std::to_string(number);
    text += ";";
  }
  std::string text;
};

class ThrowingObserver final : public HostObserver {
 public:
  void resync_requested(std::string) override { throw std::bad_alloc(); }
  void relayed(RelayedPort) override { throw std::runtime_error("defect"); }
};

class Names final : public abi::StringSink {
 public:
  ~Names() = default;
  void add(abi::StringView text) noexcept override { all += std::string(sdk::text(text)) + ";"; }
  std::string all;
};

class HostServicesTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(HostServicesTest);
  CPPUNIT_TEST(log_line_carries_the_plugin_and_stays_one_line);
  CPPUNIT_TEST(a_message_id_is_split_from_the_line);
  CPPUNIT_TEST(unknown_severity_is_logged_as_information);
  CPPUNIT_TEST(log_enabled_follows_the_log_level);
  CPPUNIT_TEST(metrics_reach_their_sink);
  CPPUNIT_TEST(facts_are_kept_for_the_status);
  CPPUNIT_TEST(reports_reach_their_callbacks);
  CPPUNIT_TEST(without_callbacks_reports_are_ignored);
  CPPUNIT_TEST(exception_of_a_callback_does_not_reach_the_plugin);
  CPPUNIT_TEST(failed_service_ports_are_collected_until_taken);
  CPPUNIT_TEST(the_last_report_about_a_service_port_counts);
  CPPUNIT_TEST(now_is_in_nanoseconds);
  CPPUNIT_TEST(unknown_extension_is_null);
  CPPUNIT_TEST(relayed_ports_of_udp_reach_their_callback_sorted);
  CPPUNIT_TEST(relay_ports_without_a_callback_are_ignored);
  CPPUNIT_TEST(descriptors_extension_is_offered_only_with_descriptors);
  CPPUNIT_TEST(descriptor_names_are_validated);
  CPPUNIT_TEST(error_of_keep_reaches_the_plugin);
  CPPUNIT_TEST(exceptions_of_the_store_do_not_reach_the_plugin);
  CPPUNIT_TEST_SUITE_END();

  FixedClock clock_;

  void log_line_carries_the_plugin_and_stays_one_line() {
    const test::CapturedLog log;
    HostServices host("dpu", nullptr, nullptr, clock_);
    const sdk::Logger logger(&host);
    logger.warning("one\ntwo\x1b[0m");
    host.log(abi::Severity::kError, sdk::view("raw\rtext"));
    CPPUNIT_ASSERT_EQUAL(std::string("WARN sluice.plugin.dpu one two [0m\nERROR sluice.plugin.dpu raw text\n"),
                         log.text());
  }

  void a_message_id_is_split_from_the_line() {
    using Pair = std::pair<std::string_view, std::string_view>;
    CPPUNIT_ASSERT(Pair("drain-timeout", "it expired") == split_message_id("[drain-timeout] it expired"));
    for (const char* text : {"", "[", "[]", "[] a", "[a", "[a]", "[a]b", "[A] b", "[a b] c", "a [b] c", "[::1] is refused"}) {
      CPPUNIT_ASSERT(Pair("", text) == split_message_id(text));
    }
    const std::string too_long = "[" + std::string(60, 'a') + "] b";
    CPPUNIT_ASSERT(Pair("", too_long) == split_message_id(too_long));
  }

  void unknown_severity_is_logged_as_information() {
    const test::CapturedLog log;
    HostServices("dpu", nullptr, nullptr, clock_).log(static_cast<abi::Severity>(99), sdk::view("x"));
    CPPUNIT_ASSERT_EQUAL(std::string("INFO sluice.plugin.dpu x\n"), log.text());
  }

  void log_enabled_follows_the_log_level() {
    const test::CapturedLog log;
    HostServices host("dpu", nullptr, nullptr, clock_);
    const sdk::Logger logger(&host);
    CPPUNIT_ASSERT_EQUAL(1, host.log_enabled(abi::Severity::kDebug));
    log4cplus::Logger::getInstance("sluice").setLogLevel(log4cplus::INFO_LOG_LEVEL);  // until `log` is destroyed
    CPPUNIT_ASSERT_EQUAL(1, host.log_enabled(abi::Severity::kWarning));
    CPPUNIT_ASSERT_EQUAL(0, host.log_enabled(abi::Severity::kDebug));
    CPPUNIT_ASSERT(logger.keeps(abi::Severity::kError) && !logger.keeps(abi::Severity::kDebug));
    CPPUNIT_ASSERT(!sdk::Logger(nullptr).keeps(abi::Severity::kError));
  }

  void metrics_reach_their_sink() {
    std::string reported;
    HostServices host("dpu", nullptr, std::make_unique<RecordedMetrics>(reported), clock_);
    host.metric(abi::MetricKind::kGaugeSet, sdk::view("rules"), sdk::view("table=\"nat\""), 2.5);
    CPPUNIT_ASSERT_EQUAL(std::string("1 rules{table=\"nat\"} 2.500000;"), std::exchange(reported, {}));
    auto* const declared = static_cast<abi::HostMetrics*>(host.extension(sdk::view(abi::kHostMetrics)));
    CPPUNIT_ASSERT(declared != nullptr);
    const std::vector<abi::StringView> labels{sdk::view("nat"), sdk::view("x")};
    abi::Error error = sdk::empty_error();
    abi::MetricSeries* const series = declared->series(sdk::view("rules"), sdk::array(labels.data(), labels.size()), &error);
    CPPUNIT_ASSERT(series != nullptr);
    declared->remove(series);
    declared->remove(nullptr);
    CPPUNIT_ASSERT_EQUAL(std::string("series rules nat x;removed;"), reported);
    CPPUNIT_ASSERT(declared->series(sdk::view("unknown"), {}, nullptr) == nullptr);
    CPPUNIT_ASSERT(declared->series(sdk::view("unknown"), {}, &error) == nullptr);
    CPPUNIT_ASSERT_EQUAL(std::string("unknown: the plugin does not declare it"),
                         std::string(error.object) + ": " + error.message);
    CPPUNIT_ASSERT(declared->series(sdk::view("throws"), {}, &error) == nullptr);
    HostServices without("dpu", nullptr, nullptr, clock_);
    CPPUNIT_ASSERT(without.extension(sdk::view(abi::kHostMetrics)) == nullptr);
  }

  void facts_are_kept_for_the_status() {
    HostServices host("dpu", nullptr, nullptr, clock_);
    auto* const status = static_cast<abi::HostStatus*>(host.extension(sdk::view(abi::kHostStatus)));
    CPPUNIT_ASSERT(status != nullptr);
    status->set(sdk::view("link"), sdk::view("down"), sdk::view("connect it"));
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), host.facts().size());
    CPPUNIT_ASSERT_EQUAL(std::string("connect it"), host.facts().at(0).remedy);
  }

  void reports_reach_their_callbacks() {
    Reported reported;
    HostServices host("dpu", &reported, nullptr, clock_);
    host.request_resync(sdk::view("flushed"));
    host.report_unhealthy(sdk::view("no device"));
    host.report_unhealthy(abi::StringView{nullptr, 0});
    host.event(abi::Severity::kWarning, sdk::view("LinkDown"), sdk::view("port 1 is down"), nullptr);
    const abi::ServicePortKey key{sdk::view("shop"), sdk::view("ca\nrt"), sdk::view("http"), abi::Protocol::kTcp, {}};
    host.event(abi::Severity::kInfo, sdk::view("Moved"), sdk::view("elsewhere"), &key);
    CPPUNIT_ASSERT_EQUAL(std::string("resync flushed;unwell no device;unwell ;event 1 LinkDown port 1 is down;"
                                     "event 2 Moved elsewhere of shop/ca rt:http;"),
                         reported.text);
  }

  void without_callbacks_reports_are_ignored() {
    HostServices host("dpu", nullptr, nullptr, clock_);
    host.request_resync(sdk::view("x"));
    host.report_unhealthy(sdk::view("x"));
    host.event(abi::Severity::kInfo, sdk::view("x"), sdk::view("x"), nullptr);
    host.metric(abi::MetricKind::kCounterAdd, sdk::view("x"), sdk::view(""), 1);
  }

  void exception_of_a_callback_does_not_reach_the_plugin() {
    ThrowingObserver throwing;
    HostServices("dpu", &throwing, nullptr, clock_).request_resync(sdk::view("x"));
  }

  static abi::ServicePortKey key_of(std::string_view port, abi::Protocol protocol = abi::Protocol::kTcp) {
    return {sdk::view("shop"), sdk::view("cart"), sdk::view(port), protocol, {}};
  }

  void failed_service_ports_are_collected_until_taken() {
    HostServices host("dpu", nullptr, nullptr, clock_);
    abi::Error error = sdk::empty_error();
    sdk::set_error(&error, "", "table is full", 28);
    const abi::ServicePortKey http = key_of("http"), grpc = key_of("grpc\n"), quic = key_of("http", abi::Protocol::kUdp);
    host.service_port_failed(&http, &error);
    host.service_port_failed(&grpc, &error);
    host.service_port_failed(&quic, nullptr);
    host.service_port_failed(nullptr, &error);
    const ServicePortReports reports = host.take_reports();
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, reports.failed.size());
    CPPUNIT_ASSERT_EQUAL(std::string("shop/cart:grpc "), reports.failed[0].port.printed());
    CPPUNIT_ASSERT_EQUAL(std::string("shop/cart:http"), reports.failed[1].port.printed());
    CPPUNIT_ASSERT_EQUAL(std::string("table is full"), reports.failed[1].message);
    CPPUNIT_ASSERT_EQUAL(28, reports.failed[1].os_errno);
    CPPUNIT_ASSERT((reports.served == std::vector<ServicePortName>{{"shop", "cart", "http", abi::Protocol::kUdp}}));
    CPPUNIT_ASSERT(host.take_reports().failed.empty() && host.take_reports().served.empty());
  }

  void the_last_report_about_a_service_port_counts() {
    HostServices host("dpu", nullptr, nullptr, clock_);
    const abi::ServicePortKey key = key_of("http");
    abi::Error error = sdk::empty_error();
    host.service_port_failed(&key, &error);
    host.service_port_failed(&key, nullptr);
    CPPUNIT_ASSERT(host.take_reports().failed.empty());
    host.service_port_failed(&key, nullptr);
    host.service_port_failed(&key, &error);
    const ServicePortReports reports = host.take_reports();
    CPPUNIT_ASSERT(reports.failed.size() == 1 && reports.served.empty());
  }

  void now_is_in_nanoseconds() {
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{7'000'000'000}, HostServices("dpu", nullptr, nullptr, clock_).now());
  }

  void unknown_extension_is_null() {
    CPPUNIT_ASSERT(HostServices("dpu", nullptr, nullptr, clock_).extension(sdk::view("com.example.x/1")) == nullptr);
  }

  static void relay(HostServices& host, abi::Protocol protocol, const std::vector<std::uint16_t>& ports) {
    auto* relay = static_cast<abi::HostRelay*>(host.extension(sdk::view(abi::kHostRelay)));
    CPPUNIT_ASSERT(relay != nullptr);
    const abi::ServicePortKey key{sdk::view("shop"), sdk::view("dns"), sdk::view("udp"), protocol, {}};
    relay->set_relay_ports(&key, sdk::array(ports.data(), ports.size()));
  }

  void relayed_ports_of_udp_reach_their_callback_sorted() {
    Reported reported;
    HostServices host("dpu", &reported, nullptr, clock_);
    relay(host, abi::Protocol::kUdp, {40002, 40001, 40002});
    relay(host, abi::Protocol::kTcp, {40003});
    relay(host, abi::Protocol::kUdp, {});
    CPPUNIT_ASSERT_EQUAL(std::string("shop/dns:udp 40001 40002;shop/dns:udp;"), reported.text);
    static_cast<abi::HostRelay*>(host.extension(sdk::view(abi::kHostRelay)))->set_relay_ports(nullptr, {});
  }

  void relay_ports_without_a_callback_are_ignored() {
    HostServices without("dpu", nullptr, nullptr, clock_);
    relay(without, abi::Protocol::kUdp, {40001});
    ThrowingObserver observer;
    HostServices throwing("dpu", &observer, nullptr, clock_);
    relay(throwing, abi::Protocol::kUdp, {40001});
  }

  static abi::HostDescriptors& descriptors(HostServices& host) {
    void* const found = host.extension(sdk::view(abi::kHostDescriptors));
    CPPUNIT_ASSERT(found != nullptr);
    return *static_cast<abi::HostDescriptors*>(found);
  }

  void descriptors_extension_is_offered_only_with_descriptors() {
    HostServices without("dpu", nullptr, nullptr, clock_);
    CPPUNIT_ASSERT(without.extension(sdk::view(abi::kHostDescriptors)) == nullptr);
    const auto recorded = std::make_shared<RecordedDescriptors>();
    HostServices host("dpu", nullptr, nullptr, clock_, recorded);
    abi::HostDescriptors& kept = descriptors(host);
    abi::Error error = sdk::empty_error();
    CPPUNIT_ASSERT(kept.keep(sdk::view("tcp_a"), 7, &error) == abi::Code::kOk);
    CPPUNIT_ASSERT(kept.keep(sdk::view("udp.B-2"), 8, nullptr) == abi::Code::kOk);
    CPPUNIT_ASSERT_EQUAL(7, kept.take(sdk::view("tcp_a")));
    CPPUNIT_ASSERT_EQUAL(-1, kept.take(sdk::view("missing")));
    Names names;
    kept.names(&names);
    CPPUNIT_ASSERT_EQUAL(std::string("tcp_a;udp.B-2;"), names.all);
    kept.names(nullptr);
    kept.drop(sdk::view("tcp_a"));
    CPPUNIT_ASSERT_EQUAL(std::string("keep tcp_a 7;keep udp.B-2 8;take tcp_a;take missing;drop tcp_a;"),
                         recorded->reported);
  }

  void descriptor_names_are_validated() {
    const auto recorded = std::make_shared<RecordedDescriptors>();
    HostServices host("dpu", nullptr, nullptr, clock_, recorded);
    abi::HostDescriptors& kept = descriptors(host);
    for (const std::string& name : {std::string(), std::string("a/b"), std::string("a b"), std::string("\xc3\xa4"),
                                    std::string("a:b"), std::string("a\nFDSTOREREMOVE=1"), std::string(201, 'a')}) {
      abi::Error error = sdk::empty_error();
      CPPUNIT_ASSERT_MESSAGE(name, kept.keep(sdk::view(name), 7, &error) == abi::Code::kInvalid);
      CPPUNIT_ASSERT_EQUAL(std::string("a descriptor is kept under 1 to 200 letters, digits and \"-_.\""),
                           std::string(error.message));
      CPPUNIT_ASSERT_EQUAL(-1, kept.take(sdk::view(name)));
      kept.drop(sdk::view(name));
    }
    CPPUNIT_ASSERT_EQUAL(std::string(), recorded->reported);
    CPPUNIT_ASSERT(kept.keep(sdk::view(std::string(200, 'a')), 7, nullptr) == abi::Code::kOk);
  }

  void error_of_keep_reaches_the_plugin() {
    HostServices host("dpu", nullptr, nullptr, clock_, std::make_shared<RecordedDescriptors>());
    abi::Error error = sdk::empty_error();
    CPPUNIT_ASSERT(descriptors(host).keep(sdk::view("a"), -1, &error) == abi::Code::kInvalid);
    CPPUNIT_ASSERT_EQUAL(std::string("a"), std::string(error.object));
    CPPUNIT_ASSERT_EQUAL(std::string("it is not open"), std::string(error.message));
    CPPUNIT_ASSERT_EQUAL(9, error.os_errno);
  }

  void exceptions_of_the_store_do_not_reach_the_plugin() {
    HostServices host("dpu", nullptr, nullptr, clock_, std::make_shared<ThrowingDescriptors>());
    abi::HostDescriptors& kept = descriptors(host);
    CPPUNIT_ASSERT(kept.keep(sdk::view("a"), 7, nullptr) == abi::Code::kInternal);
    CPPUNIT_ASSERT_EQUAL(-1, kept.take(sdk::view("a")));
    kept.drop(sdk::view("a"));
    Names names;
    kept.names(&names);
    CPPUNIT_ASSERT_EQUAL(std::string(), names.all);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(HostServicesTest);

}  // namespace host_services_test
}  // namespace sluice::plugin
