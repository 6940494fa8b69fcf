// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Settings as flags and file say them: defaults filled in, each with the place it
// comes from, not yet checked against each other. validate() makes Settings of it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/app/config/flags.hpp"
#include "core/app/config/problems.hpp"
#include "core/app/config/settings.hpp"

namespace sluice::app {

template <class T>
struct Sourced {
  T value{};
  std::string where;  // "--flag" or "file:line: field"; empty for a default

  bool given() const { return !where.empty(); }
  void set(T new_value, std::string new_where) {
    value = std::move(new_value);
    where = std::move(new_where);
  }
};

// What kube-proxy keeps once a mode. Which one counts is known when the mode is.
struct ModeDraft {
  Sourced<int> masquerade_bit{14, {}};
  Sourced<bool> masquerade_all;
  Sourced<Duration> sync_period{std::chrono::seconds(30), {}};
  Sourced<Duration> min_sync_period{std::chrono::seconds(1), {}};
};

struct Draft {
  std::string config_file;
  Sourced<std::string> kubeconfig;
  Sourced<std::string> master;
  Sourced<std::string> manifests;
  Sourced<std::string> replay;
  Sourced<double> replay_speed{1, {}};
  Sourced<std::string> record;
  Sourced<double> qps{5, {}};
  Sourced<int> burst{10, {}};
  Sourced<std::string> content_type;  // what kube-proxy would ask for
  Sourced<std::string> accept_content_types;

  Sourced<std::string> host_name;  // override; empty = the name of the machine
  Sourced<std::string> bind_address{"0.0.0.0", {}};
  std::vector<Sourced<std::string>> node_port_addresses;

  Sourced<std::string> mode;     // as kube-proxy has it; empty = iptables
  Sourced<std::string> backend;  // overrides the mode
  ModeDraft iptables;            // also for every backend that is no mode of kube-proxy
  ModeDraft ipvs;                // periods only: ipvs masquerades as the iptables section says
  ModeDraft nftables;
  Sourced<bool> localhost_node_ports{true, {}};

  Sourced<std::string> detect_local_mode;
  Sourced<std::string> bridge_interface;
  Sourced<std::string> interface_name_prefix;
  Sourced<std::string> cluster_cidr;

  // Checked as kube-proxy does, and of no use: no cache here has to be gone through again.
  Sourced<Duration> config_sync_period{std::chrono::minutes(15), {}};
  Sourced<int> verbosity;
  Sourced<std::string> log_format{"text", {}};

  std::vector<Sourced<std::string>> plugin_dirs;
  Sourced<bool> relax_plugin_ownership;
  Sourced<std::string> state_dir;
  std::map<std::string, Sourced<BackendSection>> sections;

  // For the caller that needs them before everything is validated.
  PluginSettings plugins() const;
  LogSettings log() const;
};

struct Defaults {
  std::vector<std::string> plugin_dirs;  // where `make install` puts backends, and build-tree places
  std::string state_dir = "/run/sluice";
};

// Reads the file `flags` name, applies the flags over it by kube-proxy's precedence
// (BEH 11.1), and collects what is wrong. With --check, what would be a warning about
// a field is an error.
Draft read_configuration(const Flags& flags, const Defaults& defaults, Problems& problems);

}  // namespace sluice::app
