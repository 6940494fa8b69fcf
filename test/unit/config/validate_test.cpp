// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// From command line and file to settings: precedence, defaults, and checks across fields.
#include "core/config/validate.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>

#include "test/unit/config/problem_text.hpp"
#include "test/unit/repetitions.hpp"
#include "test/unit/temporary_folder.hpp"

namespace sluice::config {
namespace validate_test {

using namespace std::chrono_literals;

const std::string kProxy = "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n";
const std::string kSluice = "apiVersion: sluice.dev/v1alpha1\nkind: SluiceConfiguration\n";

const std::string kOneSource = "; allowed: one of an API server, manifests and a recording\n";

struct Result {
  Settings settings;
  std::string problems;
};

Result validate_words(const std::vector<std::string>& words,
                      const HostEnvironment& environment = {{"com.example.dpu", "iptables", "ipvs", "nftables"},
                                                            "Host-1"}) {
  Problems problems;
  const Flags flags = parse_flags(words, problems);
  const Draft draft = read_configuration(flags, {{"/lib/plugins"}, "/run/sluice"}, problems);
  Settings settings = validate(draft, environment, problems);
  return {std::move(settings), test::problem_text(problems)};
}

LogSettings log_settings(int verbosity, LogFormat format) {
  LogSettings out;
  out.verbosity = verbosity;
  out.format = format;
  return out;
}

std::string sorted(const std::string& lines) {
  std::vector<std::string> all;
  for (std::size_t at = 0; at < lines.size();) {
    const auto end = lines.find('\n', at) + 1;
    all.push_back(lines.substr(at, end - at));
    at = end;
  }
  std::sort(all.begin(), all.end());
  std::string out;
  for (const auto& line : all) out += line;
  return out;
}

lib::IpPrefix prefix(const char* text) { return lib::IpPrefix::parse(text).value(); }

class ValidateTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ValidateTest);
  CPPUNIT_TEST(defaults_are_those_of_kube_proxy);
  CPPUNIT_TEST(flags_reach_the_settings);
  CPPUNIT_TEST(a_file_reaches_the_settings);
  CPPUNIT_TEST(flags_beside_a_file_are_ignored_with_one_warning);
  CPPUNIT_TEST(some_flags_override_the_file);
  CPPUNIT_TEST(the_flag_vmodule_adds_to_the_file);
  CPPUNIT_TEST(check_turns_warnings_about_fields_into_errors);
  CPPUNIT_TEST(empty_values_keep_the_default);
  CPPUNIT_TEST(accepts_only_one_source);
  CPPUNIT_TEST(only_a_live_source_can_be_recorded);
  CPPUNIT_TEST(only_a_replay_has_a_speed);
  CPPUNIT_TEST(requests_have_a_rate_limit);
  CPPUNIT_TEST(content_types_are_those_that_the_daemon_reads);
  CPPUNIT_TEST(settings_without_effect_are_accepted_with_a_warning);
  CPPUNIT_TEST(every_feature_gate_of_the_release_is_accepted);
  CPPUNIT_TEST(gates_of_other_components_cause_one_warning);
  CPPUNIT_TEST(check_rejects_an_unknown_feature_gate);
  CPPUNIT_TEST(health_and_metrics_have_addresses);
  CPPUNIT_TEST(auto_mode_chooses_a_backend);
  CPPUNIT_TEST(settings_of_a_mode_are_passed_to_its_backend);
  CPPUNIT_TEST(node_names_are_trimmed_and_lower_case);
  CPPUNIT_TEST(backends_must_be_installed);
  CPPUNIT_TEST(backend_overrides_mode);
  CPPUNIT_TEST(each_mode_has_its_own_settings_in_the_file);
  CPPUNIT_TEST(periods_are_checked_for_the_active_mode);
  CPPUNIT_TEST(masquerade_bits_are_checked);
  CPPUNIT_TEST(node_port_addresses_are_cidrs_or_primary);
  CPPUNIT_TEST(cluster_cidrs_are_at_most_one_per_address_family);
  CPPUNIT_TEST(invalid_cluster_cidrs_are_warnings_in_other_modes);
  CPPUNIT_TEST(detect_local_modes_need_their_interface);
  CPPUNIT_TEST(folders_are_absolute);
  CPPUNIT_TEST(logging_is_checked);
  CPPUNIT_TEST(sections_of_missing_backends_cause_warnings);
  CPPUNIT_TEST(problems_of_options_have_their_place);
  CPPUNIT_TEST(options_of_the_backend_have_their_place);
  CPPUNIT_TEST(reports_all_errors_at_once);
  CPPUNIT_TEST_SUITE_END();

  test::TemporaryFolder* folder_ = nullptr;
  std::string file(const std::string& fields, const std::string& second = {}) {
    const std::string more = second.empty() ? "" : "---\n" + kSluice + second;
    return folder_->write("c.yaml", kProxy + fields + more);
  }
  Result with_file(const std::string& fields, const std::string& second = {}, std::vector<std::string> words = {}) {
    words.push_back("--config=" + file(fields, second));
    return validate_words(words);
  }
  std::string place(int line, const std::string& field) {
    return folder_->path("c.yaml") + ":" + std::to_string(line) + ": " + field;
  }

 public:
  void setUp() override { folder_ = new test::TemporaryFolder; }
  void tearDown() override { delete folder_; }

  void defaults_are_those_of_kube_proxy() {
    const Result r = validate_words({});
    CPPUNIT_ASSERT_EQUAL(std::string(), r.problems);
    const Settings& s = r.settings;
    CPPUNIT_ASSERT(s.source == SourceSettings());
    CPPUNIT_ASSERT(s.source.kind == SourceKind::in_cluster);
    CPPUNIT_ASSERT_EQUAL(std::string("host-1"), s.node_name);
    CPPUNIT_ASSERT_EQUAL(std::string("iptables"), s.backend);
    CPPUNIT_ASSERT((s.plugins == PluginSettings{{"/lib/plugins"}, false}));
    CPPUNIT_ASSERT_EQUAL(std::string("/run/sluice"), s.state_dir);
    CPPUNIT_ASSERT(s.local_detector == node::LocalDetectorSettings());
    CPPUNIT_ASSERT(s.node_ports == node::NodePortSettings());
    CPPUNIT_ASSERT(s.localhost_node_ports);
    CPPUNIT_ASSERT(!s.masquerade_all);
    CPPUNIT_ASSERT_EQUAL(0x4000u, s.masquerade_mark());
    CPPUNIT_ASSERT(s.bind_address.is_unspecified());
    CPPUNIT_ASSERT(s.sync_period == 30s);
    CPPUNIT_ASSERT(!s.min_sync_period);
    CPPUNIT_ASSERT(s.log == LogSettings());
  }

