// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Every field of the settings, and the effect of its change on a running daemon.
#include "core/reload/settings_diff.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <set>
#include <utility>

namespace sluice::reload {
namespace settings_diff_test {

// Counts the fields of an aggregate.
struct Anything {
  template <class T>
  operator T() const {
    std::abort();
  }  // clang warns about a declaration without a body
};
template <class T, std::size_t... I>
consteval bool takes(std::index_sequence<I...>) {
  return requires { T{(static_cast<void>(I), Anything{})...}; };
}
template <class T, std::size_t N = 0>
consteval std::size_t fields() {
  if constexpr (!takes<T>(std::make_index_sequence<N + 1>())) {
    return N;
  } else {
    return fields<T, N + 1>();
  }
}
struct Three {
  int a;
  std::string b;
  std::optional<lib::SocketAddress> c;
};
static_assert(fields<Three>() == 3);

constexpr auto kRefused = SettingsPart::none;

struct Row {
  const char* structure;
  const char* field;
  std::function<void(config::Settings&)> change;
  const char* setting;
  SettingsPart part;
  bool refused = false;
};

config::Settings usual() {
  config::Settings out;
  out.node_name = "node-1";
  out.backend = "nftables";
  out.bind_address = *lib::IpAddress::parse("10.0.0.1");
  out.sections["nftables"].yaml = "a: 1";
  out.restart_options = {{"threads", "4"}};
  return out;
}

lib::SocketAddress port(std::uint16_t number) { return {*lib::IpAddress::parse("127.0.0.1"), number}; }

const std::vector<Row>& rows() {
  using enum SettingsPart;
  static const std::vector<Row> out = {
      {"Settings", "config_file", [](config::Settings& s) { s.config_file = "/x"; }, "config", none},
      {"Settings", "source", [](config::Settings& s) { s.source.kind = config::SourceKind::api; }, "source", source},
      {"Settings", "node_name", [](config::Settings& s) { s.node_name = "node-2"; }, "hostnameOverride", kRefused,
       true},
      {"Settings", "backend", [](config::Settings& s) { s.backend = "ipvs"; }, "mode", backend},
      {"Settings", "backend_reason", [](config::Settings& s) { s.backend_reason = "why"; }, "mode", none},
      {"Settings", "plugins", [](config::Settings& s) { s.plugins.folders = {"/p"}; }, "pluginDirs", backend},
      {"Settings", "state_dir", [](config::Settings& s) { s.state_dir = "/s"; }, "stateDir", kRefused, true},
      {"Settings", "drain_timeout", [](config::Settings& s) { s.drain_timeout += std::chrono::seconds(1); },
       "drainTimeout", none},
      {"Settings", "holder_timeout", [](config::Settings& s) { s.holder_timeout += std::chrono::seconds(1); },
       "descriptorHolderTimeout", none},
      {"Settings", "local_detector", [](config::Settings& s) { s.local_detector.bridge_interface = "br"; },
       "detectLocal", backend},
      {"Settings", "node_ports", [](config::Settings& s) { s.node_ports.primary = true; }, "nodePortAddresses",
       backend},
      {"Settings", "localhost_node_ports", [](config::Settings& s) { s.localhost_node_ports = false; },
       "iptables.localhostNodePorts", backend},
      {"Settings", "masquerade_all", [](config::Settings& s) { s.masquerade_all = true; }, "masqueradeAll", backend},
      {"Settings", "masquerade_bit", [](config::Settings& s) { s.masquerade_bit = 15; }, "masqueradeBit", backend},
      {"Settings", "bind_address", [](config::Settings& s) { s.bind_address = *lib::IpAddress::parse("10.0.0.2"); },
       "bindAddress", backend},
      {"Settings", "sync_period", [](config::Settings& s) { s.sync_period *= 2; }, "syncPeriod", backend},
      {"Settings", "min_sync_period", [](config::Settings& s) { s.min_sync_period = std::chrono::seconds(2); }, "minSyncPeriod", backend},
      {"Settings", "serve", [](config::Settings& s) { s.serve.flagz = false; }, "featureGates.ComponentFlagz", serve},
      {"Settings", "conntrack", [](config::Settings& s) { s.conntrack.min = 1; }, "conntrack", kernel},
      {"Settings", "oom_score_adj", [](config::Settings& s) { s.oom_score_adj = 1; }, "oomScoreAdj", kernel},
      {"Settings", "allow_external_ips", [](config::Settings& s) { s.allow_external_ips = false; },
       "featureGates.AllowServiceExternalIPs", backend},
      {"Settings", "log", [](config::Settings& s) { s.log.verbosity = 4; }, "logging", logging},
      {"Settings", "kube_proxy_configuration", [](config::Settings& s) { s.kube_proxy_configuration = "{}"; },
       "configz", none},
      {"Settings", "sections", [](config::Settings& s) { s.sections["nftables"].yaml = "a: 2"; }, "backends", backend},
      {"Settings", "flags", [](config::Settings& s) { s.flags["v"] = "1"; }, "flags", none},
      {"Settings", "mode_options", [](config::Settings& s) { s.mode_options["ipvs.scheduler"] = "rr"; }, "mode options",
       backend},
      {"Settings", "restart_options", [](config::Settings& s) { s.restart_options["threads"] = "8"; },
       "backends.nftables.threads", kRefused, true},

      {"SourceSettings", "kind", [](config::Settings& s) { s.source.kind = config::SourceKind::manifests; }, "source",
       source},
      {"SourceSettings", "kubeconfig", [](config::Settings& s) { s.source.kubeconfig = "/k"; },
       "clientConnection.kubeconfig", source},
      {"SourceSettings", "master", [](config::Settings& s) { s.source.master = "https://m"; }, "master", source},
      {"SourceSettings", "manifests", [](config::Settings& s) { s.source.manifests = "/m"; }, "manifests", source},
      {"SourceSettings", "replay", [](config::Settings& s) { s.source.replay = "/r"; }, "replay", kRefused, true},
      {"SourceSettings", "replay_speed", [](config::Settings& s) { s.source.replay_speed = 2; }, "replaySpeed",
       kRefused, true},
      {"SourceSettings", "record", [](config::Settings& s) { s.source.record = "/r"; }, "record", kRefused, true},
      {"SourceSettings", "client", [](config::Settings& s) { s.source.client.qps = 7; }, "clientConnection.qps",
       source},
      {"ClientSettings", "qps", [](config::Settings& s) { s.source.client.qps = -1; }, "clientConnection.qps", source},
      {"ClientSettings", "content_type", [](config::Settings& s) { s.source.client.content_type = "application/json"; },
       "clientConnection.contentType", source},
      {"ClientSettings", "accept_content_types",
       [](config::Settings& s) { s.source.client.accept_content_types = "application/json"; },
       "clientConnection.acceptContentTypes", source},
      {"ClientSettings", "burst", [](config::Settings& s) { s.source.client.burst = 7; }, "clientConnection.burst",
       source},

      {"PluginSettings", "folders", [](config::Settings& s) { s.plugins.folders = {"/q"}; }, "pluginDirs", backend},
      {"PluginSettings", "relax_ownership", [](config::Settings& s) { s.plugins.relax_ownership = true; },
       "relaxPluginOwnership", backend},

      {"ServeSettings", "healthz", [](config::Settings& s) { s.serve.healthz = port(1); }, "healthzBindAddress", serve},
      {"ServeSettings", "metrics", [](config::Settings& s) { s.serve.metrics = port(2); }, "metricsBindAddress", serve},
      {"ServeSettings", "bind_address_hard_fail", [](config::Settings& s) { s.serve.bind_address_hard_fail = true; },
       "bindAddressHardFail", serve},
      {"ServeSettings", "profiling", [](config::Settings& s) { s.serve.profiling = true; }, "enableProfiling", serve},
      {"ServeSettings", "flagz", [](config::Settings& s) { s.serve.flagz = false; }, "featureGates.ComponentFlagz",
       serve},
      {"ServeSettings", "statusz", [](config::Settings& s) { s.serve.statusz = false; },
       "featureGates.ComponentStatusz", serve},
  };
  return out;
}

// An option with a member of Settings whose change can be applied live. A logging option is a part of "logging".
bool is_declared(const config::Option& option) {
  return option.setting.at != nullptr && option.change.order != 0 && option.change.refusal == nullptr;
}

bool is_declared(const Row& row) {
  config::Settings other = usual();
  row.change(other);
  const auto options = config::options();
  return std::any_of(options.begin(), options.end(), [&](const config::Option& option) {
    return is_declared(option) && option.setting.get(usual()) != option.setting.get(other);
  });
}

// Changes the value to one that is neither a default nor the value of usual().
void change(const config::Option& option, config::Settings& settings) {
  const auto value = option.setting.at(settings);
  if (auto* const* text = std::get_if<std::string*>(&value)) **text += "x";
  if (auto* const* on = std::get_if<bool*>(&value)) **on = !**on;
  if (auto* const* number = std::get_if<int*>(&value)) ++**number;
  if (auto* const* decimal = std::get_if<double*>(&value)) **decimal += 1;
  if (auto* const* time = std::get_if<config::Duration*>(&value)) **time += std::chrono::seconds(1);
}

class SettingsDiffTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(SettingsDiffTest);
  CPPUNIT_TEST(equal_settings_differ_in_nothing);
  CPPUNIT_TEST(every_field_concerns_one_part_or_cannot_change_live);
  CPPUNIT_TEST(a_declared_option_concerns_its_part);
  CPPUNIT_TEST(several_changes_of_one_name_are_one);
  CPPUNIT_TEST(changes_are_in_order);
  CPPUNIT_TEST(all_fields_have_a_row_or_an_option);
  CPPUNIT_TEST(a_replay_cannot_start_or_end_live);
  CPPUNIT_TEST(the_kind_of_the_source_alone_starts_a_replay);
  CPPUNIT_TEST(the_primary_family_cannot_change_live);
  CPPUNIT_TEST(sections_of_other_backends_concern_no_part);
  CPPUNIT_TEST(refusals_are_sentences);
  CPPUNIT_TEST(a_change_that_cannot_be_live_concerns_no_part);
  CPPUNIT_TEST_SUITE_END();

