// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Converts the text of a kubeconfig to a ConnectionConfig (BEH 1.6).
#pragma once

#include <optional>
#include <string>

#include "core/kube/access/connection_config.hpp"
#include "lib/status.hpp"

namespace sluice::kube {

// Reads no other files. With `master_given` the server of the cluster is optional and its tls-server-name is ignored:
// both belong to another server than --master. Absent if the text has no cluster at all.
lib::Result<std::optional<ConnectionConfig>> read_kubeconfig(const std::string& path, const std::string& text,
                                                             bool master_given);

}  // namespace sluice::kube