  void flags_reach_the_settings() {
    const Result r = validate_words({"--kubeconfig=/k",
                                     "--master=https://m",
                                     "--hostname-override= Node-2 ",
                                     "--proxy-mode=com.example.dpu",
                                     "--cluster-cidr=10.0.0.0/8,fd00::/16",
                                     "--nodeport-addresses=192.0.2.0/24",
                                     "--nodeport-addresses=::/0",
                                     "--kube-api-qps=-1",
                                     "--kube-api-burst=7",
                                     "--record=/r",
                                     "--masquerade-all",
                                     "--iptables-masquerade-bit=31",
                                     "--iptables-localhost-nodeports=false",
                                     "--iptables-sync-period=1m",
                                     "--iptables-min-sync-period=0",
                                     "--config-sync-period=15m",
                                     "--bind-address=fd00::5",
                                     "--plugin-dir=/a",
                                     "--plugin-dir=/b",
                                     "--state-dir=/s",
                                     "-v4",
                                     "--logging-format=json"});
    CPPUNIT_ASSERT_EQUAL(std::string(), r.problems);
    const Settings& s = r.settings;
    SourceSettings source;
    source.kind = SourceKind::api;
    source.kubeconfig = "/k";
    source.master = "https://m";
    source.record = "/r";
    source.client = {-1, 7};
    CPPUNIT_ASSERT(s.source == source);
    CPPUNIT_ASSERT_EQUAL(std::string("node-2"), s.node_name);
    CPPUNIT_ASSERT_EQUAL(std::string("com.example.dpu"), s.backend);
    CPPUNIT_ASSERT((s.local_detector.cluster_cidrs == std::vector{prefix("10.0.0.0/8"), prefix("fd00::/16")}));
    CPPUNIT_ASSERT((s.node_ports.ranges == std::vector{prefix("192.0.2.0/24"), prefix("::/0")}));
    CPPUNIT_ASSERT(s.masquerade_all);
    CPPUNIT_ASSERT_EQUAL(0x80000000u, s.masquerade_mark());
    CPPUNIT_ASSERT(!s.localhost_node_ports);
    CPPUNIT_ASSERT(s.sync_period == 1min);
    CPPUNIT_ASSERT(s.min_sync_period == 0s);
    CPPUNIT_ASSERT_EQUAL(std::string("fd00::5"), s.bind_address.to_string());
    CPPUNIT_ASSERT((s.plugins.folders == std::vector<std::string>{"/a", "/b"}));
    CPPUNIT_ASSERT_EQUAL(std::string("/s"), s.state_dir);
    CPPUNIT_ASSERT((s.log == log_settings(4, LogFormat::json)));
    CPPUNIT_ASSERT_EQUAL(std::string("br0"),
                         validate_words({"--detect-local-mode=BridgeInterface", "--pod-bridge-interface=br0"})
                             .settings.local_detector.bridge_interface);
    CPPUNIT_ASSERT_EQUAL(std::string("veth"),
                         validate_words({"--detect-local-mode=InterfaceNamePrefix", "--pod-interface-name-prefix=veth"})
                             .settings.local_detector.interface_name_prefix);
  }

  void a_file_reaches_the_settings() {
    const Result r = with_file(
        "mode: iptables\nclientConnection: {kubeconfig: /k, qps: 2.5, burst: 3}\nhostnameOverride: N\nclusterCIDR: "
        "10.0.0.0/8\n"
        "iptables: {masqueradeAll: true, masqueradeBit: 15, syncPeriod: 10s, minSyncPeriod: 2s}\nlogging: {verbosity: "
        "2}\n",
        "pluginDirs: [/p]\nrecord: /r\nrelaxPluginOwnership: true\nstateDir: /s\nbackends: {iptables: {a: 1}}\n");
    CPPUNIT_ASSERT_EQUAL(std::string(), r.problems);
    const Settings& s = r.settings;
    CPPUNIT_ASSERT_EQUAL(folder_->path("c.yaml"), s.config_file);
    SourceSettings source;
    source.kind = SourceKind::api;
    source.kubeconfig = "/k";
    source.record = "/r";
    source.client = {2.5, 3};
    CPPUNIT_ASSERT(s.source == source);
    CPPUNIT_ASSERT_EQUAL(std::string("n"), s.node_name);
    CPPUNIT_ASSERT(s.masquerade_all);
    CPPUNIT_ASSERT_EQUAL(15, s.masquerade_bit);
    CPPUNIT_ASSERT(s.sync_period == 10s);
    CPPUNIT_ASSERT(s.min_sync_period == 2s);
    CPPUNIT_ASSERT((s.plugins == PluginSettings{{"/p"}, true}));
    CPPUNIT_ASSERT_EQUAL(std::string("/s"), s.state_dir);
    CPPUNIT_ASSERT_EQUAL(2, s.log.verbosity);
    CPPUNIT_ASSERT_EQUAL(std::string("1"), s.section().options.at("a"));
  }

  void flags_beside_a_file_are_ignored_with_one_warning() {
    const Result r = with_file("mode: iptables\n", "",
                               {"--proxy-mode=nope", "--cluster-cidr=nonsense", "--iptables-sync-period=-1s"});
    CPPUNIT_ASSERT_EQUAL(std::string("W --config: these flags are ignored because a file is given: --cluster-cidr, "
                                     "--iptables-sync-period, --proxy-mode\n"),
                         r.problems);
    CPPUNIT_ASSERT_EQUAL(std::string("iptables"), r.settings.backend);
    CPPUNIT_ASSERT(r.settings.sync_period == 30s);
  }

