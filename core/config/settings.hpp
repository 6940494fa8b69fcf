// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The effective configuration as a plain value, complete and valid. validate() makes it from flags and file; no other
// part of the daemon reads them.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/kube/http/content_type.hpp"
#include "core/node/conntrack_settings.hpp"
#include "core/node/local_detector.hpp"
#include "core/node/node_port_addresses.hpp"
#include "lib/ip.hpp"

namespace sluice::config {

using Duration = std::chrono::nanoseconds;

enum class LogFormat : std::uint8_t { text, json };

struct LogSettings {
  int verbosity = 0;  // 4 and higher shows debug lines
  LogFormat format = LogFormat::text;
  bool split_stream = false;                           // info lines to standard output, other lines to standard error
  std::size_t info_buffer_size = 0;                    // buffer for info lines in bytes, with split_stream
  Duration flush_frequency = std::chrono::seconds(5);  // maximum delay of buffered lines
  struct Module {
    std::string pattern;  // of a component's name, with * and ?
    int verbosity = 0;
    bool operator==(const Module&) const = default;
  };
  std::vector<Module> vmodule;  // higher verbosity of single components
  bool operator==(const LogSettings&) const = default;
};

enum class SourceKind : std::uint8_t {
  in_cluster,  // API server, credentials of the pod
  api,         // API server, by kubeconfig and/or master
  manifests,   // objects from disk
  replay,      // a recording
};

// Rate limit of requests to the API server (BEH 1.6).
struct ClientSettings {
  double qps = 5;  // per second; negative = no limit
  int burst = 10;  // positive
  std::string content_type = kube::kProtobufType;  // of lists and watches; protobuf has JSON as fallback
  std::string accept_content_types = {};           // the Accept header in place of that; empty = none
  bool operator==(const ClientSettings&) const = default;
};

struct SourceSettings {
  SourceKind kind = SourceKind::in_cluster;
  std::string kubeconfig;   // kind api; may be empty if master is set
  std::string master;       // kind api; overrides the server of the kubeconfig
  std::string manifests;    // kind manifests: a file or a directory
  std::string replay;       // kind replay: a file
  double replay_speed = 1;  // kind replay: 0 = without delays
  std::string record;       // a file for the recorded events of the source; empty = none
  ClientSettings client;    // kinds in_cluster and api
  bool operator==(const SourceSettings&) const = default;
};

struct PluginSettings {
  std::vector<std::string> folders;  // searched in order; the first with the id wins
  bool relax_ownership = false;      // for developers: plugin files may belong to any user
  bool operator==(const PluginSettings&) const = default;
};

// Options of a backend as key and text, each key once.
using OptionTexts = std::vector<std::pair<std::string, std::string>>;

// The section of one backend in the second document.
struct BackendSection {
  std::string yaml;                            // the section as YAML text
  std::map<std::string, std::string> options;  // the same, flattened: "a.b[0].c" -> text
  bool operator==(const BackendSection&) const = default;
};

// Servers for health and metrics (BEH 10). An unspecified address covers both families.
struct ServeSettings {
  std::optional<lib::SocketAddress> healthz;  // nothing = not served
  std::optional<lib::SocketAddress> metrics;  // nothing = not served
  bool bind_address_hard_fail = false;         // exit if an address cannot be bound
  bool profiling = false;                      // /debug/flags/v on the metrics address
  bool flagz = true;                           // gate ComponentFlagz: /flagz
  bool statusz = true;                         // gate ComponentStatusz: /statusz
  bool operator==(const ServeSettings&) const = default;
};

struct Settings {
  std::string config_file;  // empty without --config
  SourceSettings source;
  std::string node_name;       // lower case, never empty
  std::string backend;         // id of the backend: a mode, or "com.example.dpu"; never "auto"
  std::string backend_reason;  // why auto mode chose it; empty if it was set
  PluginSettings plugins;
  std::string state_dir;
  // How long established connections may keep an old backend; 0: do not drain.
  Duration drain_timeout = std::chrono::hours(1);
  // How long the descriptor holder waits for the next daemon; 0: no holder.
  Duration holder_timeout = std::chrono::minutes(1);

  node::LocalDetectorSettings local_detector;
  node::NodePortSettings node_ports;
  bool localhost_node_ports = true;
  bool masquerade_all = false;
  int masquerade_bit = 14;  // 0..31
  std::uint32_t masquerade_mark() const { return std::uint32_t{1} << masquerade_bit; }
  lib::IpAddress bind_address;  // 0.0.0.0 or :: if the Node object decides

  // Of the active backend; min_sync_period <= sync_period. Without a minimum, the pause between two syncs follows their
  // cost (sync::SyncPace).
  Duration sync_period = std::chrono::seconds(30);
  std::optional<Duration> min_sync_period;

  ServeSettings serve;
  node::ConntrackSettings conntrack;
  int oom_score_adj = -999;        // -1000..1000
  bool allow_external_ips = true;  // feature gate AllowServiceExternalIPs; false: externalIPs are ignored

  LogSettings log;
  // The effective KubeProxyConfiguration v1alpha1 as one JSON object with defaults, for /configz.
  std::string kube_proxy_configuration;
  std::map<std::string, BackendSection> sections;  // by backend id
  std::map<std::string, std::string> flags;        // all flags with their values, for the log and /flagz
  // Fields of KubeProxyConfiguration for the active mode only ("ipvs.scheduler"); passed to the backend with its
  // section.
  std::map<std::string, std::string> mode_options;
  // Options of the active backend that take effect at a start only, with their values and defaults.
  std::map<std::string, std::string> restart_options;
  // The places of backend_options(), and of lists by their name: "/etc/sluice/config.yaml:12: backends.nftables.counters".
  std::map<std::string, std::string> option_places;

  // The section of the active backend, or an empty one.
  BackendSection section() const {
    const auto found = sections.find(backend);
    return found == sections.end() ? BackendSection() : found->second;
  }
  // The options of the active backend, sorted: its section overrides the options of kube-proxy's document for its mode.
  OptionTexts backend_options() const {
    std::map<std::string, std::string> all = section().options;
    all.insert(mode_options.begin(), mode_options.end());
    return {all.begin(), all.end()};
  }
  bool operator==(const Settings&) const = default;
};

}  // namespace sluice::config
