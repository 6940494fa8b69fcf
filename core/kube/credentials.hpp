// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Where the API server is and what proves who we are. Files are read again for every
// connection, so rotated tokens and certificates need no restart.
//
// Nothing here is ever printed; sentences name the file or the field instead.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "core/base/status.hpp"

namespace sluice::kube {

// "https://api.example:6443/base" taken apart.
struct ServerUrl {
  bool tls = true;
  std::string host;  // a name or an IP literal, without brackets
  std::uint16_t port = 443;
  std::string base_path;  // "" or "/base"

  std::string to_string() const;
};

// The scheme may be missing, as kubectl allows ("10.0.0.1:8080" means http).
base::Result<ServerUrl> parse_server_url(const std::string& text);

// Content given in place, or a file that holds it.
struct Material {
  std::string inline_content;
  std::string file;
  std::string origin;  // for people: the file, or the field it was given in

  bool given() const { return !inline_content.empty() || !file.empty(); }
};

struct ConnectionConfig {
  ServerUrl server;
  std::string origin;           // for people: "/etc/sluice/kubeconfig", "the in-cluster environment"
  std::string tls_server_name;  // empty: the host of the server
  bool insecure_skip_tls_verify = false;
  bool disable_compression = false;
  Material ca;  // not given: the system's CAs
  Material client_certificate;
  Material client_key;
  Material token;
  std::string username;
  std::string password;
};

// What one connection needs, read.
struct ConnectionSecrets {
  std::string ca_pem;
  std::string certificate_pem;
  std::string key_pem;
  std::string authorization;  // value of the header; empty = none

  bool operator==(const ConnectionSecrets&) const = default;
};

class Credentials {
 public:
  explicit Credentials(ConnectionConfig config) : config_(std::move(config)) {}

  const ConnectionConfig& config() const { return config_; }
  // Reads the files. A token file that cannot be read leaves the last token in force,
  // as it is replaced in place by some tools. Any thread.
  base::Result<ConnectionSecrets> load();

 private:
  const ConnectionConfig config_;
  std::mutex mutex_;
  std::string last_token_;
};

std::string base64_encode(const std::string& bytes);
// Fails on anything but base64; white space is skipped.
base::Result<std::string> base64_decode(const std::string& text);

}  // namespace sluice::kube
