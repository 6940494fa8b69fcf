// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The one file that knows OpenSSL: trust, client certificate, and what went wrong, in
// words. A context trusts the given CA alone; the system's CAs only when none is given.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "core/base/status.hpp"
#include "core/kube/credentials.hpp"

struct ssl_ctx_st;

namespace sluice::kube {

// Why the last handshake refused the server's certificate; the library above tells
// only that it did. Any thread.
class VerifyReport {
 public:
  void set(int x509_error, std::string subject);
  void clear();
  // Empty when no certificate was refused.
  std::string sentence(const ConnectionConfig& config) const;

 private:
  mutable std::mutex mutex_;
  int error_ = 0;
  std::string subject_;
};

// Sets up a fresh SSL_CTX. The context keeps `report` alive.
base::Status configure_tls(ssl_ctx_st* context, const ConnectionConfig& config, const ConnectionSecrets& secrets,
                           std::shared_ptr<VerifyReport> report);

// Whether configure_tls() would succeed.
base::Status check_tls_material(const ConnectionConfig& config, const ConnectionSecrets& secrets);

// OpenSSL's words for an error code; empty if it is none of its codes.
std::string tls_error_text(unsigned long code);

}  // namespace sluice::kube
