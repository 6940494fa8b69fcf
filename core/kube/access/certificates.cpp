// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/access/certificates.hpp"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <ctime>

#include "core/kube/access/pem_objects.hpp"
#include "lib/rfc3339.hpp"

namespace sluice::kube {
namespace {

std::string printed_name(X509_NAME* name) {
  const PemBio bio(BIO_new(BIO_s_mem()), BIO_free);
  X509_NAME_print_ex(bio.get(), name, 0, XN_FLAG_RFC2253);
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<std::size_t>(size > 0 ? size : 0)};
}

std::chrono::system_clock::time_point time_of(const ASN1_TIME* time) {
  std::tm parts{};
  ASN1_TIME_to_tm(time, &parts);
  return std::chrono::system_clock::from_time_t(::timegm(&parts));
}

lib::Status wrong(const std::string& origin, const std::string& problem) {
  ERR_clear_error();
  return lib::invalid(origin + ": " + problem);
}

}  // namespace

CertificateFacts certificate_facts(x509_st* certificate) {
  return {printed_name(X509_get_subject_name(certificate)), time_of(X509_get0_notBefore(certificate)),
          time_of(X509_get0_notAfter(certificate))};
}

std::optional<CertificateFacts> certificate_facts(const std::string& pem) {
  const PemBio bio = pem_memory(pem);
  const PemCertificate certificate = next_certificate(bio.get());
  ERR_clear_error();
  if (!certificate) return std::nullopt;
  return certificate_facts(certificate.get());
}

std::string describe_certificate(const std::string& origin, const std::string& pem,
                                 std::chrono::system_clock::time_point now) {
  const auto facts = certificate_facts(pem);
  if (!facts) return origin;
  std::string validity = "valid until " + lib::rfc3339(facts->not_after, lib::Fraction::none);
  if (facts->not_after < now) validity = "expired at " + lib::rfc3339(facts->not_after, lib::Fraction::none);
  if (facts->not_before > now) validity = "not valid before " + lib::rfc3339(facts->not_before, lib::Fraction::none);
  return origin + " (subject " + facts->subject + ", " + validity + ")";
}

bool has_expired(const std::string& pem, std::chrono::system_clock::time_point now) {
  const auto facts = certificate_facts(pem);
  return facts && facts->not_after < now;
}

lib::Status check_authorities(const std::string& pem, const std::string& origin) {
  const PemBio bio = pem_memory(pem);
  const PemCertificate first = next_certificate(bio.get());
  if (!first) return wrong(origin, "holds no CA certificate in PEM form");
  return {};
}

lib::Status check_pair(const std::string& certificate_pem, const std::string& certificate_origin,
                       const std::string& key_pem, const std::string& key_origin) {
  const PemBio certificate_bio = pem_memory(certificate_pem);
  const PemCertificate certificate = next_certificate(certificate_bio.get());
  if (!certificate) return wrong(certificate_origin, "holds no certificate in PEM form");
  const PemBio key_bio = pem_memory(key_pem);
  const PemKey key = private_key(key_bio.get());
  if (!key) return wrong(key_origin, "holds no unencrypted private key in PEM form");
  if (X509_check_private_key(certificate.get(), key.get()) != 1) {
    return wrong(key_origin, "the key does not belong to the certificate " + certificate_origin);
  }
  return {};
}

}  // namespace sluice::kube
