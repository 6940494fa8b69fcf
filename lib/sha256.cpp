// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "lib/sha256.hpp"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <new>
#include <vector>

#include "lib/fd.hpp"
#include "lib/text.hpp"

namespace sluice::lib {
namespace {

constexpr std::size_t kPiece = 64u << 10;

// EVP functions can only fail for lack of memory.
class Sum {
 public:
  Sum() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    if (!context_ || EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1) throw std::bad_alloc();
  }
  void add(const void* data, std::size_t size) {
    if (EVP_DigestUpdate(context_.get(), data, size) != 1) throw std::bad_alloc();
  }
  std::array<std::uint8_t, 32> bytes() {
    std::array<std::uint8_t, 32> out{};
    if (EVP_DigestFinal_ex(context_.get(), out.data(), nullptr) != 1) throw std::bad_alloc();
    return out;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

std::string hex(const std::array<std::uint8_t, 32>& bytes) {
  std::string out;
  for (const std::uint8_t byte : bytes) out += hex_byte(byte);
  return out;
}

}  // namespace

std::array<std::uint8_t, 32> sha256_bytes(std::string_view content) {
  Sum sum;
  sum.add(content.data(), content.size());
  return sum.bytes();
}

std::string sha256(std::string_view content) { return hex(sha256_bytes(content)); }

Result<std::string> file_sha256(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.valid()) return errno_status("cannot read " + path, errno);
  struct stat data {};
  if (::fstat(fd.get(), &data) != 0) return errno_status("cannot read " + path, errno);
  if (!S_ISREG(data.st_mode)) return invalid("cannot read " + path + ": it is not a regular file");
  Sum sum;
  std::vector<char> piece(kPiece);
  for (;;) {
    const ssize_t n = ::read(fd.get(), piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_status("cannot read " + path, errno);
    if (n == 0) return hex(sum.bytes());
    sum.add(piece.data(), static_cast<std::size_t>(n));
  }
}

}  // namespace sluice::lib
