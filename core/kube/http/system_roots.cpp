// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/http/system_roots.hpp"

#include <dlfcn.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

namespace {

thread_local int skip_count = 0;

}  // namespace

// Interposes OpenSSL's function in the whole process: does nothing in a thread with SkipSystemRoots, else calls
// OpenSSL's function. If there is none to call (OpenSSL is linked statically), does the same as that function.
// Rationale: docs/decisions/0030-system-cas-once.md.
extern "C" __attribute__((visibility("default"))) int SSL_CTX_set_default_verify_paths(SSL_CTX* context) {
  using Function = int (*)(SSL_CTX*);
  if (skip_count > 0) return 1;
  static const auto of_openssl = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "SSL_CTX_set_default_verify_paths"));
  if (of_openssl != nullptr) return of_openssl(context);
  return X509_STORE_set_default_paths(SSL_CTX_get_cert_store(context));
}

namespace sluice::kube {

SkipSystemRoots::SkipSystemRoots() { ++skip_count; }
SkipSystemRoots::~SkipSystemRoots() { --skip_count; }

void trust_system_roots(ssl_ctx_st* context) {
  // Never freed; contexts share it.
  static X509_STORE* const store = [] {
    X509_STORE* made = X509_STORE_new();
    X509_STORE_set_default_paths(made);
    return made;
  }();
  SSL_CTX_set1_cert_store(context, store);
}

}  // namespace sluice::kube
