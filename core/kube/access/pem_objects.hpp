// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// RAII wrappers for OpenSSL objects read from PEM text.
#pragma once

#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

namespace sluice::kube {

using PemBio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using PemCertificate = std::unique_ptr<X509, decltype(&X509_free)>;
using PemKey = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

// `text` must outlive the BIO.
inline PemBio pem_memory(const std::string& text) {
  return PemBio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free);
}

// An encrypted key must fail instead of asking on the terminal.
inline int no_pem_password(char*, int, int, void*) { return 0; }

// Null at the end of the text.
inline PemCertificate next_certificate(BIO* bio) {
  return PemCertificate(PEM_read_bio_X509(bio, nullptr, no_pem_password, nullptr), X509_free);
}

inline PemKey private_key(BIO* bio) {
  return PemKey(PEM_read_bio_PrivateKey(bio, nullptr, no_pem_password, nullptr), EVP_PKEY_free);
}

}  // namespace sluice::kube
