// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Sets up TLS for a connection (trust, client certificate) and explains TLS errors. A context trusts the configured CA,
// or the system's CAs if none is configured.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "core/kube/access/connection_config.hpp"
#include "core/kube/access/tls_files.hpp"
#include "lib/mutex.hpp"
#include "lib/status.hpp"

struct ssl_ctx_st;

namespace sluice::kube {

// Why the last handshake rejected the server certificate, which the HTTP library does not report. Thread-safe.
class VerifyReport {
 public:
  // `depth`: 0 is the server certificate; higher numbers are CA certificates above it.
  void set(int x509_error, int depth, std::string subject, std::chrono::system_clock::time_point not_before,
           std::chrono::system_clock::time_point not_after);
  void clear();
  // Empty if no certificate was rejected.
  std::string sentence(const ConnectionConfig& config) const;

 private:
  mutable lib::Mutex mutex_;
  int error_ SLUICE_GUARDED_BY(mutex_) = 0;
  int depth_ SLUICE_GUARDED_BY(mutex_) = 0;
  std::string subject_ SLUICE_GUARDED_BY(mutex_);
  std::chrono::system_clock::time_point not_before_ SLUICE_GUARDED_BY(mutex_);
  std::chrono::system_clock::time_point not_after_ SLUICE_GUARDED_BY(mutex_);
};

// Sets up a fresh SSL_CTX. The context keeps `report` alive.
lib::Status configure_tls(ssl_ctx_st* context, const ConnectionConfig& config, const TlsMaterial& material,
                          std::shared_ptr<VerifyReport> report);

// OpenSSL's text for an error code; empty if it is not an OpenSSL code.
std::string tls_error_text(unsigned long code);

// Whether the code is an alert with which a server rejects the client certificate, or the lack of one.
bool refuses_client_certificate(unsigned long code);

}  // namespace sluice::kube
