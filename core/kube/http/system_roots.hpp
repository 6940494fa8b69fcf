// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The CAs of this system, loaded when they are needed and once for all connections.
//
// The HTTP library has OpenSSL load them for every connection, before it asks us whom to
// trust: 20 ms of CPU and several MB, thrown away at once. SystemRootsNotWanted turns
// that call of its thread into nothing.
#pragma once

struct ssl_ctx_st;

namespace sluice::kube {

// While it lives, SSL_CTX_set_default_verify_paths() does nothing in this thread.
class SystemRootsNotWanted {
 public:
  SystemRootsNotWanted();
  SystemRootsNotWanted(const SystemRootsNotWanted&) = delete;
  SystemRootsNotWanted& operator=(const SystemRootsNotWanted&) = delete;
  ~SystemRootsNotWanted();
};

// Makes `context` trust the CAs of the system, and nobody else. Where they are is
// OpenSSL's business (SSL_CERT_FILE, SSL_CERT_DIR, its own folder).
void trust_system_roots(ssl_ctx_st* context);

}  // namespace sluice::kube
