// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The system's CAs, loaded on first use and once for all connections.
//
// The HTTP library makes OpenSSL load them for every connection, before the callback that configures trust: 20 ms of
// CPU and several MB, discarded at once. SkipSystemRoots suppresses that call in its thread.
#pragma once

struct ssl_ctx_st;

namespace sluice::kube {

// While an instance exists, SSL_CTX_set_default_verify_paths() does nothing in this thread.
class SkipSystemRoots {
 public:
  SkipSystemRoots();
  SkipSystemRoots(const SkipSystemRoots&) = delete;
  SkipSystemRoots& operator=(const SkipSystemRoots&) = delete;
  ~SkipSystemRoots();
};

// Makes `context` trust the system's CAs only. OpenSSL finds them (SSL_CERT_FILE, SSL_CERT_DIR, its default directory).
void trust_system_roots(ssl_ctx_st* context);

}  // namespace sluice::kube
