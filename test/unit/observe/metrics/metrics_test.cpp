// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What is served under /metrics, as text: names, types, labels, buckets.
#include "core/observe/metrics/metrics.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <thread>

#include "core/observe/metrics/catalogue.hpp"
#include "core/base/log.hpp"
#include "core/observe/metrics/process_statistics.hpp"
#include "lib/files.hpp"
#include "test/unit/observe/metrics_text.hpp"

namespace sluice::observe {
namespace metrics_test {

using namespace std::chrono_literals;

using test::file_of_project;
using test::samples;

std::map<std::string, std::string> types(const std::string& text) {
  std::map<std::string, std::string> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("# TYPE ")) continue;
    const auto space = line.rfind(' ');
    out[line.substr(7, space - 7)] = line.substr(space + 1);
  }
  return out;
}

std::string type_name(prometheus::MetricType type) {
  switch (type) {
    case prometheus::MetricType::Counter:
      return "counter";
    case prometheus::MetricType::Gauge:
      return "gauge";
    case prometheus::MetricType::Histogram:
      return "histogram";
    default:
      return "unexpected";
  }
}

ScrapeData two_families() {
  ScrapeData out;
  for (const auto family : lib::kFamilies) out.families.push_back({family, {}, 0, false});
  return out;
}

class MetricsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(MetricsTest);
  CPPUNIT_TEST(series_with_labels_appear_with_the_first_value);
  CPPUNIT_TEST(a_sync_counts_as_full_or_partial);
  CPPUNIT_TEST(the_wait_for_a_sync_is_measured_if_a_change_waited);
  CPPUNIT_TEST(a_failed_sync_counts_without_a_new_timestamp);
  CPPUNIT_TEST(each_trigger_time_is_a_sample);
  CPPUNIT_TEST(buckets_match_kube_proxy);
  CPPUNIT_TEST(health_and_conntrack);
  CPPUNIT_TEST(reloads_by_result);
  CPPUNIT_TEST(requests_by_code_host_and_method);
  CPPUNIT_TEST(service_changes_count_once_per_family);
  CPPUNIT_TEST(family_and_resource_metrics);
  CPPUNIT_TEST(the_version_of_kubernetes_can_be_overridden);
  CPPUNIT_TEST(phases_of_the_start_appear_with_the_first_sync);
  CPPUNIT_TEST(swaps_are_counted_and_timed);
  CPPUNIT_TEST(metrics_of_backends_are_sorted_among_the_others);
  CPPUNIT_TEST(types_and_help_are_from_the_catalogue);
  CPPUNIT_TEST(process_metrics);
  CPPUNIT_TEST(log_lines_are_counted);
  CPPUNIT_TEST(many_threads);
  CPPUNIT_TEST(labels_are_those_of_the_catalogue);
  CPPUNIT_TEST_SUITE_END();

  Metrics metrics_;

  std::string value(const std::string& sample) {
    const auto all = samples(metrics_.text());
    const auto found = all.find(sample);
    return found == all.end() ? "absent" : found->second;
  }
  void expect(const std::string& wanted, const std::string& sample) {
    CPPUNIT_ASSERT_EQUAL_MESSAGE(sample, wanted, value(sample));
  }

  void series_with_labels_appear_with_the_first_value() {
    const auto all = types(metrics_.text());
    for (const char* name : {"kubeproxy_sync_proxy_rules_duration_seconds", "kubeproxy_proxy_healthz_total",
                             "kubeproxy_sync_proxy_rules_iptables_total", "rest_client_requests_total",
                             "kubeproxy_sync_proxy_rules_nftables_sync_failures_total"}) {
      CPPUNIT_ASSERT_MESSAGE(name, !all.contains(name));
    }
    for (const char* name :
         {"kubeproxy_sync_proxy_rules_endpoint_changes_pending", "kubeproxy_sync_proxy_rules_endpoint_changes_total",
          "kubeproxy_sync_proxy_rules_service_changes_pending", "kubeproxy_sync_proxy_rules_service_changes_total"}) {
      expect("0", name);
    }
  }

  void a_sync_counts_as_full_or_partial() {
    const auto at = std::chrono::system_clock::time_point(1'700'000'000'250ms);
    metrics_.synced(lib::Family::ipv4, {true, true, 0.5, 0.1, 0.3, 0.25, at, {}});
    metrics_.synced(lib::Family::ipv4, {false, true, 0.25, 0.1, 0.1, 0, at, {}});
    expect("2", "kubeproxy_sync_proxy_rules_duration_seconds_count{ip_family=\"IPv4\"}");
    expect("0.75", "kubeproxy_sync_proxy_rules_duration_seconds_sum{ip_family=\"IPv4\"}");
    expect("0.5", "kubeproxy_sync_full_proxy_rules_duration_seconds_sum{ip_family=\"IPv4\"}");
    expect("0.25", "kubeproxy_sync_partial_proxy_rules_duration_seconds_sum{ip_family=\"IPv4\"}");
    expect("0.2", "sluice_sync_select_duration_seconds_sum{ip_family=\"IPv4\"}");
    expect("0.4", "sluice_sync_apply_duration_seconds_sum{ip_family=\"IPv4\"}");
    // Without a kernel time there is no sample.
    expect("0.25", "sluice_sync_kernel_duration_seconds_sum{ip_family=\"IPv4\"}");
    expect("1", "sluice_sync_kernel_duration_seconds_count{ip_family=\"IPv4\"}");
    expect("1700000000.25", "kubeproxy_sync_proxy_rules_last_timestamp_seconds{ip_family=\"IPv4\"}");
    expect("absent", "kubeproxy_sync_proxy_rules_last_timestamp_seconds{ip_family=\"IPv6\"}");
  }

  void the_wait_for_a_sync_is_measured_if_a_change_waited() {
    const auto at = std::chrono::system_clock::now();
    metrics_.synced(lib::Family::ipv4, {false, true, 0, 0, 0, 0, at, {}, 0.25, 0.02});
    metrics_.synced(lib::Family::ipv4, {true, true, 0, 0, 0, 0, at, {}, {}, 0.5});
    expect("1", "sluice_sync_wait_duration_seconds_count{ip_family=\"IPv4\"}");
    expect("0.25", "sluice_sync_wait_duration_seconds_sum{ip_family=\"IPv4\"}");
    expect("0.5", "sluice_sync_interval_seconds{ip_family=\"IPv4\"}");
  }

  void a_failed_sync_counts_without_a_new_timestamp() {
    metrics_.synced(lib::Family::ipv6, {false, false, 0.5, 0, 0, 0, std::chrono::system_clock::now(), {}});
    expect("1", "kubeproxy_sync_proxy_rules_duration_seconds_count{ip_family=\"IPv6\"}");
    expect("1", "kubeproxy_sync_partial_proxy_rules_duration_seconds_count{ip_family=\"IPv6\"}");
    expect("absent", "kubeproxy_sync_proxy_rules_last_timestamp_seconds{ip_family=\"IPv6\"}");
    expect("absent", "kubeproxy_network_programming_duration_seconds_count{ip_family=\"IPv6\"}");
  }

  void each_trigger_time_is_a_sample() {  // case 92
    const auto at = std::chrono::system_clock::now();
    metrics_.synced(lib::Family::ipv4, {false, true, 0, 0, 0, 0, at, {at - 500ms, at - 2s}});
    expect("2", "kubeproxy_network_programming_duration_seconds_count{ip_family=\"IPv4\"}");
    expect("2.5", "kubeproxy_network_programming_duration_seconds_sum{ip_family=\"IPv4\"}");
    expect("0", "kubeproxy_network_programming_duration_seconds_bucket{ip_family=\"IPv4\",le=\"0.25\"}");
    expect("1", "kubeproxy_network_programming_duration_seconds_bucket{ip_family=\"IPv4\",le=\"0.5\"}");
    expect("2", "kubeproxy_network_programming_duration_seconds_bucket{ip_family=\"IPv4\",le=\"2\"}");
  }

  void buckets_match_kube_proxy() {
    const auto at = std::chrono::system_clock::now();
    metrics_.synced(lib::Family::ipv4, {true, true, 0, 0, 0, 1, at, {at}});
    metrics_.waited("h", "GET", 0);
    std::map<std::string, std::string> bounds;
    std::istringstream lines(metrics_.text());
    const std::regex bucket(R"re((\w+)_bucket\{.*le="([^"]+)"\} .*)re");
    for (std::string line; std::getline(lines, line);) {
      if (std::smatch match; std::regex_match(line, match, bucket)) bounds[match[1]] += match[2].str() + " ";
    }
    const std::string sync =
        "0.001 0.002 0.004 0.008 0.016 0.032 0.064 0.128 0.256 0.512 1.024 2.048 4.096 8.192 16.384 +Inf ";
    std::string programming = "0.25 0.5 ";
    for (int i = 1; i <= 59; ++i) programming += std::to_string(i) + " ";
    for (int i = 60; i <= 115; i += 5) programming += std::to_string(i) + " ";
    programming += "120 150 180 210 240 270 300 +Inf ";
    CPPUNIT_ASSERT_EQUAL(sync, bounds["kubeproxy_sync_proxy_rules_duration_seconds"]);
    CPPUNIT_ASSERT_EQUAL(sync, bounds["kubeproxy_sync_full_proxy_rules_duration_seconds"]);
    CPPUNIT_ASSERT_EQUAL(programming, bounds["kubeproxy_network_programming_duration_seconds"]);
    CPPUNIT_ASSERT_EQUAL(std::string("0.005 0.025 0.1 0.25 0.5 1 2 4 8 15 30 60 +Inf "),
                         bounds["rest_client_rate_limiter_duration_seconds"]);
  }

  void health_and_conntrack() {
    metrics_.answered_healthz(200);
    metrics_.answered_healthz(200);
    metrics_.answered_healthz(503);
    metrics_.answered_livez(200);
    metrics_.conntrack_reconciled(lib::Family::ipv4, 0.5, 3);
    metrics_.conntrack_reconciled(lib::Family::ipv6, 0.5, 0);
    expect("2", "kubeproxy_proxy_healthz_total{code=\"200\"}");
    expect("1", "kubeproxy_proxy_healthz_total{code=\"503\"}");
    expect("1", "kubeproxy_proxy_livez_total{code=\"200\"}");
    expect("3", "kubeproxy_conntrack_reconciler_deleted_entries_total{ip_family=\"IPv4\"}");
    expect("0", "kubeproxy_conntrack_reconciler_deleted_entries_total{ip_family=\"IPv6\"}");
    expect("1", "kubeproxy_conntrack_reconciler_sync_duration_seconds_count{ip_family=\"IPv4\"}");
  }

  void reloads_by_result() {
    Metrics metrics;
    auto now = samples(metrics.text());
    CPPUNIT_ASSERT_EQUAL(std::string("0"), now["sluice_reloads_total{result=\"failed\"}"]);
    CPPUNIT_ASSERT_EQUAL(std::string("1"), now["sluice_config_last_reload_successful"]);
    CPPUNIT_ASSERT(now["sluice_config_last_reload_success_timestamp_seconds"] != "0");
    reload::ReloadResult result;
    result.outcome = reload::ReloadOutcome::success;
    result.at = std::chrono::system_clock::time_point(1000s);
    metrics.reloaded(result);
    result.outcome = reload::ReloadOutcome::failed;
    result.at = std::chrono::system_clock::time_point(2000s);
    metrics.reloaded(result);
    metrics.reloaded(result);
    now = samples(metrics.text());
    CPPUNIT_ASSERT_EQUAL(std::string("1"), now["sluice_reloads_total{result=\"success\"}"]);
    CPPUNIT_ASSERT_EQUAL(std::string("2"), now["sluice_reloads_total{result=\"failed\"}"]);
    CPPUNIT_ASSERT_EQUAL(std::string("0"), now["sluice_config_last_reload_successful"]);
    CPPUNIT_ASSERT_EQUAL(std::string("1000"), now["sluice_config_last_reload_success_timestamp_seconds"]);
    result.outcome = reload::ReloadOutcome::unchanged;
    result.at = std::chrono::system_clock::time_point(3000s);
    metrics.reloaded(result);
    now = samples(metrics.text());
    CPPUNIT_ASSERT_EQUAL(std::string("1"), now["sluice_reloads_total{result=\"unchanged\"}"]);
    CPPUNIT_ASSERT_EQUAL(std::string("1"), now["sluice_config_last_reload_successful"]);
    CPPUNIT_ASSERT_EQUAL(std::string("3000"), now["sluice_config_last_reload_success_timestamp_seconds"]);
  }

  void requests_by_code_host_and_method() {
    metrics_.answered({.host = "10.0.0.1:6443", .method = "GET", .status = 200, .seconds = 0.5});
    metrics_.answered({.host = "10.0.0.1:6443", .method = "GET", .status = 0, .seconds = 1});
    metrics_.waited("10.0.0.1:6443", "POST", 0);
    expect("1", "rest_client_requests_total{code=\"200\",host=\"10.0.0.1:6443\",method=\"GET\"}");
    expect("1", "rest_client_requests_total{code=\"<error>\",host=\"10.0.0.1:6443\",method=\"GET\"}");
    expect("1.5", "rest_client_request_duration_seconds_sum{host=\"10.0.0.1:6443\",verb=\"GET\"}");
    expect("1", "rest_client_rate_limiter_duration_seconds_count{host=\"10.0.0.1:6443\",verb=\"POST\"}");
  }

  void service_changes_count_once_per_family() {
    ScrapeData data = two_families();
    data.store.service_events = 3;
    data.store.slice_events[0] = 4;
    data.store.slice_events[1] = 1;
    data.store.pending_services[0] = 1;
    data.store.pending_services[1] = 2;
    data.store.pending_slice_changes[0] = 5;
    data.store.pending_slice_changes[1] = 6;
    metrics_.set_scrape_source([data] { return data; });
    expect("6", "kubeproxy_sync_proxy_rules_service_changes_total");
    expect("2", "kubeproxy_sync_proxy_rules_service_changes_pending");
    expect("5", "kubeproxy_sync_proxy_rules_endpoint_changes_total");
    expect("11", "kubeproxy_sync_proxy_rules_endpoint_changes_pending");
    data.families.pop_back();  // without IPv6, its slices are not counted
    metrics_.set_scrape_source([data] { return data; });
    expect("3", "kubeproxy_sync_proxy_rules_service_changes_total");
    expect("4", "kubeproxy_sync_proxy_rules_endpoint_changes_total");
  }

  void family_and_resource_metrics() {
    ScrapeData data = two_families();
    data.families[0].loop.failures = 2;
    data.families[0].loop.last_queued = std::chrono::system_clock::time_point(5s);
    data.families[0].oldest_pending_seconds = 1.5;
    data.families[1].loop.unwell = true;
    data.store.service_ports[1] = 9;
    data.events.dropped = 4;
    ResourceStatus resource;
    resource.kind = "Service";
    resource.watches = 3;
    resource.connected = true;
    data.resources.push_back(resource);
    data.plugins.push_back({"iptables", "1.2", "0.7"});
    data.retiring = {{"ipvs", 0}, {"ipvs", 2.5}, {"userspace", 0}};
    config::Settings settings;
    settings.allow_external_ips = false;
    data.features = feature_states(settings);
    metrics_.set_scrape_source([data] { return data; });
    expect("4", "sluice_cluster_events_total{result=\"dropped\"}");
    expect("2", "sluice_sync_failures_total{ip_family=\"IPv4\"}");
    expect("0", "sluice_sync_failures_total{ip_family=\"IPv6\"}");
    expect("5", "kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds{ip_family=\"IPv4\"}");
    expect("absent", "kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds{ip_family=\"IPv6\"}");
    expect("1.5", "sluice_oldest_pending_change_age_seconds{ip_family=\"IPv4\"}");
    expect("1", "sluice_backend_unwell{ip_family=\"IPv6\"}");
    expect("9", "sluice_service_ports{ip_family=\"IPv6\"}");
    expect("2", "sluice_watch_restarts_total{kind=\"Service\"}");
    expect("1", "sluice_source_connected{kind=\"Service\"}");
    expect("2.5", "sluice_retiring_overdue_seconds{backend=\"ipvs\"}");
    expect("0", "sluice_retiring_overdue_seconds{backend=\"userspace\"}");
    expect("1", "sluice_plugin_info{abi=\"0.7\",id=\"iptables\",version=\"1.2\"}");
    expect("0", "kubernetes_feature_enabled{name=\"AllowServiceExternalIPs\",stage=\"\"}");
    expect("1", "kubernetes_feature_enabled{name=\"ComponentFlagz\",stage=\"BETA\"}");
    expect("0", "kubernetes_feature_enabled{name=\"AllAlpha\",stage=\"ALPHA\"}");
  }

  void the_version_of_kubernetes_can_be_overridden() {
    config::Settings settings;
    settings.flags["version"] = "false";
    CPPUNIT_ASSERT_EQUAL(std::string(), reported_kubernetes_version(settings));
    settings.flags["version"] = "v1.36.7-x.1";
    metrics_.set_scrape_source([&settings] {
      ScrapeData out;
      out.kubernetes_version = reported_kubernetes_version(settings);
      return out;
    });
    CPPUNIT_ASSERT(metrics_.text().find("git_version=\"v1.36.7-x.1\"") != std::string::npos);
  }

  void phases_of_the_start_appear_with_the_first_sync() {
    expect("absent", "sluice_start_seconds");
    metrics_.started({{{"store", 0.5}, {"first_apply", 0.25}}, 2});
    expect("2", "sluice_start_seconds");
    expect("0.5", "sluice_start_phase_seconds{phase=\"store\"}");
    expect("0.25", "sluice_start_phase_seconds{phase=\"first_apply\"}");
    expect("absent", "sluice_start_phase_seconds{phase=\"list_services\"}");
  }

  void swaps_are_counted_and_timed() {
    metrics_.swapped("iptables", "nftables", true, 0.2, 0.01);
    metrics_.swapped("iptables", "nftables", false, 30, 0.5);
    metrics_.swapped("nftables", "ipvs", true, 0.1, 0.25);
    expect("1", "sluice_swaps_total{from=\"iptables\",result=\"success\",to=\"nftables\"}");
    expect("1", "sluice_swaps_total{from=\"iptables\",result=\"failed\",to=\"nftables\"}");
    expect("3", "sluice_swap_seconds_count");
    expect("0.25", "sluice_swap_longest_wait_seconds");
  }

  void metrics_of_backends_are_sorted_among_the_others() {
    const auto backend = metrics_.plugin_sink().open("iptables", lib::Family::ipv4, nullptr);
    backend->record(abi::MetricKind::kGaugeSet, "mine_rules", "table=\"nat\",ip_family=\"IPv4\"", 7);
    backend->record(abi::MetricKind::kHistogramObserve, "dpu_write_seconds", "ip_family=\"IPv4\"", 0.5);
    expect("7", "mine_rules{ip_family=\"IPv4\",table=\"nat\"}");
    expect("0", "dpu_write_seconds_bucket{ip_family=\"IPv4\",le=\"0.256\"}");
    expect("1", "dpu_write_seconds_bucket{ip_family=\"IPv4\",le=\"0.512\"}");
    std::string before;
    std::istringstream lines(metrics_.text());
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("# TYPE ")) continue;
      CPPUNIT_ASSERT_MESSAGE(before + " before " + line, before < line);
      before = line;
    }
  }

  void types_and_help_are_from_the_catalogue() {
    touch_everything();
    const std::string text = metrics_.text();
    const auto found = types(text);
    for (const MetricDefinition& one : metric_catalogue()) {
      const std::string name(one.name);
      CPPUNIT_ASSERT_MESSAGE(name + " is never served", found.contains(name));
      CPPUNIT_ASSERT_EQUAL_MESSAGE(name, type_name(one.type), found.at(name));
      CPPUNIT_ASSERT_MESSAGE(name,
                             text.find("# HELP " + name + " " + std::string(one.help) + "\n") != std::string::npos);
    }
    CPPUNIT_ASSERT_EQUAL(metric_catalogue().size(), found.size());
  }

  void touch_everything() {
    metrics_.started({{{"store", 1}}, 1});
    const auto at = std::chrono::system_clock::now();
    for (const bool full : {true, false}) metrics_.synced(lib::Family::ipv4, {full, true, 0, 0, 0, 1, at, {at}, 0, 0});
    metrics_.swapped("iptables", "nftables", true, 0.2, 0.01);
    metrics_.conntrack_reconciled(lib::Family::ipv4, 0, 0);
    metrics_.answered_healthz(200);
    metrics_.answered_livez(200);
    metrics_.answered(
        {.host = "h", .method = "GET", .status = 200, .again = true, .request_bytes = 0, .answer_bytes = 1});
    metrics_.pool_used(kube::PoolUse::miss);
    metrics_.exec_plugin_called(0, "no_error");
    metrics_.ca_reloaded(true, "updated");
    metrics_.waited("h", "GET", 0);
    metrics_.plugin_sink().open("p", lib::Family::ipv4, nullptr)->record(abi::MetricKind::kGaugeSet, "no name", "", 1);
    ScrapeData data = two_families();
    data.families[0].loop.last_queued = at;
    data.resources.emplace_back().kind = "Service";
    data.plugins.push_back({"p", "1", "0.1"});
    data.retiring.push_back({"p", 0});
    data.features = feature_states(config::Settings());
    metrics_.set_scrape_source([data] { return data; });
  }

  void process_metrics() {
    const ProcessStatistics now = process_statistics();
    const double clock = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    CPPUNIT_ASSERT(now.resident_bytes && *now.resident_bytes > 1e6 && *now.resident_bytes < *now.virtual_bytes);
    CPPUNIT_ASSERT(now.cpu_seconds && *now.cpu_seconds >= 0);
    CPPUNIT_ASSERT(now.open_fds && *now.open_fds >= 3 && *now.open_fds <= *now.max_fds);
    CPPUNIT_ASSERT(now.start_time && *now.start_time < clock + 2 && *now.start_time > clock - 86400);
    std::ifstream one_more("/proc/self/stat");
    CPPUNIT_ASSERT_EQUAL(*now.open_fds + 1, *process_statistics().open_fds);
  }

  void log_lines_are_counted() {
    const auto before = base::log_lines(base::LogLevel::error);
    base::log(base::LogLevel::error, "daemon", "a line that a test counts");
    CPPUNIT_ASSERT_EQUAL(before + 1, base::log_lines(base::LogLevel::error));
    expect(std::to_string(before + 1), "sluice_log_lines_total{severity=\"error\"}");
  }

  void many_threads() {
    constexpr int kEach = 500;
    std::vector<std::thread> threads;
    for (int n = 0; n < 4; ++n) {
      threads.emplace_back([this] {
        for (int i = 0; i < kEach; ++i) {
          metrics_.answered_healthz(200);
          metrics_.synced(lib::Family::ipv4, {false, true, 0, 0, 0, 1, std::chrono::system_clock::now(), {}});
          metrics_.plugin_sink().open("p", lib::Family::ipv4, nullptr)->record(abi::MetricKind::kCounterAdd, "p_total", "", 1);
          if (i % 50 == 0) metrics_.text();
        }
      });
    }
    for (auto& thread : threads) thread.join();
    expect("2000", "kubeproxy_proxy_healthz_total{code=\"200\"}");
    expect("2000", "kubeproxy_sync_proxy_rules_duration_seconds_count{ip_family=\"IPv4\"}");
    expect("2000", "p_total");
  }

  // docs/reference/metrics.md is generated from the catalogue.
  void labels_are_those_of_the_catalogue() {
    const auto at = std::chrono::system_clock::now();
    metrics_.synced(lib::Family::ipv4, {true, true, 1, 1, 1, 1, at, {at}, 1, 1});
    metrics_.answered_healthz(200);
    metrics_.answered_livez(200);
    metrics_.waited("h", "GET", 0);
    metrics_.answered({.host = "a:1", .method = "GET", .status = 200, .request_bytes = 0, .answer_bytes = 5});
    const std::regex label("(\\w+)=\"");
    int found = 0;
    for (const auto& [series, value] : samples(metrics_.text())) {
      const std::string name = series.substr(0, series.find('{'));
      const MetricDefinition* definition = find_metric(name);
      if (definition == nullptr)
        definition = find_metric(std::regex_replace(name, std::regex("_(bucket|sum|count)$"), ""));
      CPPUNIT_ASSERT_MESSAGE(name, definition != nullptr);
      const std::string known = " " + std::string(definition->labels) + ",";
      for (std::sregex_iterator it(series.begin(), series.end(), label), end; it != end; ++it, ++found) {
        const std::string one = (*it)[1].str();
        CPPUNIT_ASSERT_MESSAGE(series, one == "le" || known.find(" " + one + ",") != std::string::npos);
      }
    }
    CPPUNIT_ASSERT(found > 20);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(MetricsTest);

}  // namespace metrics_test
}  // namespace sluice::observe
