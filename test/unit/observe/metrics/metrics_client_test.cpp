// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Metrics that kube-proxy has from the libraries of Kubernetes: rest_client_*, process_network_*, and metrics about
// metrics.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <chrono>
#include <regex>

#include "core/observe/metrics/catalogue.hpp"
#include "core/observe/metrics/metrics.hpp"
#include "core/observe/metrics/plugin_metrics.hpp"
#include "core/observe/metrics/process_statistics.hpp"
#include "test/unit/observe/metrics_text.hpp"

namespace sluice::observe {
namespace metrics_client_test {

using namespace std::chrono_literals;
using kube::PoolUse;

// All that kube-proxy 1.36 registers beside its own kubeproxy_*, with the type as /metrics names it.
struct OfKubeProxy {
  const char* name;
  const char* type;
};
constexpr OfKubeProxy kOfKubeProxy[] = {
    {"cardinality_enforcement_unexpected_categorizations_total", "counter"},
    {"disabled_metrics_total", "counter"},
    {"hidden_metrics_total", "counter"},
    {"kubernetes_build_info", "gauge"},
    {"kubernetes_feature_enabled", "gauge"},
    {"process_cpu_seconds_total", "counter"},
    {"process_max_fds", "gauge"},
    {"process_network_receive_bytes_total", "counter"},
    {"process_network_transmit_bytes_total", "counter"},
    {"process_open_fds", "gauge"},
    {"process_resident_memory_bytes", "gauge"},
    {"process_start_time_seconds", "gauge"},
    {"process_virtual_memory_bytes", "gauge"},
    {"process_virtual_memory_max_bytes", "gauge"},
    {"registered_metrics_total", "counter"},
    {"rest_client_dns_resolution_duration_seconds", "histogram"},
    {"rest_client_exec_plugin_call_total", "counter"},
    {"rest_client_exec_plugin_certificate_rotation_age", "histogram"},
    {"rest_client_exec_plugin_policy_call_total", "counter"},
    {"rest_client_exec_plugin_ttl_seconds", "gauge"},
    {"rest_client_rate_limiter_duration_seconds", "histogram"},
    {"rest_client_request_duration_seconds", "histogram"},
    {"rest_client_request_retries_total", "counter"},
    {"rest_client_request_size_bytes", "histogram"},
    {"rest_client_requests_total", "counter"},
    {"rest_client_response_size_bytes", "histogram"},
    {"rest_client_transport_ca_reload_total", "counter"},
    {"rest_client_transport_cache_entries", "gauge"},
    {"rest_client_transport_cache_gc_calls_total", "counter"},
    {"rest_client_transport_cert_rotation_gc_calls_total", "counter"},
    {"rest_client_transport_create_calls_total", "counter"},
};
// Prefixes of names that are explained together.
constexpr const char* kGroups[] = {"aggregator_", "apiserver_", "go_", "informer_", "leader_election_", "workqueue_"};

class ClientMetricsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ClientMetricsTest);
  CPPUNIT_TEST(every_metric_of_kube_proxy_is_served_or_explained);
  CPPUNIT_TEST(names_of_kube_proxy_are_reserved);
  CPPUNIT_TEST(prefixes_of_kube_proxy_are_reserved);
  CPPUNIT_TEST(requests_have_sizes);
  CPPUNIT_TEST(repeated_requests_are_retries);
  CPPUNIT_TEST(buckets_are_those_of_client_go);
  CPPUNIT_TEST(connection_pools_are_transports);
  CPPUNIT_TEST(calls_of_exec_credential_plugins);
  CPPUNIT_TEST(the_shortest_lived_certificate_counts);
  CPPUNIT_TEST(certificate_authorities_are_reloaded);
  CPPUNIT_TEST(metrics_are_counted_by_stability);
  CPPUNIT_TEST(bytes_of_the_network_namespace);
  CPPUNIT_TEST_SUITE_END();

  Metrics metrics_;