  void some_flags_override_the_file() {
    const Result r = with_file("hostnameOverride: file\nlogging: {verbosity: 1, format: json}\n",
                               "manifests: /file\npluginDirs: [/file]\nstateDir: /file\n",
                               {"--hostname-override=flag", "-v=4", "--logging-format=text", "--manifests=/flag",
                                "--plugin-dir=/flag", "--state-dir=/flag"});
    CPPUNIT_ASSERT_EQUAL(std::string(), r.problems);
    CPPUNIT_ASSERT_EQUAL(std::string("flag"), r.settings.node_name);
    CPPUNIT_ASSERT((r.settings.log == log_settings(4, LogFormat::text)));
    CPPUNIT_ASSERT_EQUAL(std::string("/flag"), r.settings.source.manifests);
    CPPUNIT_ASSERT((r.settings.plugins.folders == std::vector<std::string>{"/flag"}));
    CPPUNIT_ASSERT_EQUAL(std::string("/flag"), r.settings.state_dir);
  }

  void the_flag_vmodule_adds_to_the_file() {
    const Result r = with_file("logging: {vmodule: [{filePattern: a, verbosity: 4}]}\n", "", {"--vmodule=b=5"});
    CPPUNIT_ASSERT_EQUAL(std::string(), r.problems);
    CPPUNIT_ASSERT((r.settings.log.vmodule == std::vector<LogSettings::Module>{{"a", 4}, {"b", 5}}));
  }

  void check_turns_warnings_about_fields_into_errors() {
    const std::string warning = " " + place(3, "whatsoever") + ": unknown field";
    CPPUNIT_ASSERT_EQUAL("W" + warning + "; it is ignored\n", with_file("whatsoever: 1\n").problems);
    CPPUNIT_ASSERT_EQUAL("E" + warning + "\n", with_file("whatsoever: 1\n", "", {"--check"}).problems);
  }

  void empty_values_keep_the_default() {
    const Result r =
        validate_words({"--kubeconfig=", "--bind-address=", "--proxy-mode=", "--cluster-cidr=", "--nodeport-addresses=",
                        "--hostname-override=", "--state-dir=", "--logging-format="});
    CPPUNIT_ASSERT_EQUAL(std::string(), r.problems);
    Settings untouched = validate_words({}).settings;
    untouched.flags = r.settings.flags;
    CPPUNIT_ASSERT(r.settings == untouched);
  }

  void accepts_only_one_source() {
    CPPUNIT_ASSERT(validate_words({"--master=m"}).settings.source.kind == SourceKind::api);
    CPPUNIT_ASSERT(validate_words({"--manifests=m"}).settings.source.kind == SourceKind::manifests);
    CPPUNIT_ASSERT_EQUAL("E --manifests: names a second source of Services, beside --master" + kOneSource,
                         validate_words({"--manifests=m", "--master=m"}).problems);
    CPPUNIT_ASSERT_EQUAL("E --manifests: names a second source of Services, beside " +
                             place(3, "clientConnection.kubeconfig") + kOneSource,
                         with_file("clientConnection: {kubeconfig: /k}\n", "", {"--manifests=m"}).problems);
    CPPUNIT_ASSERT(validate_words({"--replay=r"}).settings.source.kind == SourceKind::replay);
    CPPUNIT_ASSERT_EQUAL("E --replay: names a second source of Services, beside --kubeconfig" + kOneSource,
                         validate_words({"--replay=r", "--kubeconfig=k"}).problems);
    CPPUNIT_ASSERT_EQUAL("E --replay: names a second source of Services, beside --manifests" + kOneSource,
                         validate_words({"--replay=r", "--manifests=m"}).problems);
  }

  void only_a_live_source_can_be_recorded() {
    for (const std::string source : {"--kubeconfig=k", "--manifests=m", "--master=m"}) {
      const Result r = validate_words({source, "--record=/r"});
      CPPUNIT_ASSERT_EQUAL(std::string(), r.problems);
      CPPUNIT_ASSERT_EQUAL(std::string("/r"), r.settings.source.record);
    }
    CPPUNIT_ASSERT_EQUAL(std::string("E --record: would record what --replay plays back, which is a recording already; "
                                     "leave one of them out\n"),
                         validate_words({"--replay=r", "--record=/r"}).problems);
  }

  void only_a_replay_has_a_speed() {
    const auto speed = [](const std::string& factor) {
      return validate_words({"--replay=r", "--replay-speed=" + factor});
    };
    CPPUNIT_ASSERT(validate_words({"--replay=r"}).settings.source.replay_speed == 1);
    CPPUNIT_ASSERT(speed("0").settings.source.replay_speed == 0);
    CPPUNIT_ASSERT(speed("2.5").settings.source.replay_speed == 2.5);
    CPPUNIT_ASSERT_EQUAL(
        std::string("E --replay-speed: is negative; allowed: 0 (without waiting), or a factor such as 1, 0.5 or 10\n"),
        speed("-1").problems);
    CPPUNIT_ASSERT_EQUAL("E " + place(6, "replaySpeed") + ": applies to a replay only; add --replay or remove it\n",
                         with_file("", "replaySpeed: 0\n").problems);
    const Result file = with_file("", "replay: /r\nreplaySpeed: 0\n", {"--replay-speed=3"});
    CPPUNIT_ASSERT_EQUAL(std::string(), file.problems);
    CPPUNIT_ASSERT_EQUAL(std::string("/r"), file.settings.source.replay);
    CPPUNIT_ASSERT(file.settings.source.replay_speed == 3);
  }

