// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/http/system_roots.hpp"

#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

namespace {

thread_local int not_wanted = 0;

}  // namespace

// Takes the place of OpenSSL's function of that name for everybody in this process, by
// the rules of the dynamic linker, and does just what that one does, unless it is us.
// Where it does not get its place (a statically linked library), connections only cost
// what they would cost without it.
extern "C" __attribute__((visibility("default"))) int SSL_CTX_set_default_verify_paths(SSL_CTX* context) {
  if (not_wanted > 0) return 1;
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
