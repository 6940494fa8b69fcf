// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A fresh self-signed certificate and its key, in PEM form.
#pragma once

#include <chrono>
#include <string>

namespace sluice::test {

struct Pem {
  std::string certificate;
  std::string key;
  std::string encrypted_key;  // the same key with a password
};

// Negative: already expired.
Pem make_pem(const std::string& common_name = "test", std::chrono::seconds valid = std::chrono::hours(1));

}  // namespace sluice::test
