// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The headers of a request to the API server.
#pragma once

#include <string>

#include "core/base/status.hpp"
#include "core/kube/access/connection_config.hpp"
#include "core/kube/http/http_session.hpp"

namespace sluice::kube {

// Impersonation goes where credentials go: over TLS only.
HttpHeaders request_headers(const ConnectionConfig& config, const std::string& version,
                            const std::string& authorization);

// Whether a header can carry what is to be impersonated; names the field that it cannot.
base::Status check_impersonation(const Impersonation& who);

}  // namespace sluice::kube