 public:
  void equal_settings_differ_in_nothing() {
    CPPUNIT_ASSERT(settings_diff(usual(), usual()).empty());
    CPPUNIT_ASSERT(settings_diff(config::Settings(), config::Settings()).empty());
    config::Settings moved = usual();
    moved.option_places = {{"counters", "c.yaml:8: backends.nftables.counters"}};
    CPPUNIT_ASSERT(settings_diff(usual(), moved).empty());
  }

  void every_field_concerns_one_part_or_cannot_change_live() {
    for (const Row& row : rows()) {
      config::Settings other = usual();
      row.change(other);
      const std::string where = std::string(row.structure) + "." + row.field;
      for (const auto& changes : {settings_diff(usual(), other), settings_diff(other, usual())}) {
        CPPUNIT_ASSERT_EQUAL_MESSAGE(where, std::size_t{1}, changes.size());
        CPPUNIT_ASSERT_EQUAL_MESSAGE(where, std::string(row.setting), changes[0].setting);
        CPPUNIT_ASSERT_EQUAL_MESSAGE(where, static_cast<int>(row.part), static_cast<int>(changes[0].part));
        CPPUNIT_ASSERT_EQUAL_MESSAGE(where, row.refused, !changes[0].refusal.empty());
        CPPUNIT_ASSERT_MESSAGE(where, concerns(changes, row.part));
        CPPUNIT_ASSERT_EQUAL_MESSAGE(where, row.refused ? std::size_t{1} : std::size_t{0}, refusals(changes).size());
      }
    }
  }

