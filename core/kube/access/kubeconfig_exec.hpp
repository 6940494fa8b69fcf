// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Reads the `exec` part of a kubeconfig, which configures a credential program.
#pragma once

#include <string>

#include "core/kube/access/connection_config.hpp"
#include "core/kube/access/kubeconfig_node.hpp"

namespace sluice::kube {

// Reads the `exec` of a user. `path` is the kubeconfig. Throws KubeconfigWrong.
ExecConfig read_exec_config(const KubeconfigNode& exec, const std::string& path);

// The extension "client.authentication.k8s.io/exec" of the cluster as JSON, which the program receives unchanged; empty
// if there is none.
std::string exec_cluster_config(const std::string& kubeconfig, const std::string& cluster);

}  // namespace sluice::kube