  void requests_have_a_rate_limit() {
    const auto client = [](const std::string& qps, const std::string& burst) {
      return validate_words({"--kube-api-qps=" + qps, "--kube-api-burst=" + burst}).settings.source.client;
    };
    CPPUNIT_ASSERT((validate_words({}).settings.source.client == ClientSettings{5, 10}));
    CPPUNIT_ASSERT((client("0", "0") == ClientSettings{5, 10}));
    CPPUNIT_ASSERT((client("0.5", "1") == ClientSettings{0.5, 1}));
    CPPUNIT_ASSERT((client("-1", "20") == ClientSettings{-1, 20}));
    CPPUNIT_ASSERT_EQUAL(std::string("E --kube-api-burst: -1 is negative; allowed: 0 or more\n"),
                         validate_words({"--kube-api-burst=-1"}).problems);
    CPPUNIT_ASSERT_EQUAL("E " + place(4, "clientConnection.burst") + ": -2 is negative; allowed: 0 or more\n",
                         with_file("clientConnection:\n  burst: -2\n").problems);
  }

  void content_types_are_those_that_the_daemon_reads() {
    const std::string protobuf = "application/vnd.kubernetes.protobuf";
    const auto client = [this](const std::string& fields) {
      const auto got = with_file("clientConnection: {" + fields + "}\n");
      CPPUNIT_ASSERT_EQUAL(std::string(), got.problems);
      return got.settings.source.client.content_type + "; " + got.settings.source.client.accept_content_types;
    };
    // Installers write an empty text.
    CPPUNIT_ASSERT_EQUAL(protobuf + "; ", client("contentType: \"\", acceptContentTypes: \"\""));
    CPPUNIT_ASSERT_EQUAL(std::string("application/json; "), client("contentType: application/json"));
    CPPUNIT_ASSERT_EQUAL(protobuf + "; application/json;q=0.9, " + protobuf,
                         client("acceptContentTypes: 'application/json;q=0.9, " + protobuf + "'"));
    const std::string allowed = "; allowed: " + protobuf + ", application/json";
    CPPUNIT_ASSERT_EQUAL("E --kube-api-content-type: 'x' is not a content type that the daemon reads" + allowed + "\n",
                         validate_words({"--kube-api-content-type=x"}).problems);
    for (const char* bad : {"application/json,text/yaml", "*/*", "application/json,", "application/json;\\r\\nX: y"}) {
      const std::string problems = with_file("clientConnection: {acceptContentTypes: \"" + std::string(bad) + "\"}\n").problems;
      CPPUNIT_ASSERT_MESSAGE(problems, problems.find("names a content type that the daemon does not read" + allowed +
                                                     ", or both\n") != std::string::npos);
    }
  }

  void settings_without_effect_are_accepted_with_a_warning() {
    const auto warned = [](const std::vector<std::string>& words, const std::string& why) {
      const std::string& last = words.back();
      CPPUNIT_ASSERT_EQUAL("W " + last.substr(0, last.find('=')) + ": has no effect: " + why + "\n",
                           validate_words(words).problems);
    };
    warned({"--config-sync-period=1h"}, "there is no cache to resync");
    warned({"--show-hidden-metrics-for-version=1.35"}, "no metric is hidden");
    warned({"--boot-id-file=/x"}, "the machine's boot id is not used");
    warned({"--machine-id-file=/x"}, "the machine's id is not used");
    warned({"--proxy-port-range=1-2"}, "only a backend named userspace uses it");
    warned({"--udp-timeout=1s"}, "only a backend named userspace uses it");
    warned({"--udp-timeout=250ms"}, "only a backend named userspace uses it");
    warned({"--healthz-port=1"}, "the address, 0.0.0.0:10256, has a port of its own");
    warned({"--metrics-port=1"}, "the address, 127.0.0.1:10249, has a port of its own");
    warned({"--log-json-split-stream"}, "the log has the other format");
    warned({"--log-text-info-buffer-size=1k"}, "without a split stream every line is written at once");
    CPPUNIT_ASSERT_EQUAL(
        "W " + place(3, "winkernel.sourceVip") + ": has no effect: it is for Windows\n",
        with_file("winkernel: {sourceVip: 1.1.1.1}\nportRange: \"\"\nwindowsRunAsService: false\n").problems);
    // No warning for the default value.
    CPPUNIT_ASSERT_EQUAL(std::string(), validate_words({"--config-sync-period=15m", "--udp-timeout=30s",
                                                        "--healthz-port=10256", "--log-json-info-buffer-size=0"})
                                            .problems);
    CPPUNIT_ASSERT_EQUAL(
        std::string("W --feature-gates: gate ContextualLogging has no effect: log lines always name their object\n"),
        validate_words({"--feature-gates=ContextualLogging=false"}).problems);
    CPPUNIT_ASSERT_EQUAL(std::string(), validate_words({"--feature-gates=LoggingBetaOptions=true"}).problems);
  }

  // The list is from the help and the behavior of kube-proxy 1.36.
  void every_feature_gate_of_the_release_is_accepted() {
    const char* const data = std::getenv("SLUICE_TEST_DATA");
    CPPUNIT_ASSERT(data != nullptr);
    std::ifstream list(std::string(data) + "/fixtures/kubernetes-v1.36/feature-gates.txt");
    std::size_t gates = 0;
    for (std::string line; std::getline(list, line);) {
      if (line.empty() || line[0] == '#') continue;
      std::istringstream fields(line);
      std::string name, stage, normal, accepted;
      CPPUNIT_ASSERT_MESSAGE(line, static_cast<bool>(fields >> name >> stage >> normal >> accepted));
      ++gates;
      // With a sanitizer each tenth gate: only memory errors are found, and they do not depend on the gate.
      if (test::kSanitized && !test::is_long_form() && gates % 10 != 0) continue;
      for (const std::string value : {"true", "false"}) {
        const std::string problems = validate_words({"--feature-gates=" + name + "=" + value}).problems;
        const bool allowed = accepted.find(value) != std::string::npos;
        CPPUNIT_ASSERT_EQUAL_MESSAGE(line, !allowed, problems.starts_with("E "));
        CPPUNIT_ASSERT_EQUAL_MESSAGE(line, problems,
                                     validate_words({"--check", "--feature-gates=" + name + "=" + value}).problems);
        CPPUNIT_ASSERT_MESSAGE(line + ": " + problems, std::count(problems.begin(), problems.end(), '\n') <= 1);
      }
    }
    CPPUNIT_ASSERT_EQUAL(std::size_t{244}, gates);
  }

