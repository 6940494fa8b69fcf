// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/tls_context.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include <utility>

namespace sluice::kube {
namespace {

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using PrivateKey = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Context = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;

Bio memory(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free);
}

// An encrypted key must fail, not ask on the terminal.
int no_password(char*, int, int, void*) { return 0; }

Certificate next_certificate(BIO* bio) {
  return Certificate(PEM_read_bio_X509(bio, nullptr, no_password, nullptr), X509_free);
}

base::Status wrong_material(const Material& material, const std::string& problem) {
  ERR_clear_error();
  return base::invalid(material.origin + ": " + problem);
}

base::Status trust(SSL_CTX* context, const Material& ca, const std::string& pem) {
  const Bio bio = memory(pem);
  // A store of its own: the context came with all of the system's CAs.
  X509_STORE* store = X509_STORE_new();
  SSL_CTX_set_cert_store(context, store);
  int count = 0;
  while (const Certificate certificate = next_certificate(bio.get())) {
    X509_STORE_add_cert(store, certificate.get());
    ++count;
  }
  ERR_clear_error();
  if (count == 0) return wrong_material(ca, "holds no CA certificate in PEM form");
  return {};
}

base::Status identify(SSL_CTX* context, const ConnectionConfig& config, const ConnectionSecrets& secrets) {
  const Bio certificates = memory(secrets.certificate_pem);
  const Certificate leaf = next_certificate(certificates.get());
  if (!leaf) return wrong_material(config.client_certificate, "holds no certificate in PEM form");
  if (SSL_CTX_use_certificate(context, leaf.get()) != 1) {
    return wrong_material(config.client_certificate,
                          "the certificate is not usable for TLS: " + tls_error_text(ERR_peek_last_error()));
  }
  SSL_CTX_clear_chain_certs(context);
  while (const Certificate intermediate = next_certificate(certificates.get())) {
    SSL_CTX_add1_chain_cert(context, intermediate.get());
  }
  ERR_clear_error();

  const Bio key_bio = memory(secrets.key_pem);
  const PrivateKey key(PEM_read_bio_PrivateKey(key_bio.get(), nullptr, no_password, nullptr), EVP_PKEY_free);
  if (!key) return wrong_material(config.client_key, "holds no unencrypted private key in PEM form");
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1 || SSL_CTX_check_private_key(context) != 1) {
    return wrong_material(config.client_key,
                          "the key does not belong to the certificate " + config.client_certificate.origin);
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

// In the place of OpenSSL's own call, to keep what it found out.
int verify_and_report(X509_STORE_CTX* store, void* argument) {
  auto* report = static_cast<VerifyReport*>(argument);
  const int good = X509_verify_cert(store);
  if (good == 1) {
    report->clear();
    return good;
  }
  char subject[256] = "";
  if (X509* certificate = X509_STORE_CTX_get_current_cert(store)) {
    X509_NAME_oneline(X509_get_subject_name(certificate), subject, sizeof subject);
  }
  report->set(X509_STORE_CTX_get_error(store), subject);
  return good;
}

}  // namespace

void VerifyReport::set(int x509_error, std::string subject) {
  const std::lock_guard lock(mutex_);
  // The name is compared by our caller's callback, which sets no code of its own.
  error_ = x509_error == X509_V_OK ? X509_V_ERR_UNSPECIFIED : x509_error;
  subject_ = std::move(subject);
}

void VerifyReport::clear() {
  const std::lock_guard lock(mutex_);
  error_ = X509_V_OK;
}

std::string VerifyReport::sentence(const ConnectionConfig& config) const {
  const std::lock_guard lock(mutex_);
  const std::string& host = config.tls_server_name.empty() ? config.server.host : config.tls_server_name;
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
      return "the server certificate is not made out to " + host +
             "; use an address it names, or set tls-server-name to a name it has";
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return "the certificate " + subject_ + " of the server has expired; renew it, or correct this node's clock";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "the certificate " + subject_ + " of the server is not valid yet; correct this node's clock";
    default:
      return std::string("the server certificate is refused: ") + X509_verify_cert_error_string(error_);
  }
}

base::Status configure_tls(ssl_ctx_st* context, const ConnectionConfig& config, const ConnectionSecrets& secrets,
                           std::shared_ptr<VerifyReport> report) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  if (config.ca.given()) {
    if (auto status = trust(context, config.ca, secrets.ca_pem); !status.ok()) return status;
  }
  if (config.client_certificate.given()) {
    if (auto status = identify(context, config, secrets); !status.ok()) return status;
  }
  auto* kept = new std::shared_ptr<VerifyReport>(std::move(report));
  SSL_CTX_set_cert_verify_callback(context, verify_and_report, kept->get());
  SSL_CTX_set_ex_data(context, report_slot(), kept);  // freed with the context
  return {};
}

base::Status check_tls_material(const ConnectionConfig& config, const ConnectionSecrets& secrets) {
  if (!config.server.tls) return {};
  const Context context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  if (!context) return {base::StatusCode::internal, "cannot create a TLS context"};
  return configure_tls(context.get(), config, secrets, std::make_shared<VerifyReport>());
}

std::string tls_error_text(unsigned long code) {
  if (code == 0 || ERR_GET_LIB(code) == 0) return {};
  OPENSSL_init_ssl(OPENSSL_INIT_LOAD_SSL_STRINGS, nullptr);  // does nothing from the second call on
  const char* text = ERR_reason_error_string(code);
  return text == nullptr ? "TLS error " + std::to_string(code) : text;
}

}  // namespace sluice::kube