  void a_declared_option_concerns_its_part() {
    for (const config::Option& option : config::options()) {
      // Nothing needs a reload after a change of these: an option without a rule would be a change that no part hears of.
      const bool without_rule = option.group == config::FlagGroup::general || option.group == config::FlagGroup::logging;
      CPPUNIT_ASSERT_MESSAGE(std::string(option.field), option.setting.at == nullptr || option.change.order != 0 || without_rule);
      if (!is_declared(option)) continue;
      config::Settings other = usual();
      change(option, other);
      const std::string name(option.change.name.empty() ? option.field : option.change.name);
      CPPUNIT_ASSERT_MESSAGE(name,
                             (settings_diff(usual(), other) == std::vector<SettingsChange>{{name, option.change.part, {}}}));
    }
  }

  void several_changes_of_one_name_are_one() {
    config::Settings other = usual();
    other.conntrack.min = 1;
    other.conntrack.udp_timeout = std::chrono::seconds(1);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, settings_diff(usual(), other).size());
  }

  void changes_are_in_order() {
    config::Settings other = usual();
    for (const Row& row : rows()) row.change(other);
    std::string names;
    for (const auto& change : settings_diff(usual(), other)) names += change.setting + " ";
    CPPUNIT_ASSERT_EQUAL(
        std::string("config source replay replaySpeed clientConnection.kubeconfig master manifests record "
                    "clientConnection.acceptContentTypes clientConnection.contentType clientConnection.qps clientConnection.burst hostnameOverride mode mode pluginDirs "
                    "relaxPluginOwnership drainTimeout descriptorHolderTimeout stateDir detectLocal nodePortAddresses "
                    "iptables.localhostNodePorts masqueradeAll masqueradeBit bindAddress syncPeriod minSyncPeriod "
                    "healthzBindAddress metricsBindAddress bindAddressHardFail enableProfiling "
                    "featureGates.ComponentFlagz featureGates.ComponentStatusz conntrack oomScoreAdj "
                    "featureGates.AllowServiceExternalIPs logging configz backends flags mode options "),
        names);
  }

