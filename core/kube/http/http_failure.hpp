// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Error messages for failed connections: server or proxy, reason and remedy, from the error codes and texts of the HTTP
// library.
#pragma once

#include <chrono>

#include "core/kube/access/connection_config.hpp"
#include "core/kube/access/tls_files.hpp"
#include "core/kube/http/connect_reason.hpp"
#include "core/kube/http/http_session.hpp"
#include "core/kube/http/tls_context.hpp"
#include "lib/status.hpp"

namespace sluice::kube {

struct FailedConnection {
  const ConnectionConfig& config;
  const HttpRoute& route;
  const TlsMaterial& material;
  const VerifyReport& report;
  ConnectReason& connect_reason;
  bool answered = false;  // a response had begun
};

// denied: TLS or credentials are the reason; unavailable: the network or the server.
lib::Status explain_failure(const HttpFailure& failure, const FailedConnection& connection,
                            std::chrono::system_clock::time_point now);

// "cannot reach the API server …: reason", with the proxy when there is one.
lib::Status unreachable(const ConnectionConfig& config, const std::string& reason);

}  // namespace sluice::kube
