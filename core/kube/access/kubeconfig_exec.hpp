// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The part of a kubeconfig that names a credential program.
#pragma once

#include <string>

#include "core/kube/access/connection_config.hpp"
#include "core/kube/access/kubeconfig_node.hpp"

namespace sluice::kube {

// The `exec` of a user of the kubeconfig `path`. Throws KubeconfigWrong.
ExecConfig read_exec_config(const KubeconfigNode& exec, const std::string& path);

// The extension "client.authentication.k8s.io/exec" of that cluster, as JSON, which is
// handed to the program as it is; empty when there is none.
std::string exec_cluster_config(const std::string& kubeconfig, const std::string& cluster);

}  // namespace sluice::kube