  void gates_of_other_components_cause_one_warning() {
    CPPUNIT_ASSERT_EQUAL(
        std::string("W --feature-gates: gates of other components, without effect here: "
                    "CPUManagerPolicyOptions, KubeletInUserNamespace, MemoryQoS\n"),
        validate_words({"--feature-gates=MemoryQoS=true,KubeletInUserNamespace=true,CPUManagerPolicyOptions=true"})
            .problems);
    CPPUNIT_ASSERT_EQUAL("W " + place(3, "featureGates") +
                             ": gates of other components, without effect here: KubeletInUserNamespace, MemoryQoS\n",
                         with_file("featureGates: {KubeletInUserNamespace: true, MemoryQoS: false}\n").problems);
  }

  void check_rejects_an_unknown_feature_gate() {
    const std::string warning = " --feature-gates: 'Nope' is not a feature gate of Kubernetes 1.36";
    CPPUNIT_ASSERT_EQUAL("W" + warning + "; it is ignored\n", validate_words({"--feature-gates=Nope=true"}).problems);
    CPPUNIT_ASSERT_EQUAL("E" + warning + "; remove it\n",
                         validate_words({"--check", "--feature-gates=Nope=true"}).problems);
  }

  void health_and_metrics_have_addresses() {
    const auto serve = [](const std::vector<std::string>& words) { return validate_words(words).settings.serve; };
    CPPUNIT_ASSERT(!serve({"--healthz-port=0"}).healthz);
    CPPUNIT_ASSERT_EQUAL(std::string("[fd00::1]:10256"),
                         serve({"--healthz-bind-address=fd00::1"}).healthz->to_string());
    // The family of bindAddress changes these defaults in the file, but not on the command line.
    CPPUNIT_ASSERT_EQUAL(std::string("0.0.0.0:10256"), serve({"--bind-address=::"}).healthz->to_string());
    const ServeSettings file = with_file("bindAddress: 'fd00::5'\n").settings.serve;
    CPPUNIT_ASSERT_EQUAL(std::string("[::]:10256"), file.healthz->to_string());
    CPPUNIT_ASSERT_EQUAL(std::string("[::1]:10249"), file.metrics->to_string());
    // No field of the file turns the servers off.
    const ServeSettings empty = with_file("healthzBindAddress: ''\nmetricsBindAddress: ''\n").settings.serve;
    CPPUNIT_ASSERT(empty == ServeSettings(serve({})));
    const ServeSettings gates = serve({"--feature-gates=ComponentFlagz=false,ComponentStatusz=false"});
    CPPUNIT_ASSERT(!gates.flagz && !gates.statusz);
    // AllBeta sets all beta gates that are not named, in any order.
    const ServeSettings no_beta = serve({"--feature-gates=ComponentFlagz=true,AllBeta=false"});
    CPPUNIT_ASSERT(no_beta.flagz && !no_beta.statusz);
    const ServeSettings beta = serve({"--feature-gates=AllBeta=true,ComponentFlagz=false"});
    CPPUNIT_ASSERT(!beta.flagz && beta.statusz);
    CPPUNIT_ASSERT_EQUAL(std::string(), validate_words({"--feature-gates=AllBeta=false"}).problems);
    CPPUNIT_ASSERT(validate_words({"--feature-gates=AllBeta=false"}).settings.allow_external_ips);
  }

  void auto_mode_chooses_a_backend() {
    HostEnvironment environment{{"iptables", "nftables"}, "h"};
    environment.choose_backend = [](const PluginSettings& plugins) {
      CPPUNIT_ASSERT_EQUAL(std::string("/lib/plugins"), plugins.folders.at(0));
      return lib::Result<BackendChoice>(BackendChoice{"nftables", "because"});
    };
    const Result r = validate_words({"--proxy-mode=auto", "--iptables-sync-period=9s"}, environment);
    CPPUNIT_ASSERT_EQUAL(std::string(), r.problems);
    CPPUNIT_ASSERT_EQUAL(std::string("nftables"), r.settings.backend);
    CPPUNIT_ASSERT_EQUAL(std::string("because"), r.settings.backend_reason);
    CPPUNIT_ASSERT(r.settings.node_ports.primary && r.settings.sync_period == 9s);
    environment.choose_backend = [](const PluginSettings&) {
      return lib::Result<BackendChoice>(lib::Status(lib::StatusCode::unsupported, "nothing works"));
    };
    CPPUNIT_ASSERT_EQUAL(std::string("E --proxy-mode: nothing works\n"),
                         validate_words({"--proxy-mode=auto"}, environment).problems);
  }

  void problems_of_options_have_their_place() {
    HostEnvironment environment{{"ipvs", "nftables"}, "h"};
    environment.check_options = [](const PluginSettings& plugins, const std::string& backend, const OptionTexts& given) {
      CPPUNIT_ASSERT_EQUAL(std::string("/lib/plugins"), plugins.folders.at(0));
      CheckedOptions out;
      for (const auto& [key, value] : given) {
        if (value == "bad" || value == "-1s") out.problems.emplace_back(key, backend + " rejects it");
      }
      out.restart_options["a"] = "1";
      return out;
    };
    const auto problems = [&](const std::string& text) {
      return sorted(validate_words({"--config=" + folder_->write("c.yaml", text)}, environment).problems);
    };
    const auto error = [&](int line, const std::string& key, const std::string& backend) {
      return "E " + place(line, key) + ": " + backend + " rejects it\n";
    };
    CPPUNIT_ASSERT_EQUAL(error(10, "backends.nftables.deep.key", "nftables") +
                             error(12, "backends.nftables.list[1]", "nftables") +
                             error(7, "backends.nftables.counters", "nftables"),
                         problems(kSluice + "backend: nftables\nbackends:\n  ipvs: {other: bad}\n  nftables:\n"
                                            "    counters: bad\n    fine: 1\n    deep:\n      key: bad\n"
                                            "    list: [fine,\n      bad]\n"));
    CPPUNIT_ASSERT_EQUAL(error(4, "ipvs.scheduler", "ipvs"), problems(kProxy + "mode: ipvs\nipvs: {scheduler: bad}\n"));
    // One error, that of the field.
    const std::string negative = problems(kProxy + "mode: ipvs\nipvs: {tcpTimeout: -1s}\n");
    CPPUNIT_ASSERT_MESSAGE(negative, negative.find("rejects") == std::string::npos && !negative.empty());
    CPPUNIT_ASSERT_EQUAL(std::string("E --ipvs-scheduler: ipvs rejects it\n"),
                         validate_words({"--proxy-mode=ipvs", "--ipvs-scheduler=bad"}, environment).problems);
    CPPUNIT_ASSERT_EQUAL(std::string("1"),
                         validate_words({"--proxy-mode=ipvs"}, environment).settings.restart_options.at("a"));
  }

