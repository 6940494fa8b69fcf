// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/http/tls_context.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include <utility>

#include "core/kube/access/certificates.hpp"
#include "core/kube/access/pem_objects.hpp"
#include "core/kube/http/system_roots.hpp"
#include "lib/rfc3339.hpp"

namespace sluice::kube {
namespace {

lib::Status trust(SSL_CTX* context, const Material& ca, const std::string& pem) {
  if (auto status = check_authorities(pem, ca.origin); !status.ok()) return status;
  const PemBio bio = pem_memory(pem);
  // A new store, because the context may already have the system's CAs.
  X509_STORE* store = X509_STORE_new();
  SSL_CTX_set_cert_store(context, store);
  while (const PemCertificate certificate = next_certificate(bio.get())) {
    X509_STORE_add_cert(store, certificate.get());
  }
  ERR_clear_error();
  return {};
}

lib::Status identify(SSL_CTX* context, const TlsMaterial& material) {
  const std::string& certificate_origin = material.certificate_origin;
  if (auto status = check_pair(material.certificate_pem, certificate_origin, material.key_pem, material.key_origin);
      !status.ok()) {
    return status;
  }
  const PemBio certificates = pem_memory(material.certificate_pem);
  const PemCertificate leaf = next_certificate(certificates.get());
  if (SSL_CTX_use_certificate(context, leaf.get()) != 1) {
    const std::string reason = tls_error_text(ERR_peek_last_error());
    ERR_clear_error();
    return lib::invalid(certificate_origin + ": the certificate is not usable for TLS: " + reason);
  }
  SSL_CTX_clear_chain_certs(context);
  while (const PemCertificate intermediate = next_certificate(certificates.get())) {
    SSL_CTX_add1_chain_cert(context, intermediate.get());
  }
  ERR_clear_error();
  const PemBio key_bio = pem_memory(material.key_pem);
  const PemKey key = private_key(key_bio.get());
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1) {
    const std::string reason = tls_error_text(ERR_peek_last_error());
    ERR_clear_error();
    return lib::invalid(material.key_origin + ": the key is not usable for TLS: " + reason);
  }
  return {};
}

void free_report(void*, void* pointer, CRYPTO_EX_DATA*, int, long, void*) {
  delete static_cast<std::shared_ptr<VerifyReport>*>(pointer);
}

int report_slot() {
  static const int slot = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, free_report);
  return slot;
}

// Replaces OpenSSL's default verification, to keep the reason of a failure.
int verify_and_report(X509_STORE_CTX* store, void* argument) {
  auto* report = static_cast<VerifyReport*>(argument);
  const int good = X509_verify_cert(store);
  if (good == 1) {
    report->clear();
    return good;
  }
  CertificateFacts facts;
  if (X509* certificate = X509_STORE_CTX_get_current_cert(store)) facts = certificate_facts(certificate);
  report->set(X509_STORE_CTX_get_error(store), X509_STORE_CTX_get_error_depth(store), facts.subject, facts.not_before,
              facts.not_after);
  return good;
}

}  // namespace

void VerifyReport::set(int x509_error, int depth, std::string subject, std::chrono::system_clock::time_point not_before,
                       std::chrono::system_clock::time_point not_after) {
  const lib::Lock lock(mutex_);
  // The HTTP library's callback compares the host name, and sets no error code.
  error_ = x509_error == X509_V_OK ? X509_V_ERR_UNSPECIFIED : x509_error;
  depth_ = depth;
  subject_ = std::move(subject);
  not_before_ = not_before;
  not_after_ = not_after;
}

void VerifyReport::clear() {
  const lib::Lock lock(mutex_);
  error_ = X509_V_OK;
}

std::string VerifyReport::sentence(const ConnectionConfig& config) const {
  const lib::Lock lock(mutex_);
  const std::string whose = depth_ == 0 ? "the certificate of the server (subject " + subject_ + ")"
                                        : "the CA certificate " + subject_ + " above the server's";
  switch (error_) {
    case X509_V_OK:
      return {};
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      if (!config.ca.given()) {
        return "the server certificate is not signed by a CA of this system; give the cluster's CA as "
               "certificate-authority";
      }
      return "the server certificate is not signed by the CA of " + config.ca.origin + "; use the CA of this cluster";
    case X509_V_ERR_UNSPECIFIED:
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return "the server certificate is not made out to " + config.tls_name() +
             "; use an address it names, or set tls-server-name to a name it has";
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return whose + " has expired at " + lib::rfc3339(not_after_, lib::Fraction::none) +
             "; renew it, or correct this node's clock";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return whose + " is not valid before " + lib::rfc3339(not_before_, lib::Fraction::none) +
             "; correct this node's clock";
    default:
      return std::string("the server certificate is rejected: ") + X509_verify_cert_error_string(error_);
  }
}

lib::Status configure_tls(ssl_ctx_st* context, const ConnectionConfig& config, const TlsMaterial& material,
                          std::shared_ptr<VerifyReport> report) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  if (config.ca.given()) {
    if (auto status = trust(context, config.ca, material.ca_pem); !status.ok()) return status;
  } else if (!config.insecure_skip_tls_verify) {
    trust_system_roots(context);
  }
  if (!material.certificate_pem.empty()) {
    if (auto status = identify(context, material); !status.ok()) return status;
  }
  auto* kept = new std::shared_ptr<VerifyReport>(std::move(report));
  SSL_CTX_set_cert_verify_callback(context, verify_and_report, kept->get());
  SSL_CTX_set_ex_data(context, report_slot(), kept);  // freed with the context
  return {};
}

std::string tls_error_text(unsigned long code) {
  if (code == 0 || ERR_GET_LIB(code) == 0) return {};
  OPENSSL_init_ssl(OPENSSL_INIT_LOAD_SSL_STRINGS, nullptr);  // does nothing from the second call on
  const char* text = ERR_reason_error_string(code);
  return text == nullptr ? "TLS error " + std::to_string(code) : text;
}

bool refuses_client_certificate(unsigned long code) {
  // OpenSSL reports received alerts as reasons from 1000 (SSL_AD_REASON_OFFSET).
  switch (ERR_GET_LIB(code) == ERR_LIB_SSL ? ERR_GET_REASON(code) - SSL_AD_REASON_OFFSET : 0) {
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_REVOKED:
    case SSL_AD_CERTIFICATE_EXPIRED:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_UNKNOWN_CA:
    case SSL_AD_ACCESS_DENIED:
    case SSL_AD_CERTIFICATE_REQUIRED:
      return true;
    default:
      return false;
  }
}

}  // namespace sluice::kube
