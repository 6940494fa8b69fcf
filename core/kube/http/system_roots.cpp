// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/http/system_roots.hpp"

#include <dlfcn.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

namespace {

thread_local int not_wanted = 0;

}  // namespace

// The dynamic linker takes it for OpenSSL's function of that name, in the whole process.
// It does nothing in a thread that says so, and calls OpenSSL's for all others. In a
// process that has no other one (OpenSSL is linked statically) it does what that one does.
// Why it is worth it: docs/decisions/0030-system-cas-once.md.
extern "C" __attribute__((visibility("default"))) int SSL_CTX_set_default_verify_paths(SSL_CTX* context) {
  using Function = int (*)(SSL_CTX*);
  if (not_wanted > 0) return 1;
  static const auto of_openssl = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "SSL_CTX_set_default_verify_paths"));
  if (of_openssl != nullptr) return of_openssl(context);
  return X509_STORE_set_default_paths(SSL_CTX_get_cert_store(context));
}

namespace sluice::kube {

SystemRootsNotWanted::SystemRootsNotWanted() { ++not_wanted; }
SystemRootsNotWanted::~SystemRootsNotWanted() { --not_wanted; }

void trust_system_roots(ssl_ctx_st* context) {
  // Lives as long as the process; contexts share it.
  static X509_STORE* const store = [] {
    X509_STORE* made = X509_STORE_new();
    X509_STORE_set_default_paths(made);
    return made;
  }();
  SSL_CTX_set1_cert_store(context, store);
}

}  // namespace sluice::kube
