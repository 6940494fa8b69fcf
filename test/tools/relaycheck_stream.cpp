// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "relaycheck_stream.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace relaycheck {
namespace {

constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15ULL;

// The finalizer of splitmix64.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace

std::uint64_t Random::next() { return mix(state_ += kStep); }

std::size_t Random::size(unsigned bits) {
  const std::size_t limit = std::size_t{2} << below(bits);
  return 1 + static_cast<std::size_t>(below(limit - 1));
}

void Sequence::fill(std::uint64_t place, std::span<unsigned char> out) const {
  std::size_t done = 0;
  while (done < out.size()) {
    const std::uint64_t word = mix(seed_ * kStep + (place + done) / 8);
    const std::size_t skip = (place + done) % 8;
    const std::size_t count = std::min<std::size_t>(8 - skip, out.size() - done);
    std::memcpy(out.data() + done, reinterpret_cast<const char*>(&word) + skip, count);
    done += count;
  }
}

std::size_t Sequence::matches(std::uint64_t place, std::span<const unsigned char> got) const {
  std::array<unsigned char, 4096> wanted;
  for (std::size_t done = 0; done < got.size();) {
    const auto part = got.subspan(done, std::min(wanted.size(), got.size() - done));
    const auto expected = std::span(wanted).first(part.size());
    fill(place + done, expected);
    if (std::memcmp(expected.data(), part.data(), part.size()) != 0) {
      return done + static_cast<std::size_t>(std::mismatch(part.begin(), part.end(), expected.begin()).first -
                                             part.begin());
    }
    done += part.size();
  }
  return got.size();
}

}  // namespace relaycheck
