// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A fresh self-signed certificate and its key, in PEM form.
#pragma once

#include <string>

namespace sluice::test {

struct Pem {
  std::string certificate;
  std::string key;
  std::string encrypted_key;  // the same behind a password
};

Pem make_pem();

}  // namespace sluice::test
