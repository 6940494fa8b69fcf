// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The headers of a request to the API server.
#pragma once

#include <string>

#include "core/kube/access/connection_config.hpp"
#include "core/kube/http/http_session.hpp"
#include "lib/status.hpp"

namespace sluice::kube {

// Impersonation headers are sent over TLS only, like credentials.
HttpHeaders request_headers(const Request& request, const ConnectionConfig& config, const std::string& version,
                            const std::string& authorization);

// Whether HTTP headers can carry the impersonation; the error names the field that they cannot.
lib::Status check_impersonation(const Impersonation& impersonation);

}  // namespace sluice::kube
