// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Where the API server is, how to get there, and what proves who we are: what a
// kubeconfig says, with relative files resolved. Plain values.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/kube/access/proxy.hpp"
#include "core/kube/access/server_url.hpp"

namespace sluice::kube {

// Content given in place, or a file that holds it.
struct Material {
  std::string inline_content;
  std::string file;
  std::string origin;  // for people: the file, or the field it was given in

  bool given() const { return !inline_content.empty() || !file.empty(); }
};

// A program that hands out credentials (client.authentication.k8s.io).
struct ExecConfig {
  std::string api_version;
  std::string command;  // a path, or a name to look for in PATH
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;  // besides our own environment
  std::string install_hint;
  bool provide_cluster_info = false;
  std::string cluster_config;  // JSON; of the cluster, for the program; empty = none
  std::string origin;          // for people: "users[u].user.exec in /etc/sluice/kubeconfig"
};

// Whom the server is to take us for.
struct Impersonation {
  std::string user;  // empty = nobody else
  std::string uid;
  std::vector<std::string> groups;
  std::vector<std::pair<std::string, std::vector<std::string>>> extra;
};

struct ConnectionConfig {
  ServerUrl server;
  std::string origin;           // for people: "/etc/sluice/kubeconfig", "the pod's service account"
  std::string tls_server_name;  // empty: the host of the server
  bool insecure_skip_tls_verify = false;
  bool disable_compression = false;
  std::optional<Proxy> proxy;
  Material ca;  // not given: the system's CAs
  Material client_certificate;
  Material client_key;
  Material token;
  std::string username;
  std::string password;
  std::optional<ExecConfig> exec;  // for what is not given above
  Impersonation impersonate;

  // The name that the server's certificate must have.
  const std::string& tls_name() const { return tls_server_name.empty() ? server.host : tls_server_name; }
};

}  // namespace sluice::kube