  std::string value(const std::string& sample) {
    const auto all = test::samples(metrics_.text());
    const auto found = all.find(sample);
    return found == all.end() ? "absent" : found->second;
  }
  void expect(const std::string& wanted, const std::string& sample) {
    CPPUNIT_ASSERT_EQUAL_MESSAGE(sample, wanted, value(sample));
  }
  // The section of the documentation that lists missing metrics, with reasons.
  static std::string not_there() {
    const std::string text = test::file_of_project("docs/reference/metrics.md");
    const auto begin = text.find("\n## Metrics of kube-proxy that do not exist\n");
    CPPUNIT_ASSERT_MESSAGE("docs/reference/metrics.md does not say what is not there", begin != std::string::npos);
    return text.substr(begin, text.find("\n## ", begin + 1) - begin);
  }

  void every_metric_of_kube_proxy_is_served_or_explained() {
    const std::string explained = not_there();
    for (const OfKubeProxy& one : kOfKubeProxy) {
      const MetricDefinition* definition = find_metric(one.name);
      const bool documented = explained.find(std::string("`") + one.name + "`") != std::string::npos;
      CPPUNIT_ASSERT_MESSAGE(std::string(one.name) + " is neither served nor explained",
                             (definition != nullptr) != documented);
      if (definition == nullptr) continue;
      const std::string type = definition->type == prometheus::MetricType::Counter ? "counter"
                               : definition->type == prometheus::MetricType::Gauge ? "gauge"
                                                                                   : "histogram";
      CPPUNIT_ASSERT_EQUAL_MESSAGE(one.name, std::string(one.type), type);
    }
    for (const char* group : kGroups) {
      CPPUNIT_ASSERT_MESSAGE(group, explained.find(std::string("`") + group + "*`") != std::string::npos);
    }
  }

  void names_of_kube_proxy_are_reserved() {
    const auto sink = metrics_.plugin_sink().open("p", lib::Family::ipv4, nullptr);
    for (const OfKubeProxy& one : kOfKubeProxy)
      sink->record(abi::MetricKind::kGaugeSet, one.name, "plugin=\"p\"", 1);
    for (const char* group : kGroups) {
      sink->record(abi::MetricKind::kGaugeSet, std::string(group) + "x", "plugin=\"p\"", 1);
    }
    const std::string text = metrics_.text();
    CPPUNIT_ASSERT(text.find("{plugin=\"p\"} 1") == std::string::npos);
    const auto dropped = std::size(kOfKubeProxy) + std::size(kGroups);
    expect(std::to_string(dropped), "sluice_plugin_metrics_dropped_total{plugin=\"p\"}");
  }

  void prefixes_of_kube_proxy_are_reserved() {
    std::size_t found = 0;
    for (const std::string_view prefix : reserved_metric_prefixes()) {
      metrics_.plugin_sink().open("p", lib::Family::ipv4, nullptr)->record(abi::MetricKind::kGaugeSet, std::string(prefix) + "x", "", 1);
      expect(std::to_string(++found), "sluice_plugin_metrics_dropped_total{plugin=\"p\"}");
    }
    CPPUNIT_ASSERT(found >= std::size(kGroups));
  }

  void requests_have_sizes() {
    metrics_.answered({.host = "a:1", .method = "GET", .status = 200, .request_bytes = 0, .answer_bytes = 5000});
    metrics_.answered({.host = "a:1", .method = "GET", .status = 200});  // a watch
    metrics_.answered({.host = "a:1", .method = "POST", .status = 0, .request_bytes = 300});
    expect("1", "rest_client_request_size_bytes_count{host=\"a:1\",verb=\"GET\"}");
    expect("0", "rest_client_request_size_bytes_sum{host=\"a:1\",verb=\"GET\"}");
    expect("300", "rest_client_request_size_bytes_sum{host=\"a:1\",verb=\"POST\"}");
    expect("5000", "rest_client_response_size_bytes_sum{host=\"a:1\",verb=\"GET\"}");
    expect("1", "rest_client_response_size_bytes_count{host=\"a:1\",verb=\"GET\"}");
    expect("absent", "rest_client_response_size_bytes_count{host=\"a:1\",verb=\"POST\"}");
    expect("2", "rest_client_requests_total{code=\"200\",host=\"a:1\",method=\"GET\"}");
  }

