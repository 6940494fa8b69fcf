// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Address, route and credentials for the API server: the content of a kubeconfig, with relative paths resolved.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/kube/access/proxy.hpp"
#include "core/kube/access/server_url.hpp"

namespace sluice::kube {

// Inline content, or the file that has it.
struct Material {
  std::string inline_content;
  std::string file;
  std::string origin;  // for messages: the file, or the field with the inline content

  bool given() const { return !inline_content.empty() || !file.empty(); }
};

// A credential program (client.authentication.k8s.io).
struct ExecConfig {
  std::string api_version;
  std::string command;  // a path, or a name to search in PATH
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;  // added to the daemon's environment
  std::string install_hint;
  bool provide_cluster_info = false;
  std::string cluster_config;  // JSON configuration of the cluster, passed to the program; empty = none
  std::string origin;          // for messages: "users[u].user.exec in /etc/sluice/kubeconfig"
};

// The user that requests act as (impersonation).
struct Impersonation {
  std::string user;  // empty = no impersonation
  std::string uid;
  std::vector<std::string> groups;
  std::vector<std::pair<std::string, std::vector<std::string>>> extra;
};

struct ConnectionConfig {
  ServerUrl server;
  std::string origin;           // for messages: "/etc/sluice/kubeconfig", "the pod's service account"
  std::string tls_server_name;  // empty: the host of the server
  bool insecure_skip_tls_verify = false;
  bool disable_compression = false;
  std::optional<Proxy> proxy;
  Material ca;  // not given: use the system's CAs
  Material client_certificate;
  Material client_key;
  Material token;
  std::string username;
  std::string password;
  std::optional<ExecConfig> exec;  // for credentials that are not given above
  Impersonation impersonate;

  // The name that the server certificate must have.
  const std::string& tls_name() const { return tls_server_name.empty() ? server.host : tls_server_name; }
};

}  // namespace sluice::kube
