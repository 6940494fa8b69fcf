// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The text of a kubeconfig → ConnectionConfig, field by field (BEH 1.6).
#pragma once

#include <optional>
#include <string>

#include "core/base/status.hpp"
#include "core/kube/access/connection_config.hpp"

namespace sluice::kube {

// Reads no other file than the text given. With `master_given` the cluster may lack a
// server, and the name of the server's certificate does not count: both are another's.
// Absent when the text names no cluster at all.
base::Result<std::optional<ConnectionConfig>> read_kubeconfig(const std::string& path, const std::string& text,
                                                              bool master_given);

}  // namespace sluice::kube