  // A new field needs a row here, and an option or rule that declares its change.
  void all_fields_have_a_row_or_an_option() {
    std::set<std::string> covered;
    for (const Row& row : rows()) {
      if (!is_declared(row)) covered.insert(std::string(row.structure) + "." + row.field);
    }
    for (const config::Option& option : config::options()) {
      if (is_declared(option)) covered.insert(std::string(option.field));
    }
    // Settings::conntrack has only declared fields, and no row of its own. Settings::option_places is no setting.
    CPPUNIT_ASSERT_EQUAL(fields<config::Settings>() - 2 + fields<config::SourceSettings>() +
                             fields<config::ClientSettings>() + fields<config::PluginSettings>() +
                             fields<config::ServeSettings>() + fields<node::ConntrackSettings>(),
                         covered.size());
  }

  void a_replay_cannot_start_or_end_live() {
    config::Settings replay = usual();
    replay.source.kind = config::SourceKind::replay;
    replay.source.replay = "/r";
    replay.source.replay_speed = 0;
    const config::Settings api = usual();
    for (const auto& changes : {settings_diff(api, replay), settings_diff(replay, api)}) {
      CPPUNIT_ASSERT_EQUAL(std::size_t{1}, changes.size());
      CPPUNIT_ASSERT_EQUAL(std::string("replay"), changes[0].setting);
      CPPUNIT_ASSERT(!changes[0].refusal.empty());
    }
  }

  void the_kind_of_the_source_alone_starts_a_replay() {
    config::Settings replay = usual();
    replay.source.kind = config::SourceKind::replay;
    const auto changes = settings_diff(usual(), replay);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, changes.size());
    CPPUNIT_ASSERT(!changes[0].refusal.empty());
  }

  void the_primary_family_cannot_change_live() {
    config::Settings six = usual();
    six.bind_address = *lib::IpAddress::parse("fd00::1");
    const auto changes = settings_diff(usual(), six);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, changes.size());
    CPPUNIT_ASSERT_EQUAL(std::string("bindAddress: the primary family is IPv4 and cannot become IPv6 while it runs; "
                                     "restart sluiced (this closes only connections relayed in userspace mode)"),
                         refusals(changes).at(0));
    config::Settings any = usual();
    any.bind_address = lib::IpAddress::any(lib::Family::ipv4);
    CPPUNIT_ASSERT(refusals(settings_diff(usual(), any)).empty());
  }

  void sections_of_other_backends_concern_no_part() {
    config::Settings other = usual();
    other.sections["ipvs"].yaml = "b: 1";
    const auto changes = settings_diff(usual(), other);
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, changes.size());
    CPPUNIT_ASSERT(changes[0].part == SettingsPart::none && changes[0].refusal.empty());
  }

  void refusals_are_sentences() {
    config::Settings other = usual();
    other.node_name = "node-2";
    other.state_dir = "/elsewhere";
    other.masquerade_all = true;
    const auto sentences = refusals(settings_diff(usual(), other));
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, sentences.size());
    CPPUNIT_ASSERT_EQUAL(std::string("hostnameOverride: the node is node-1, and rules and Services were chosen for it; "
                                     "restart sluiced to make it node-2"),
                         sentences[0]);
    CPPUNIT_ASSERT(sentences[1].starts_with("stateDir: "));
  }

  void a_change_that_cannot_be_live_concerns_no_part() {
    config::Settings other = usual();
    other.source.record = "/r";
    const auto changes = settings_diff(usual(), other);
    using enum SettingsPart;
    for (const SettingsPart part : {backend, source, serve, kernel, logging}) CPPUNIT_ASSERT(!concerns(changes, part));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(SettingsDiffTest);

}  // namespace settings_diff_test
}  // namespace sluice::reload
