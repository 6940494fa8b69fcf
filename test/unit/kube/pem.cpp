// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "test/unit/kube/pem.hpp"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>
#include <stdexcept>

namespace sluice::test {
namespace {

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

std::string key_pem(EVP_PKEY* key, const std::string& password) {
  const Bio bio(BIO_new(BIO_s_mem()), BIO_free);
  const auto* bytes = reinterpret_cast<const unsigned char*>(password.data());
  PEM_write_bio_PrivateKey(bio.get(), key, password.empty() ? nullptr : EVP_aes_128_cbc(),
                           password.empty() ? nullptr : bytes, static_cast<int>(password.size()), nullptr, nullptr);
  return text_of(bio.get());
}

}  // namespace

Pem make_pem(const std::string& common_name, std::chrono::seconds valid) {
  EVP_PKEY* made = nullptr;
  const std::unique_ptr<EVP_PKEY_CTX, decltype(&EVP_PKEY_CTX_free)> generator(
      EVP_PKEY_CTX_new_id(EVP_PKEY_ED25519, nullptr), EVP_PKEY_CTX_free);
  if (EVP_PKEY_keygen_init(generator.get()) != 1 || EVP_PKEY_keygen(generator.get(), &made) != 1) {
    throw std::runtime_error("no key could be made");
  }
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(made, EVP_PKEY_free);
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(X509_new(), X509_free);
  X509_set_version(certificate.get(), 2);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -7200);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), static_cast<long>(valid.count()));
  X509_set_pubkey(certificate.get(), key.get());
  X509_NAME* name = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(common_name.c_str()), -1,
                             -1, 0);
  X509_set_issuer_name(certificate.get(), name);
  X509_sign(certificate.get(), key.get(), nullptr);
  const Bio bio(BIO_new(BIO_s_mem()), BIO_free);
  PEM_write_bio_X509(bio.get(), certificate.get());
  return {text_of(bio.get()), key_pem(key.get(), ""), key_pem(key.get(), "secret")};
}

}  // namespace sluice::test
