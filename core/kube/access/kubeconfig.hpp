// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// From kubeconfig, --master or the in-cluster environment to a ConnectionConfig
// (BEH 1.6). What cannot be done (credential programs that need a terminal, proxies of
// other kinds than http) is refused by name rather than passed over: the connection
// would fail later with a reason nobody can guess.
#pragma once

#include <string>

#include "core/base/status.hpp"
#include "core/kube/access/connection_config.hpp"
#include "core/kube/access/proxy.hpp"

namespace sluice::kube {

struct ConnectionRequest {
  std::string kubeconfig;  // path; empty = not given
  std::string master;      // URL; empty = not given
  Environment environment;
  std::string service_account_dir = "/var/run/secrets/kubernetes.io/serviceaccount";
};

// Reads everything that is named once, so that a start with unusable credentials fails
// at the start; a credential program is looked for and not run. Each failure is one
// sentence with file, field, reason and remedy.
base::Result<ConnectionConfig> find_connection(const ConnectionRequest& request);

}  // namespace sluice::kube