  // For errors that only the backend finds.
  void options_of_the_backend_have_their_place() {
    const auto places = [&](const std::string& text) {
      return validate_words({"--config=" + folder_->write("c.yaml", text), "--ipvs-strict-arp"}, {{"ipvs", "nftables"}, "h"})
          .settings.option_places;
    };
    using Places = std::map<std::string, std::string>;
    CPPUNIT_ASSERT((Places{{"counters", place(6, "backends.nftables.counters")},
                           {"list", place(7, "backends.nftables.list")},
                           {"list[0]", place(7, "backends.nftables.list[0]")},
                           {"list[1]", place(8, "backends.nftables.list[1]")}} ==
                    places(kSluice + "backend: nftables\nbackends:\n  nftables:\n    counters: true\n"
                                     "    list: [a,\n      b]\n  ipvs: {drain: 1s}\n")));
    const Places ipvs = places(kProxy + "mode: ipvs\nipvs: {scheduler: lc}\n");
    CPPUNIT_ASSERT_EQUAL(place(4, "ipvs.scheduler"), ipvs.at("ipvs.scheduler"));
    CPPUNIT_ASSERT_EQUAL(std::string("--ipvs-strict-arp"), ipvs.at("ipvs.strictARP"));
  }

  void settings_of_a_mode_are_passed_to_its_backend() {
    const Settings ipvs = with_file(
                              "mode: ipvs\nipvs: {scheduler: wlc, excludeCIDRs: [10.0.0.0/8, 'fd00::/8'], "
                              "strictARP: true, tcpTimeout: 1m}\n")
                              .settings;
    const std::map<std::string, std::string> wanted{{"ipvs.excludeCIDRs", "10.0.0.0/8,fd00::/8"},
                                                    {"ipvs.scheduler", "wlc"},
                                                    {"ipvs.strictARP", "true"},
                                                    {"ipvs.tcpFinTimeout", "0s"},
                                                    {"ipvs.tcpTimeout", "1m0s"},
                                                    {"ipvs.udpTimeout", "0s"}};
    CPPUNIT_ASSERT(ipvs.mode_options == wanted);
    Settings both = ipvs;
    both.backend = "ipvs";
    both.sections["ipvs"].options = {{"drain", "never"}, {"ipvs.scheduler", "rr"}};
    // The section takes precedence.
    std::vector<std::pair<std::string, std::string>> given{{"drain", "never"}};
    for (const auto& [key, value] : wanted) given.emplace_back(key, key == "ipvs.scheduler" ? "rr" : value);
    CPPUNIT_ASSERT(given == both.backend_options());
    CPPUNIT_ASSERT(validate_words({"--ipvs-scheduler=wlc", "--ipvs-tcp-timeout=-1s"}).settings.mode_options.empty());
    CPPUNIT_ASSERT_EQUAL(std::string(), validate_words({"--ipvs-tcp-timeout=-1s"}).problems);
  }

  void node_names_are_trimmed_and_lower_case() {
    CPPUNIT_ASSERT_EQUAL(std::string("a-b"), validate_words({"--hostname-override=\t A-b "}).settings.node_name);
    CPPUNIT_ASSERT_EQUAL(std::string("E --hostname-override: is only blanks; allowed: the name of the Node object\n"),
                         validate_words({"--hostname-override=  "}).problems);
    CPPUNIT_ASSERT_EQUAL(
        "E " + place(3, "hostnameOverride") + ": is only blanks; allowed: the name of the Node object\n",
        with_file("hostnameOverride: ' '\n").problems);
    CPPUNIT_ASSERT_EQUAL(std::string("E --hostname-override: is needed, because this machine has no host name\n"),
                         validate_words({}, {{"iptables"}, " "}).problems);
  }

  void backends_must_be_installed() {
    CPPUNIT_ASSERT_EQUAL(
        std::string("E --proxy-mode: backend 'userspace' is not installed in /lib/plugins; installed: iptables, ipvs; "
                    "install it or set --plugin-dir\n"),
        validate_words({"--proxy-mode=userspace"}, {{"iptables", "ipvs"}, "h"}).problems);
    CPPUNIT_ASSERT_EQUAL(std::string("E --proxy-mode: backend 'iptables' is not installed in /lib/plugins; installed: "
                                     "none; install it or set --plugin-dir\n"),
                         validate_words({}, {{}, "h"}).problems);
    CPPUNIT_ASSERT_EQUAL(
        "E " + place(3, "mode") +
            ": backend 'kernelspace' is not installed in /lib/plugins; installed: com.example.dpu, iptables, ipvs, "
            "nftables; install it or set --plugin-dir\n",
        with_file("mode: kernelspace\n").problems);
  }

  void backend_overrides_mode() {
    const Result r = with_file("mode: not-here\n", "backend: com.example.dpu\n");
    CPPUNIT_ASSERT_EQUAL(std::string(), r.problems);
    CPPUNIT_ASSERT_EQUAL(std::string("com.example.dpu"), r.settings.backend);
  }

