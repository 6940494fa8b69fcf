// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Input and output of a credential program: the ExecCredential documents of client.authentication.k8s.io.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "core/kube/access/connection_config.hpp"
#include "lib/status.hpp"

namespace sluice::kube {

struct ExecCredential {
  std::string token;            // empty: none
  std::string certificate_pem;  // empty: none
  std::string key_pem;
  std::optional<std::chrono::system_clock::time_point> expires;  // absent: never
};

// The value of KUBERNETES_EXEC_INFO. `ca_pem` is included if provideClusterInfo is set.
std::string exec_info(const ConnectionConfig& config, const std::string& ca_pem);

// Errors name the field, never a value, which may be secret.
lib::Result<ExecCredential> parse_exec_credential(const std::string& json, const std::string& api_version);

}  // namespace sluice::kube
