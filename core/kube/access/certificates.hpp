// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Reads and checks X.509 certificates, CA files and certificate-key pairs.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "lib/status.hpp"

struct x509_st;

namespace sluice::kube {

struct CertificateFacts {
  std::string subject;  // "CN=system:kube-proxy,O=system:node-proxier"
  std::chrono::system_clock::time_point not_before;
  std::chrono::system_clock::time_point not_after;
};

CertificateFacts certificate_facts(x509_st* certificate);
// The facts of the first certificate; absent if there is none.
std::optional<CertificateFacts> certificate_facts(const std::string& pem);

// "client.crt (subject CN=…, expired at 2026-01-02T03:04:05Z)"; only `origin` if `pem` has no certificate.
std::string describe_certificate(const std::string& origin, const std::string& pem,
                                 std::chrono::system_clock::time_point now);

bool has_expired(const std::string& pem, std::chrono::system_clock::time_point now);

// The origins (file or field) are used in error messages.
lib::Status check_authorities(const std::string& pem, const std::string& origin);
lib::Status check_pair(const std::string& certificate_pem, const std::string& certificate_origin,
                       const std::string& key_pem, const std::string& key_origin);

}  // namespace sluice::kube
