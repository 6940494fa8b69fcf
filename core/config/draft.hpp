// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Settings from flags and file with defaults, each with its place, not yet checked against each other. validate()
// converts a draft to Settings.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/config/flags.hpp"
#include "core/config/problems.hpp"
#include "core/config/settings.hpp"

namespace sluice::config {

template <class T>
struct Sourced {
  T value{};
  std::string where;  // "--flag" or "file:line: field"; empty for a default

  bool operator==(const Sourced&) const = default;
  bool given() const { return !where.empty(); }
  void set(T new_value, std::string new_where) {
    value = std::move(new_value);
    where = std::move(new_where);
  }
};

// Settings that kube-proxy has once per mode.
struct ModeDraft {
  Sourced<int> masquerade_bit{14, {}};
  Sourced<bool> masquerade_all;
  Sourced<Duration> sync_period{std::chrono::seconds(30), {}};
  Sourced<Duration> min_sync_period;  // not set: the pause follows the cost of syncs; 0 in the file means not set
};

// For a backend named ipvs; the core does not use them.
struct IpvsDraft {
  Sourced<std::string> scheduler;
  std::vector<Sourced<std::string>> exclude_cidrs;
  Sourced<bool> strict_arp;
  Sourced<Duration> tcp_timeout;
  Sourced<Duration> tcp_fin_timeout;
  Sourced<Duration> udp_timeout;
};

// The output of info lines, once per log format.
struct StreamDraft {
  Sourced<bool> split;
  Sourced<std::string> buffer{"0", {}};  // a quantity, as "64Ki"
};

struct WinkernelDraft {
  Sourced<std::string> network_name;
  Sourced<std::string> source_vip;
  Sourced<bool> enable_dsr;
  Sourced<std::string> root_hns_endpoint_name;
  Sourced<bool> forward_health_check_vip;
};

struct Option;

struct Draft {
  // The values that need a check only; other members of `settings` have no meaning here.
  Settings settings;
  std::map<const Option*, std::string> places;  // of the given values in `settings`
  std::string config_file;
  bool strict = false;                       // --check: warnings about fields are errors
  bool whole = true;                         // false: the file or a document in it could not be read
  std::map<std::string, std::string> flags;  // every flag with its value
  Sourced<std::string> kubeconfig;
  Sourced<std::string> master;
  Sourced<std::string> manifests;
  Sourced<std::string> replay;
  Sourced<double> replay_speed{1, {}};
  Sourced<std::string> record;
  Sourced<double> qps{5, {}};
  Sourced<int> burst{10, {}};
  Sourced<std::string> content_type{"application/vnd.kubernetes.protobuf", {}};  // the default of kube-proxy
  Sourced<std::string> accept_content_types;

  Sourced<std::string> host_name;  // override; empty = the host name
  Sourced<std::string> bind_address{"0.0.0.0", {}};
  std::vector<Sourced<std::string>> node_port_addresses;

  Sourced<std::string> mode;     // of kube-proxy; empty = iptables
  Sourced<std::string> backend;  // overrides `mode`
  ModeDraft iptables;            // also for every backend that is not a mode of kube-proxy
  ModeDraft ipvs;                // periods only: masquerading of ipvs mode is in `iptables`
  ModeDraft nftables;

  Sourced<std::string> detect_local_mode;
  Sourced<std::string> bridge_interface;
  Sourced<std::string> interface_name_prefix;
  Sourced<std::string> cluster_cidr;

  // Checked as in kube-proxy, then ignored: there is no cache to resync.
  Sourced<Duration> config_sync_period{std::chrono::minutes(15), {}};

  // An address may lack its port; then the port below applies.
  Sourced<std::string> healthz_address{"0.0.0.0:10256", {}};
  Sourced<std::string> metrics_address{"127.0.0.1:10249", {}};
  Sourced<int> healthz_port{10256, {}};
  Sourced<int> metrics_port{10249, {}};
  Sourced<std::string> show_hidden_metrics;
  IpvsDraft ipvs_mode;
  Sourced<std::string> port_range;  // userspace mode
  Sourced<Duration> udp_timeout{std::chrono::seconds(30), {}};
  std::vector<Sourced<std::string>> feature_gates;  // "Name=true"
  WinkernelDraft winkernel;                         // for Windows
  Sourced<bool> windows_run_as_service;
  Sourced<std::string> boot_id_file;
  Sourced<std::string> machine_id_file;

  Sourced<std::string> log_format{"text", {}};
  std::vector<Sourced<std::string>> vmodule;  // "pattern=4"
  StreamDraft log_text;
  StreamDraft log_json;

  std::vector<Sourced<std::string>> plugin_dirs;
  std::map<std::string, Sourced<BackendSection>> sections;
  // The places of the options of each section: "/etc/sluice/config.yaml:12: backends.nftables.counters".
  std::map<std::string, std::map<std::string, std::string>> section_places;

  // For use before the draft is validated.
  PluginSettings plugins() const;
  LogSettings log() const;
};

struct Defaults {
  std::vector<std::string> plugin_dirs;  // of `make install`, or of the build tree
  std::string state_dir = "/run/sluice";
};

// Reads the configuration file, applies the flags with kube-proxy's precedence (BEH 11.1), and collects all problems.
// With --check, warnings about fields are errors.
Draft read_configuration(const Flags& flags, const Defaults& defaults, Problems& problems);

}  // namespace sluice::config
