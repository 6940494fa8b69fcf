// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include "core/config/file.hpp"
#include "core/config/option_readers.hpp"
#include "test/unit/config/problem_text.hpp"
#include "test/unit/temporary_folder.hpp"

namespace sluice::config {
namespace file_test {

using namespace std::chrono_literals;

const std::string kProxy = "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n";
const std::string kSluice = "apiVersion: sluice.dev/v1alpha1\nkind: SluiceConfiguration\n";

struct Read {
  Draft draft;
  std::string problems;
};

Read read(const std::string& text, bool strict = false) {
  Read out;
  Problems problems;
  read_config_text(text, "c.yaml", {.strict = strict}, out.draft, problems);
  out.problems = test::problem_text(problems);
  return out;
}
// The fields start in line 3, after the head of the document.
Read proxy(const std::string& fields, bool strict = false) { return read(kProxy + fields, strict); }
Read sluice(const std::string& fields) { return read(kSluice + fields); }
// The fields of the second document, as an error lists them.
std::string allowed_in_sluice() {
  std::string out;
  for (const auto& [name, option] : fields_of(Document::sluice)) {
    out += (out.empty() ? "" : ", ") + std::string(name);
  }
  return out;
}

class ConfigFileTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ConfigFileTest);
  CPPUNIT_TEST(every_supported_field_is_read_with_its_place);
  CPPUNIT_TEST(reads_json);
  CPPUNIT_TEST(empty_and_zero_values_mean_the_default);
  CPPUNIT_TEST(a_zero_period_means_the_default_and_a_zero_timeout_means_zero);
  CPPUNIT_TEST(requests_and_recordings_are_read_with_their_place);
  CPPUNIT_TEST(accepts_the_file_of_kubeadm_without_warnings_even_when_strict);
  CPPUNIT_TEST(unknown_fields_are_warnings_and_errors_when_strict);
  CPPUNIT_TEST(unknown_fields_of_groups_have_their_full_name);
  CPPUNIT_TEST(the_last_of_a_repeated_field_wins);
  CPPUNIT_TEST(errors_of_wrong_types_contain_the_place_and_the_allowed_values);
  CPPUNIT_TEST(wrong_elements_of_lists_have_their_own_line);
  CPPUNIT_TEST(reports_all_problems_at_once);
  CPPUNIT_TEST(broken_yaml_is_one_error_with_a_line);
  CPPUNIT_TEST(rejects_wrong_kinds);
  CPPUNIT_TEST(rejects_an_empty_file);
  CPPUNIT_TEST(documents_have_a_fixed_order_and_are_unique);
  CPPUNIT_TEST(the_second_document_is_read_with_sections);
  CPPUNIT_TEST(the_second_document_is_strict);
  CPPUNIT_TEST(sections_are_flattened_and_kept_as_text);
  CPPUNIT_TEST(rejects_sections_that_are_not_a_map);
  CPPUNIT_TEST(rejects_endless_documents);
  CPPUNIT_TEST(a_missing_file_is_an_error_with_its_path);
  CPPUNIT_TEST_SUITE_END();