  void each_mode_has_its_own_settings_in_the_file() {  // case 137
    const std::string fields =
        "iptables: {masqueradeAll: true, masqueradeBit: 1, syncPeriod: 11s, minSyncPeriod: 1s}\n"
        "ipvs: {syncPeriod: 12s}\nnftables: {masqueradeBit: 3, syncPeriod: 13s, minSyncPeriod: 3s}\n";
    const Settings iptables = with_file("mode: iptables\n" + fields).settings;
    CPPUNIT_ASSERT(iptables.sync_period == 11s && iptables.masquerade_bit == 1 && iptables.masquerade_all);
    const Settings ipvs = with_file("mode: ipvs\n" + fields).settings;
    CPPUNIT_ASSERT(ipvs.sync_period == 12s && !ipvs.min_sync_period);
    CPPUNIT_ASSERT(ipvs.masquerade_bit == 1 && ipvs.masquerade_all);
    const Settings nftables = with_file("mode: nftables\n" + fields).settings;
    CPPUNIT_ASSERT(nftables.sync_period == 13s && nftables.min_sync_period == 3s);
    CPPUNIT_ASSERT(nftables.masquerade_bit == 3 && !nftables.masquerade_all);
    CPPUNIT_ASSERT(nftables.node_ports.primary);
    const Settings other = with_file(fields, "backend: com.example.dpu\n").settings;
    CPPUNIT_ASSERT(other.sync_period == 11s && !other.node_ports.primary);
    // The flags of iptables periods also apply to nftables; the flag of the bit does not.
    const Settings flags = validate_words({"--proxy-mode=nftables", "--iptables-sync-period=9s", "--masquerade-all",
                                           "--iptables-masquerade-bit=9"})
                               .settings;
    CPPUNIT_ASSERT(flags.sync_period == 9s && flags.masquerade_all && flags.masquerade_bit == 14);
    const Settings ipvs_flags =
        validate_words({"--proxy-mode=ipvs", "--iptables-sync-period=9s", "--masquerade-all"}).settings;
    CPPUNIT_ASSERT(ipvs_flags.sync_period == 30s && !ipvs_flags.min_sync_period && ipvs_flags.masquerade_all);
    // The ipvs flags only apply to ipvs mode.
    const std::vector<std::string> of_ipvs{"--ipvs-sync-period=9s", "--ipvs-min-sync-period=2s"};
    for (const char* mode : {"ipvs", "iptables", "nftables"}) {
      std::vector<std::string> words = of_ipvs;
      words.push_back(std::string("--proxy-mode=") + mode);
      const Settings periods = validate_words(words).settings;
      const bool honoured = words.back() == "--proxy-mode=ipvs";
      CPPUNIT_ASSERT_MESSAGE(mode, periods.sync_period == (honoured ? 9s : 30s));
      CPPUNIT_ASSERT_MESSAGE(mode, periods.min_sync_period == (honoured ? std::optional<Duration>(2s) : std::nullopt));
    }
  }

  void periods_are_checked_for_the_active_mode() {
    CPPUNIT_ASSERT_EQUAL(std::string("E --iptables-sync-period: 0s is too short; allowed: more than 0\n"),
                         validate_words({"--iptables-sync-period=0s"}).problems);
    CPPUNIT_ASSERT_EQUAL(std::string("E --iptables-min-sync-period: -1s is negative; allowed: 0 or more\n"),
                         validate_words({"--iptables-min-sync-period=-1s"}).problems);
    CPPUNIT_ASSERT_EQUAL(std::string("E --iptables-min-sync-period: the minimum sync period, 1m, is longer than the "
                                     "sync period, 30s; allowed: at most the sync period\n"),
                         validate_words({"--iptables-min-sync-period=1m"}).problems);
    CPPUNIT_ASSERT_EQUAL("E " + place(3, "iptables.minSyncPeriod") +
                             ": the minimum sync period, 1s, is longer than the sync period, 500ms; allowed: at "
                             "most the sync period\n",
                         with_file("iptables: {syncPeriod: 500ms, minSyncPeriod: 1s}\n").problems);
    CPPUNIT_ASSERT_EQUAL(std::string(), with_file("iptables: {syncPeriod: 500ms}\n").problems);
    CPPUNIT_ASSERT_EQUAL(std::string(), with_file("mode: nftables\niptables: {syncPeriod: -5s}\n").problems);
    CPPUNIT_ASSERT_EQUAL(std::string("E --config-sync-period: -1s is too short; allowed: more than 0\n"),
                         validate_words({"--config-sync-period=-1s"}).problems);
  }

  void masquerade_bits_are_checked() {
    CPPUNIT_ASSERT_EQUAL(
        std::string("E --iptables-masquerade-bit: 32 is not a bit of a packet mark; allowed: 0 to 31\n"),
        validate_words({"--iptables-masquerade-bit=32"}).problems);
    // The bit of iptables is always checked, that of nftables only in nftables mode.
    CPPUNIT_ASSERT_EQUAL(
        "E " + place(4, "iptables.masqueradeBit") + ": -1 is not a bit of a packet mark; allowed: 0 to 31\n",
        with_file("mode: nftables\niptables: {masqueradeBit: -1}\n").problems);
    CPPUNIT_ASSERT_EQUAL(std::string(), with_file("nftables: {masqueradeBit: 99}\n").problems);
    CPPUNIT_ASSERT_EQUAL(
        "E " + place(4, "nftables.masqueradeBit") + ": 99 is not a bit of a packet mark; allowed: 0 to 31\n",
        with_file("mode: nftables\nnftables: {masqueradeBit: 99}\n").problems);
  }

  void node_port_addresses_are_cidrs_or_primary() {
    CPPUNIT_ASSERT(validate_words({"--nodeport-addresses=primary"}).settings.node_ports.primary);
    CPPUNIT_ASSERT_EQUAL(
        std::string("E --nodeport-addresses: primary is combined with other entries; allowed: the single word "
                    "primary, or CIDRs\n"),
        validate_words({"--nodeport-addresses=10.0.0.0/8,primary"}).problems);
    CPPUNIT_ASSERT_EQUAL(
        "E " + place(3, "nodePortAddresses[1]") +
            ": '10.0.0.1' is not a CIDR; allowed: CIDRs such as 10.0.0.0/8 or fd00::/8, or the single word "
            "primary\n",
        with_file("nodePortAddresses: [::/0, 10.0.0.1]\n").problems);
    CPPUNIT_ASSERT(!with_file("mode: nftables\nnodePortAddresses: [10.0.0.0/8]\n").settings.node_ports.primary);
  }