  void repeated_requests_are_retries() {
    metrics_.answered({.host = "a:1", .method = "GET", .status = 429});
    expect("absent", "rest_client_request_retries_total{code=\"429\",host=\"a:1\",verb=\"GET\"}");
    metrics_.answered({.host = "a:1", .method = "GET", .status = 200, .again = true});
    metrics_.answered({.host = "a:1", .method = "GET", .status = 0, .again = true});
    expect("1", "rest_client_request_retries_total{code=\"200\",host=\"a:1\",verb=\"GET\"}");
    expect("1", "rest_client_request_retries_total{code=\"<error>\",host=\"a:1\",verb=\"GET\"}");
    expect("1", "rest_client_requests_total{code=\"200\",host=\"a:1\",method=\"GET\"}");
  }

  void buckets_are_those_of_client_go() {
    metrics_.answered({.host = "h", .method = "GET", .status = 200, .request_bytes = 0, .answer_bytes = 0});
    std::map<std::string, std::string> bounds;
    std::istringstream lines(metrics_.text());
    const std::regex bucket(R"re((\w+)_bucket\{.*le="([^"]+)"\} .*)re");
    for (std::string line; std::getline(lines, line);) {
      if (std::smatch match; std::regex_match(line, match, bucket)) bounds[match[1]] += match[2].str() + " ";
    }
    const std::string size = "64 256 512 1024 4096 16384 65536 262144 1048576 4194304 16777216 +Inf ";
    CPPUNIT_ASSERT_EQUAL(size, bounds["rest_client_request_size_bytes"]);
    CPPUNIT_ASSERT_EQUAL(size, bounds["rest_client_response_size_bytes"]);
    CPPUNIT_ASSERT_EQUAL(
        std::string("600 1800 3600 14400 86400 604800 2592000 7776000 15552000 31104000 124416000 +Inf "),
        bounds["rest_client_exec_plugin_certificate_rotation_age"]);
  }

  void connection_pools_are_transports() {
    expect("0", "rest_client_transport_cache_entries");
    for (const PoolUse use : {PoolUse::miss, PoolUse::hit, PoolUse::hit, PoolUse::uncacheable}) metrics_.pool_used(use);
    metrics_.pools_kept(1);
    expect("1", "rest_client_transport_cache_entries");
    metrics_.pools_kept(-1);
    expect("0", "rest_client_transport_cache_entries");
    expect("2", "rest_client_transport_create_calls_total{result=\"hit\"}");
    expect("1", "rest_client_transport_create_calls_total{result=\"miss\"}");
    expect("1", "rest_client_transport_create_calls_total{result=\"uncacheable\"}");
  }

  void calls_of_exec_credential_plugins() {
    metrics_.exec_plugin_called(0, "no_error");
    metrics_.exec_plugin_called(3, "plugin_execution_error");
    metrics_.exec_plugin_called(3, "plugin_execution_error");
    expect("1", "rest_client_exec_plugin_call_total{call_status=\"no_error\",code=\"0\"}");
    expect("2", "rest_client_exec_plugin_call_total{call_status=\"plugin_execution_error\",code=\"3\"}");
  }

  void the_shortest_lived_certificate_counts() {
    const auto ttl = [&] { return value("rest_client_exec_plugin_ttl_seconds"); };
    const auto now = std::chrono::system_clock::now();
    CPPUNIT_ASSERT_EQUAL(std::string("+Inf"), ttl());
    expect("0", "rest_client_exec_plugin_certificate_rotation_age_count");
    const int first = 0, second = 0;
    metrics_.exec_certificate_expires(&first, now + 24h * 365);
    metrics_.exec_certificate_expires(&second, now - 24h);
    CPPUNIT_ASSERT(std::stod(ttl()) <= -86400);
    metrics_.exec_certificate_expires(&second, std::nullopt);
    CPPUNIT_ASSERT(std::stod(ttl()) > 86400 && std::stod(ttl()) <= 365 * 86400);
    metrics_.exec_certificate_expires(&first, std::nullopt);
    CPPUNIT_ASSERT_EQUAL(std::string("+Inf"), ttl());
    metrics_.exec_certificate_rotated(1000);
    expect("1", "rest_client_exec_plugin_certificate_rotation_age_bucket{le=\"1800\"}");
    expect("0", "rest_client_exec_plugin_certificate_rotation_age_bucket{le=\"600\"}");
  }

  void certificate_authorities_are_reloaded() {
    metrics_.ca_reloaded(true, "unchanged");
    metrics_.ca_reloaded(false, "read_error");
    expect("1", "rest_client_transport_ca_reload_total{reason=\"unchanged\",result=\"success\"}");
    expect("1", "rest_client_transport_ca_reload_total{reason=\"read_error\",result=\"failure\"}");
  }

  void metrics_are_counted_by_stability() {
    const auto count = [&](const std::string& level) {
      return std::stoul(value("registered_metrics_total{deprecated_version=\"\",stability_level=\"" + level + "\"}"));
    };
    for (const char* name : {"disabled_metrics_total", "hidden_metrics_total",
                             "cardinality_enforcement_unexpected_categorizations_total"}) {
      expect("0", name);
    }
    std::map<std::string, unsigned long> wanted;
    for (const MetricDefinition& one : metric_catalogue()) {
      if (one.help.starts_with('[')) {
        ++wanted[std::string(one.help.substr(1, one.help.find(']') - 1))];
      }
    }
    CPPUNIT_ASSERT(wanted.size() == 2 && wanted["ALPHA"] > 20 && wanted["BETA"] == 4);
    CPPUNIT_ASSERT_EQUAL(wanted["ALPHA"], count("ALPHA"));
    CPPUNIT_ASSERT_EQUAL(wanted["BETA"], count("BETA"));
    plugin::MetricDeclarations declared;
    declared["kubeproxy_rules"] = {abi::MetricType::kGauge, false, false, "[ALPHA] Rules", "", {"table"}, {}};
    const auto backend = metrics_.plugin_sink().open("iptables", lib::Family::ipv4,
                                                     std::make_shared<plugin::MetricDeclarations>(declared));
    backend->record(abi::MetricKind::kGaugeSet, "kubeproxy_rules", "table=\"nat\"", 1);
    backend->record(abi::MetricKind::kGaugeSet, "kubeproxy_rules", "table=\"x\"", 1);
    backend->record(abi::MetricKind::kGaugeSet, "a_metric_of_a_plugin", "", 1);
    CPPUNIT_ASSERT_EQUAL(wanted["ALPHA"] + 1, count("ALPHA"));
  }

  void bytes_of_the_network_namespace() {
    const std::string text =
        "TcpExt: SyncookiesSent InOctets\nTcpExt: 1 2\n"
        "IpExt: InNoRoutes InOctets OutOctets\nIpExt: 3 18446744073709551615 5\n";
    CPPUNIT_ASSERT_EQUAL(18446744073709551615.0, netstat_counter(text, "IpExt", "InOctets").value_or(-1));
    CPPUNIT_ASSERT_EQUAL(5.0, netstat_counter(text, "IpExt", "OutOctets").value_or(-1));
    CPPUNIT_ASSERT_EQUAL(2.0, netstat_counter(text, "TcpExt", "InOctets").value_or(-1));
    CPPUNIT_ASSERT(!netstat_counter(text, "IpExt", "SyncookiesSent"));
    CPPUNIT_ASSERT(!netstat_counter("IpExt: InOctets\n", "IpExt", "InOctets"));
    CPPUNIT_ASSERT(!netstat_counter("IpExt: A InOctets\nIpExt: 1\n", "IpExt", "InOctets"));
    CPPUNIT_ASSERT(!netstat_counter("", "IpExt", "InOctets"));
    const ProcessStatistics now = process_statistics();
    CPPUNIT_ASSERT(now.received_bytes && now.sent_bytes);
    CPPUNIT_ASSERT(value("process_network_receive_bytes_total") != "absent");
    CPPUNIT_ASSERT(value("process_network_transmit_bytes_total") != "absent");
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ClientMetricsTest);

}  // namespace metrics_client_test
}  // namespace sluice::observe
