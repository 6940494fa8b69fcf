// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Sets up TLS for a connection (trust, client certificate), and says in words what went
// wrong with it. A context trusts the given CA alone; the system's CAs only when none
// is given.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>

#include "core/base/status.hpp"
#include "core/kube/access/connection_config.hpp"
#include "core/kube/access/tls_files.hpp"

struct ssl_ctx_st;

namespace sluice::kube {

// Why the last handshake refused the server's certificate; the library above tells
// only that it did. Any thread.
class VerifyReport {
 public:
  // `depth`: 0 is the server's own certificate, more an authority above it.
  void set(int x509_error, int depth, std::string subject, std::chrono::system_clock::time_point not_before,
           std::chrono::system_clock::time_point not_after);
  void clear();
  // Empty when no certificate was refused.
  std::string sentence(const ConnectionConfig& config) const;

 private:
  mutable std::mutex mutex_;
  int error_ = 0;
  int depth_ = 0;
  std::string subject_;
  std::chrono::system_clock::time_point not_before_;
  std::chrono::system_clock::time_point not_after_;
};

// Sets up a fresh SSL_CTX. The context keeps `report` alive.
base::Status configure_tls(ssl_ctx_st* context, const ConnectionConfig& config, const TlsMaterial& material,
                           std::shared_ptr<VerifyReport> report);

// OpenSSL's words for an error code; empty if it is none of its codes.
std::string tls_error_text(unsigned long code);

// Whether the code means that the server did not accept something of ours, which can
// only be the client certificate or the lack of one.
bool refuses_client_certificate(unsigned long code);

}  // namespace sluice::kube