  void cluster_cidrs_are_at_most_one_per_address_family() {
    const std::string allowed = "; allowed: one CIDR, or one of each family with a comma between\n";
    CPPUNIT_ASSERT_EQUAL("E --cluster-cidr: '10.0.0.0/33' is not a CIDR" + allowed,
                         validate_words({"--cluster-cidr=10.0.0.0/33"}).problems);
    CPPUNIT_ASSERT_EQUAL("E --cluster-cidr: ' fd00::/8' is not a CIDR" + allowed,
                         validate_words({"--cluster-cidr=10.0.0.0/8, fd00::/8"}).problems);
    CPPUNIT_ASSERT_EQUAL("E --cluster-cidr: '10.0.0.0/8,11.0.0.0/8' has two CIDRs of one family" + allowed,
                         validate_words({"--cluster-cidr=10.0.0.0/8,11.0.0.0/8"}).problems);
    CPPUNIT_ASSERT_EQUAL("E --cluster-cidr: '10.0.0.0/8,fd00::/8,::/0' has more than two CIDRs" + allowed,
                         validate_words({"--cluster-cidr=10.0.0.0/8,fd00::/8,::/0"}).problems);
  }

  void invalid_cluster_cidrs_are_warnings_in_other_modes() {
    CPPUNIT_ASSERT_EQUAL(
        std::string("W --cluster-cidr: 'x' is not a CIDR, and is not used in this detect-local mode\n"),
        validate_words({"--detect-local-mode=NodeCIDR", "--cluster-cidr=x"}).problems);
  }

  void detect_local_modes_need_their_interface() {
    CPPUNIT_ASSERT_EQUAL(
        std::string("E --detect-local-mode: 'bridge' is not a detection mode; allowed: ClusterCIDR, NodeCIDR, "
                    "BridgeInterface, InterfaceNamePrefix\n"),
        validate_words({"--detect-local-mode=bridge"}).problems);
    CPPUNIT_ASSERT_EQUAL(std::string("E --detect-local-mode: BridgeInterface needs --pod-bridge-interface or "
                                     "detectLocal.bridgeInterface\n"),
                         validate_words({"--detect-local-mode=BridgeInterface"}).problems);
    CPPUNIT_ASSERT_EQUAL(
        "E " + place(3, "detectLocalMode") +
            ": InterfaceNamePrefix needs --pod-interface-name-prefix or detectLocal.interfaceNamePrefix\n",
        with_file("detectLocalMode: InterfaceNamePrefix\n").problems);
    CPPUNIT_ASSERT_EQUAL(
        std::string("E --pod-bridge-interface: 'a b' is not an interface name; allowed: 1 to 15 characters, no "
                    "blank, slash or colon\n"),
        validate_words({"--detect-local-mode=BridgeInterface", "--pod-bridge-interface=a b"}).problems);
    const auto bridge = [](std::size_t letters) {
      return validate_words(
                 {"--detect-local-mode=BridgeInterface", "--pod-bridge-interface=" + std::string(letters, 'x')})
          .problems.empty();
    };
    CPPUNIT_ASSERT(bridge(15) && !bridge(16));
    // A rule appends "+" to the prefix.
    const auto prefix_of = [](std::size_t letters) {
      return validate_words({"--detect-local-mode=InterfaceNamePrefix",
                             "--pod-interface-name-prefix=" + std::string(letters, 'x')})
          .problems.empty();
    };
    CPPUNIT_ASSERT(prefix_of(14) && !prefix_of(15));
  }

  void folders_are_absolute() {
    CPPUNIT_ASSERT_EQUAL(
        std::string("E --plugin-dir: 'here' is not an absolute path; allowed: a path that begins with /\n"),
        validate_words({"--plugin-dir=here"}).problems);
    CPPUNIT_ASSERT_EQUAL(
        std::string("E --state-dir: 'run' is not a valid state directory; allowed: an absolute path of at "
                    "most 90 bytes, so that a socket fits in it\n"),
        validate_words({"--state-dir=run"}).problems);
    CPPUNIT_ASSERT(!validate_words({"--state-dir=/" + std::string(90, 'x')}).problems.empty());
    CPPUNIT_ASSERT_EQUAL(std::string(), validate_words({"--state-dir=/" + std::string(89, 'x')}).problems);
  }

  void logging_is_checked() {
    CPPUNIT_ASSERT_EQUAL(std::string("E --v: -1 is not a verbosity; allowed: 0 or more\n"),
                         validate_words({"-v=-1"}).problems);
    CPPUNIT_ASSERT_EQUAL(std::string("E --logging-format: 'xml' is not a log format; allowed: text, json\n"),
                         validate_words({"--logging-format=xml"}).problems);
    CPPUNIT_ASSERT_EQUAL("E " + place(3, "logging.format") + ": 'xml' is not a log format; allowed: text, json\n",
                         with_file("logging: {format: xml}\n").problems);
    CPPUNIT_ASSERT_EQUAL(
        std::string("E --bind-address: 'eth0' is not an IP address; allowed: an address of this node, or "
                    "0.0.0.0 or ::\n"),
        validate_words({"--bind-address=eth0"}).problems);
  }

  void sections_of_missing_backends_cause_warnings() {
    CPPUNIT_ASSERT_EQUAL("W " + place(7, "backends.gone") + ": settings of backend 'gone', which is not installed\n",
                         with_file("", "backends:\n  gone: {a: 1}\n").problems);
  }

  void reports_all_errors_at_once() {
    const Result r =
        validate_words({"--proxy-mode=x", "--master=m", "--manifests=m", "--hostname-override= ", "--state-dir=s",
                        "--iptables-sync-period=0s", "--nodeport-addresses=n", "--cluster-cidr=c", "--v=-1"});
    std::size_t errors = 0;
    for (std::size_t at = 0; (at = r.problems.find("E ", at)) != std::string::npos; at += 2) ++errors;
    CPPUNIT_ASSERT_EQUAL_MESSAGE(r.problems, std::size_t{8}, errors);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ValidateTest);

}  // namespace validate_test
}  // namespace sluice::config
