// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Makes a ConnectionConfig from a kubeconfig, --master or the in-cluster environment (BEH 1.6). Unsupported settings
// (credential programs that need a terminal, proxies other than http) are rejected with an error that names them:
// otherwise the connection would fail later for an unclear reason.
#pragma once

#include <string>

#include "core/kube/access/connection_config.hpp"
#include "core/kube/access/proxy.hpp"
#include "lib/status.hpp"

namespace sluice::kube {

struct ConnectionRequest {
  std::string kubeconfig;  // path; empty = not given
  std::string master;      // URL; empty = not given
  Environment environment;
  std::string service_account_dir = "/var/run/secrets/kubernetes.io/serviceaccount";
};

// Reads all files once, so that unusable credentials fail at startup. Finds the credential program, but does not run
// it. Errors name file, field, reason and remedy.
lib::Result<ConnectionConfig> find_connection(const ConnectionRequest& request);

}  // namespace sluice::kube