 public:
  void every_supported_field_is_read_with_its_place() {
    const Read r = proxy(
        "bindAddress: 192.0.2.1\n"           // line 3
        "clientConnection:\n"                // 4
        "  kubeconfig: /etc/kubeconfig\n"    // 5
        "  contentType: application/json\n"  // 6
        "clusterCIDR: 10.0.0.0/8\n"          // 7
        "configSyncPeriod: 10m\n"            // 8
        "detectLocal:\n"                     // 9
        "  bridgeInterface: br0\n"           // 10
        "  interfaceNamePrefix: veth\n"      // 11
        "detectLocalMode: NodeCIDR\n"        // 12
        "hostnameOverride: Node-1\n"         // 13
        "iptables:\n"                        // 14
        "  localhostNodePorts: false\n"      // 15
        "  masqueradeAll: yes\n"             // 16: YAML 1.1, as in kube-proxy
        "  masqueradeBit: 0\n"               // 17
        "  minSyncPeriod: 2s\n"              // 18
        "  syncPeriod: 1m30s\n"              // 19
        "ipvs:\n"                            // 20
        "  minSyncPeriod: 3s\n"              // 21
        "  syncPeriod: 4s\n"                 // 22
        "logging:\n"                         // 23
        "  flushFrequency: 5s\n"             // 24, without effect
        "  format: json\n"                   // 25
        "  verbosity: 4\n"                   // 26
        "mode: nftables\n"                   // 27
        "nftables:\n"                        // 28
        "  masqueradeAll: true\n"            // 29
        "  masqueradeBit: 15\n"              // 30
        "  minSyncPeriod: 5s\n"              // 31
        "  syncPeriod: 6s\n"                 // 32
        "nodePortAddresses:\n"               // 33
        "- 192.0.2.0/24\n"                   // 34
        "- fd00::/8\n",                      // 35
        true);
    CPPUNIT_ASSERT_EQUAL(std::string(), r.problems);
    const Draft& d = r.draft;
    CPPUNIT_ASSERT_EQUAL(std::string("192.0.2.1"), d.bind_address.value);
    CPPUNIT_ASSERT_EQUAL(std::string("c.yaml:3: bindAddress"), d.bind_address.where);
    CPPUNIT_ASSERT_EQUAL(std::string("/etc/kubeconfig"), d.kubeconfig.value);
    CPPUNIT_ASSERT_EQUAL(std::string("c.yaml:5: clientConnection.kubeconfig"), d.kubeconfig.where);
    CPPUNIT_ASSERT_EQUAL(std::string("c.yaml:6: clientConnection.contentType"), d.content_type.where);
    CPPUNIT_ASSERT_EQUAL(std::string("10.0.0.0/8"), d.cluster_cidr.value);
    CPPUNIT_ASSERT(d.config_sync_period.value == 10min);
    CPPUNIT_ASSERT_EQUAL(std::string("br0"), d.bridge_interface.value);
    CPPUNIT_ASSERT_EQUAL(std::string("c.yaml:10: detectLocal.bridgeInterface"), d.bridge_interface.where);
    CPPUNIT_ASSERT_EQUAL(std::string("veth"), d.interface_name_prefix.value);
    CPPUNIT_ASSERT_EQUAL(std::string("NodeCIDR"), d.detect_local_mode.value);
    CPPUNIT_ASSERT_EQUAL(std::string("Node-1"), d.host_name.value);
    CPPUNIT_ASSERT(!d.settings.localhost_node_ports);
    CPPUNIT_ASSERT(d.iptables.masquerade_all.value);
    CPPUNIT_ASSERT_EQUAL(0, d.iptables.masquerade_bit.value);
    CPPUNIT_ASSERT(d.iptables.min_sync_period.value == 2s);
    CPPUNIT_ASSERT(d.iptables.sync_period.value == 90s);
    CPPUNIT_ASSERT_EQUAL(std::string("c.yaml:19: iptables.syncPeriod"), d.iptables.sync_period.where);
    CPPUNIT_ASSERT(d.ipvs.min_sync_period.value == 3s);
    CPPUNIT_ASSERT(d.ipvs.sync_period.value == 4s);
    CPPUNIT_ASSERT_EQUAL(std::string("json"), d.log_format.value);
    CPPUNIT_ASSERT_EQUAL(4, d.settings.log.verbosity);
    CPPUNIT_ASSERT_EQUAL(std::string("nftables"), d.mode.value);
    CPPUNIT_ASSERT(d.nftables.masquerade_all.value);
    CPPUNIT_ASSERT_EQUAL(15, d.nftables.masquerade_bit.value);
    CPPUNIT_ASSERT(d.nftables.min_sync_period.value == 5s);
    CPPUNIT_ASSERT(d.nftables.sync_period.value == 6s);
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, d.node_port_addresses.size());
    CPPUNIT_ASSERT_EQUAL(std::string("fd00::/8"), d.node_port_addresses[1].value);
    CPPUNIT_ASSERT_EQUAL(std::string("c.yaml:35: nodePortAddresses[1]"), d.node_port_addresses[1].where);
  }

  void reads_json() {
    const Read r = read(
        "{\n\t\"apiVersion\": \"kubeproxy.config.k8s.io/v1alpha1\",\n\t\"kind\": \"KubeProxyConfiguration\",\n"
        "\t\"mode\": \"iptables\",\n\t\"iptables\": {\"masqueradeAll\": true, \"syncPeriod\": \"1m\"}\n}\n");
    CPPUNIT_ASSERT_EQUAL(std::string(), r.problems);
    CPPUNIT_ASSERT(r.draft.iptables.masquerade_all.value);
    CPPUNIT_ASSERT(r.draft.iptables.sync_period.value == 1min);
    CPPUNIT_ASSERT_EQUAL(std::string("c.yaml:4: mode"), r.draft.mode.where);
  }

  void empty_and_zero_values_mean_the_default() {
    const Read r = proxy(
        "bindAddress: \"\"\nconfigSyncPeriod: 0s\niptables:\n  masqueradeBit: null\n  syncPeriod: 0s\n"
        "  minSyncPeriod: 0s\nmode: \"\"\nnodePortAddresses: null\nnftables:\n");
    CPPUNIT_ASSERT_EQUAL(std::string(), r.problems);
    CPPUNIT_ASSERT_EQUAL(std::string("0.0.0.0"), r.draft.bind_address.value);
    CPPUNIT_ASSERT(r.draft.config_sync_period.value == 15min);
    CPPUNIT_ASSERT_EQUAL(14, r.draft.iptables.masquerade_bit.value);
    CPPUNIT_ASSERT(r.draft.iptables.sync_period.value == 30s);
    CPPUNIT_ASSERT(!r.draft.iptables.min_sync_period.given());
    CPPUNIT_ASSERT(!r.draft.mode.given());
    CPPUNIT_ASSERT(r.draft.node_port_addresses.empty());
  }

  void a_zero_period_means_the_default_and_a_zero_timeout_means_zero() {
    const std::string zero_periods = "  syncPeriod: 0s\n  minSyncPeriod: 0s\n";
    const Read periods = read(kProxy + "ipvs:\n" + zero_periods + "nftables:\n" + zero_periods + "---\n" + kSluice +
                              "udpTimeout: 0s\ndrainTimeout: 0s\ndescriptorHolderTimeout: 0s\n");
    CPPUNIT_ASSERT_EQUAL(std::string(), periods.problems);
    CPPUNIT_ASSERT(periods.draft.ipvs.sync_period.value == 30s);
    CPPUNIT_ASSERT(!periods.draft.ipvs.min_sync_period.given());
    CPPUNIT_ASSERT(periods.draft.nftables.sync_period.value == 30s);
    CPPUNIT_ASSERT(!periods.draft.nftables.min_sync_period.given());
    CPPUNIT_ASSERT(periods.draft.udp_timeout.value == 30s);
    CPPUNIT_ASSERT(periods.draft.settings.drain_timeout == 0s);
    CPPUNIT_ASSERT(periods.draft.settings.holder_timeout == 0s);
    const Read timeouts = proxy("conntrack:\n  tcpEstablishedTimeout: 0s\n  tcpCloseWaitTimeout: 0s\n");
    CPPUNIT_ASSERT(timeouts.draft.settings.conntrack.tcp_established_timeout == 0s);
    CPPUNIT_ASSERT(timeouts.draft.settings.conntrack.tcp_close_wait_timeout == 0s);
  }

  void requests_and_recordings_are_read_with_their_place() {
    const Read r = proxy("clientConnection:\n  acceptContentTypes: a\n  burst: 3\n  qps: 2.5\n", true);
    CPPUNIT_ASSERT_EQUAL(std::string(), r.problems);
    CPPUNIT_ASSERT_EQUAL(std::string("c.yaml:4: clientConnection.acceptContentTypes"),
                         r.draft.accept_content_types.where);
    CPPUNIT_ASSERT_EQUAL(3, r.draft.burst.value);
    CPPUNIT_ASSERT_EQUAL(2.5, r.draft.qps.value);
    CPPUNIT_ASSERT_EQUAL(std::string("c.yaml:6: clientConnection.qps"), r.draft.qps.where);
    CPPUNIT_ASSERT_EQUAL(
        std::string(
            "E c.yaml:4: clientConnection.qps: 'all' is not a number; allowed: a number without quotes, such as "
            "5 or 0.5\nE c.yaml:5: clientConnection.burst: '1.5' is not a number; allowed: a whole number "
            "without quotes, such as 14\n"),
        proxy("clientConnection:\n  qps: all\n  burst: 1.5\n").problems);
  }

  // All fields, most of them empty.
  void accepts_the_file_of_kubeadm_without_warnings_even_when_strict() {
    const Read r = proxy(
        "bindAddress: 0.0.0.0\nbindAddressHardFail: false\nclientConnection:\n  acceptContentTypes: \"\"\n  burst: 0\n"
        "  contentType: \"\"\n  kubeconfig: /var/lib/kube-proxy/kubeconfig.conf\n  qps: 0\nclusterCIDR: 10.244.0.0/16\n"
        "configSyncPeriod: 0s\nconntrack:\n  maxPerCore: null\n  min: null\n  tcpBeLiberal: false\n"
        "  tcpCloseWaitTimeout: null\n  tcpEstablishedTimeout: null\n  udpStreamTimeout: 0s\n  udpTimeout: 0s\n"
        "detectLocal:\n  bridgeInterface: \"\"\n  interfaceNamePrefix: \"\"\ndetectLocalMode: \"\"\n"
        "enableProfiling: false\nfeatureGates: {}\nhealthzBindAddress: \"\"\nhostnameOverride: \"\"\niptables:\n"
        "  localhostNodePorts: null\n  masqueradeAll: false\n  masqueradeBit: null\n  minSyncPeriod: 0s\n"
        "  syncPeriod: 0s\nipvs:\n  excludeCIDRs: null\n  minSyncPeriod: 0s\n  scheduler: \"\"\n  strictARP: false\n"
        "  syncPeriod: 0s\n  tcpFinTimeout: 0s\n  tcpTimeout: 0s\n  udpTimeout: 0s\nlogging:\n  flushFrequency: 0\n"
        "  options:\n    json:\n      infoBufferSize: \"0\"\n    text:\n      infoBufferSize: \"0\"\n  verbosity: 0\n"
        "metricsBindAddress: \"\"\nmode: \"\"\nnftables:\n  masqueradeAll: false\n  masqueradeBit: null\n"
        "  minSyncPeriod: 0s\n  syncPeriod: 0s\nnodePortAddresses: null\noomScoreAdj: null\nportRange: \"\"\n"
        "showHiddenMetricsForVersion: \"\"\nwinkernel:\n  enableDSR: false\n  forwardHealthCheckVip: false\n"
        "  networkName: \"\"\n  rootHnsEndpointName: \"\"\n  sourceVip: \"\"\n",
        true);
    CPPUNIT_ASSERT_EQUAL(std::string(), r.problems);
  }

  void unknown_fields_are_warnings_and_errors_when_strict() {
    const std::string text = "clusterCidr: 10.0.0.0/8\n";
    CPPUNIT_ASSERT_EQUAL(
        std::string("W c.yaml:3: clusterCidr: unknown field; it is ignored; did you mean clusterCIDR?\n"),
        proxy(text).problems);
    CPPUNIT_ASSERT_EQUAL(std::string("E c.yaml:3: clusterCidr: unknown field; did you mean clusterCIDR?\n"),
                         proxy(text, true).problems);
    CPPUNIT_ASSERT_EQUAL(std::string("W c.yaml:3: whatsoever: unknown field; it is ignored\n"),
                         proxy("whatsoever: {a: 1}\n").problems);
  }

  void unknown_fields_of_groups_have_their_full_name() {
    CPPUNIT_ASSERT_EQUAL(
        std::string(
            "W c.yaml:4: iptables.syncPeriode: unknown field; it is ignored; did you mean iptables.syncPeriod?\n"),
        proxy("iptables:\n  syncPeriode: 1s\n").problems);
    CPPUNIT_ASSERT_EQUAL(std::string("E c.yaml:3: iptables: is 'yes', not a map; allowed: fields below it\n"),
                         proxy("iptables: yes\n").problems);
  }

  void the_last_of_a_repeated_field_wins() {
    const Read r = proxy("mode: ipvs\nmode: iptables\n");
    CPPUNIT_ASSERT_EQUAL(std::string("W c.yaml:4: mode: is set twice; the last one counts\n"), r.problems);
    CPPUNIT_ASSERT_EQUAL(std::string("iptables"), r.draft.mode.value);
    CPPUNIT_ASSERT_EQUAL(std::string("E c.yaml:4: mode: is set twice\n"),
                         proxy("mode: ipvs\nmode: iptables\n", true).problems);
  }

  void errors_of_wrong_types_contain_the_place_and_the_allowed_values() {
    CPPUNIT_ASSERT_EQUAL(std::string("E c.yaml:3: mode: is a list, not a string; allowed: one string\n"),
                         proxy("mode: [iptables]\n").problems);
    CPPUNIT_ASSERT_EQUAL(
        std::string(
            "E c.yaml:4: iptables.masqueradeAll: 'true' is not a boolean; allowed: true or false, without quotes\n"),
        proxy("iptables:\n  masqueradeAll: \"true\"\n").problems);
    CPPUNIT_ASSERT_EQUAL(
        std::string("E c.yaml:4: iptables.masqueradeAll: is a map, not a boolean; allowed: true or false\n"),
        proxy("iptables:\n  masqueradeAll: {a: b}\n").problems);
    CPPUNIT_ASSERT_EQUAL(
        std::string("E c.yaml:4: iptables.masqueradeBit: 'many' is not a number; allowed: a whole number "
                    "without quotes, such as 14\n"),
        proxy("iptables:\n  masqueradeBit: many\n").problems);
    CPPUNIT_ASSERT_EQUAL(
        std::string("E c.yaml:4: logging.verbosity: '4' is not a number; allowed: a whole number without "
                    "quotes, such as 14\n"),
        proxy("logging:\n  verbosity: '4'\n").problems);
    CPPUNIT_ASSERT_EQUAL(
        std::string("E c.yaml:3: configSyncPeriod: '900' is not a duration; allowed: numbers with a unit "
                    "(ns, us, ms, s, m, h), such as 30s, 1m30s or 500ms\n"),
        proxy("configSyncPeriod: 900\n").problems);
    CPPUNIT_ASSERT_EQUAL(
        std::string("E c.yaml:3: nodePortAddresses: is 'primary', not a list; allowed: a list of strings, "
                    "such as [a, b]\n"),
        proxy("nodePortAddresses: primary\n").problems);
  }

  void wrong_elements_of_lists_have_their_own_line() {
    CPPUNIT_ASSERT_EQUAL(std::string("E c.yaml:5: nodePortAddresses[1]: is a map, not a string; allowed: one string\n"
                                     "E c.yaml:6: nodePortAddresses[2]: is empty; allowed: a string\n"),
                         proxy("nodePortAddresses:\n- 10.0.0.0/8\n- a: b\n- ~\n").problems);
  }

  void reports_all_problems_at_once() {
    const Read r =
        read(kProxy + "mode: []\nfoo: 1\noomScoreAdj: x\n---\n" + kSluice + "plugindirs: [/a]\nbackends: 4\n", true);
    CPPUNIT_ASSERT_EQUAL(
        std::string(
            "E c.yaml:3: mode: is a list, not a string; allowed: one string\n"
            "E c.yaml:4: foo: unknown field\n"
            "E c.yaml:5: oomScoreAdj: 'x' is not a number; allowed: a whole number without quotes, such as 14\n"
            "E c.yaml:9: plugindirs: unknown field; allowed: ") +
            allowed_in_sluice() +
            "; did you mean pluginDirs?\n"
            "E c.yaml:10: backends: is '4', not a map; allowed: fields below it\n",
        r.problems);
  }

  void broken_yaml_is_one_error_with_a_line() {
    CPPUNIT_ASSERT_EQUAL(std::string("E c.yaml:3: is not valid YAML: illegal map value\n"),
                         proxy("bindAddress: ::\n").problems);
    CPPUNIT_ASSERT(proxy("a: [1\n").problems.starts_with("E c.yaml:"));
    CPPUNIT_ASSERT(proxy("a: *nowhere\n").problems.starts_with("E c.yaml:3: is not valid YAML"));
    // The tree builder of yaml-cpp never finishes for this text.
    const std::string endless = ",*aa: " + std::string(19, '\0') + "\xc8*\xdd&]\n";
    CPPUNIT_ASSERT(proxy(endless).problems.find("is not valid YAML") != std::string::npos);
    CPPUNIT_ASSERT(read(std::string(100'000, '[')).problems.starts_with("E c.yaml"));
  }

  void rejects_wrong_kinds() {
    const std::string allowed =
        "; allowed: KubeProxyConfiguration of kubeproxy.config.k8s.io/v1alpha1, then SluiceConfiguration of "
        "sluice.dev/v1alpha1\n";
    CPPUNIT_ASSERT_EQUAL(
        "E c.yaml:1: is kind 'KubeletConfiguration' of apiVersion 'kubelet.config.k8s.io/v1beta1'" + allowed,
        read("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n").problems);
    CPPUNIT_ASSERT_EQUAL("E c.yaml:1: is kind '' of apiVersion ''" + allowed, read("mode: iptables\n").problems);
    CPPUNIT_ASSERT_EQUAL("E c.yaml:1: is kind '' of apiVersion ''" + allowed, read("- just\n- a list\n").problems);
    CPPUNIT_ASSERT_EQUAL(
        "E c.yaml:1: is kind 'KubeProxyConfiguration' of apiVersion 'kubeproxy.config.k8s.io/v1beta1'" + allowed,
        read("apiVersion: kubeproxy.config.k8s.io/v1beta1\nkind: KubeProxyConfiguration\n").problems);
  }

  void rejects_an_empty_file() {
    for (const char* text : {"", "# nothing\n", "---\n---\n"}) {
      CPPUNIT_ASSERT(read(text).problems.starts_with("E c.yaml: is empty; allowed: KubeProxyConfiguration"));
    }
  }

  void documents_have_a_fixed_order_and_are_unique() {
    CPPUNIT_ASSERT_EQUAL(std::string(), read("---\n" + kProxy + "---\n" + kSluice + "---\n").problems);
    CPPUNIT_ASSERT_EQUAL(std::string(), sluice("").problems);
    CPPUNIT_ASSERT_EQUAL(std::string("E c.yaml:4: must be the first document, because kube-proxy reads no other; move "
                                     "SluiceConfiguration behind it\n"),
                         read(kSluice + "---\n" + kProxy).problems);
    CPPUNIT_ASSERT_EQUAL(std::string("E c.yaml:4: a second KubeProxyConfiguration; allowed: one\n"),
                         read(kProxy + "---\n" + kProxy).problems);
    CPPUNIT_ASSERT_EQUAL(std::string("E c.yaml:4: a second SluiceConfiguration; allowed: one\n"),
                         read(kSluice + "---\n" + kSluice).problems);
  }

  void the_second_document_is_read_with_sections() {
    const Read r = read(kProxy + "mode: iptables\n---\n" + kSluice +
                        "backend: com.example.dpu\nmanifests: /m\npluginDirs: [/a, /b]\nrelaxPluginOwnership: true\n"
                        "stateDir: /s\nbackends:\n  com.example.dpu:\n    queues: 4\n");
    CPPUNIT_ASSERT_EQUAL(std::string(), r.problems);
    CPPUNIT_ASSERT_EQUAL(std::string("com.example.dpu"), r.draft.backend.value);
    CPPUNIT_ASSERT_EQUAL(std::string("c.yaml:7: backend"), r.draft.backend.where);
    CPPUNIT_ASSERT_EQUAL(std::string("/m"), r.draft.manifests.value);
    CPPUNIT_ASSERT_EQUAL(std::string("/s"), r.draft.settings.state_dir);
    CPPUNIT_ASSERT((r.draft.plugins() == PluginSettings{{"/a", "/b"}, true}));
    const auto& section = r.draft.sections.at("com.example.dpu");
    CPPUNIT_ASSERT_EQUAL(std::string("c.yaml:13: backends.com.example.dpu"), section.where);
    CPPUNIT_ASSERT((section.value.options == std::map<std::string, std::string>{{"queues", "4"}}));
  }

  void the_second_document_is_strict() {
    CPPUNIT_ASSERT_EQUAL(
        "E c.yaml:3: bakend: unknown field; allowed: " + allowed_in_sluice() + "; did you mean backend?\n",
        sluice("bakend: x\n").problems);
    CPPUNIT_ASSERT_EQUAL(std::string("E c.yaml:4: stateDir: is set twice; allowed: once\n"),
                         sluice("stateDir: /a\nstateDir: /b\n").problems);
    CPPUNIT_ASSERT_EQUAL(std::string("E c.yaml:5: backends.a: is set twice; allowed: one section per backend\n"),
                         sluice("backends:\n  a: {}\n  a: {}\n").problems);
  }

  void sections_are_flattened_and_kept_as_text() {
    const Read r = sluice("backends:\n  a:\n    b:\n      c: [x, {d: 1}]\n    e: ~\n    f: ''\n  empty:\n");
    CPPUNIT_ASSERT_EQUAL(std::string(), r.problems);
    const BackendSection& a = r.draft.sections.at("a").value;
    CPPUNIT_ASSERT(
        (a.options == std::map<std::string, std::string>{{"b.c[0]", "x"}, {"b.c[1].d", "1"}, {"e", ""}, {"f", ""}}));
    CPPUNIT_ASSERT(a.yaml.find("c:") != std::string::npos);
    CPPUNIT_ASSERT(r.draft.sections.at("empty").value == BackendSection());
  }

  void rejects_sections_that_are_not_a_map() {
    CPPUNIT_ASSERT_EQUAL(
        std::string("E c.yaml:4: backends.a: is not a map; allowed: the settings of backend a as fields\n"),
        sluice("backends:\n  a: fast\n").problems);
  }

  void rejects_endless_documents() {
    CPPUNIT_ASSERT_EQUAL(
        std::string("E c.yaml:1: is nested too deeply or too large; allowed: 64 levels and 100000 values, "
                    "aliases counted each time\n"),
        sluice("backends: &b\n  a: *b\n").problems);
    std::string bomb = "backends:\n  a:\n    l0: &l0 [x]\n";
    for (int i = 1; i < 20; ++i) {
      const std::string below = "*l" + std::to_string(i - 1);
      bomb += "    l" + std::to_string(i) + ": &l" + std::to_string(i) + " [" + below + ", " + below + "]\n";
    }
    CPPUNIT_ASSERT(sluice(bomb).problems.find("too large") != std::string::npos);
  }

  void a_missing_file_is_an_error_with_its_path() {
    const test::TemporaryFolder folder;
    Draft draft;
    Problems problems;
    read_config_file(folder.path("none.yaml"), {}, draft, problems);
    CPPUNIT_ASSERT_EQUAL("E --config: cannot read " + folder.path("none.yaml") + ": No such file or directory\n",
                         test::problem_text(problems));
    Problems none;
    read_config_file(folder.write("c.yaml", kProxy + "mode: ipvs\n"), {}, draft, none);
    CPPUNIT_ASSERT_EQUAL(std::string(), test::problem_text(none));
    CPPUNIT_ASSERT_EQUAL(folder.path("c.yaml") + ":3: mode", draft.mode.where);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ConfigFileTest);

}  // namespace file_test
}  // namespace sluice::config
