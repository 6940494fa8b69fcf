// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/access/base64.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <iterator>

namespace sluice::kube {

std::string base64_encode(const std::string& bytes) {
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');  // with the terminating zero of EVP_EncodeBlock()
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), reinterpret_cast<const unsigned char*>(bytes.data()),
                  static_cast<int>(bytes.size()));
  out.pop_back();
  return out;
}

lib::Result<std::string> base64_decode(const std::string& text) {
  std::string packed;
  std::remove_copy_if(text.begin(), text.end(), std::back_inserter(packed),
                      [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; });
  const std::size_t padding = packed.size() - (packed.find_last_not_of('=') + 1);
  std::string out(packed.size() / 4 * 3, '\0');
  // EVP_DecodeBlock() takes '=' for a zero and ignores '-' at the end.
  if (packed.size() % 4 != 0 || padding > 2 || packed.find('=') < packed.size() - padding ||
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                      reinterpret_cast<const unsigned char*>(packed.data()),
                      static_cast<int>(packed.size())) != static_cast<int>(out.size())) {
    return lib::invalid("is not base64");
  }
  out.resize(out.size() - padding);
  return out;
}

}  // namespace sluice::kube
