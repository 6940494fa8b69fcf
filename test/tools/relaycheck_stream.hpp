// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The bytes of a connection, made from a seed and a place, so that either end can make
// them and neither has to keep any; and the header by which a client asks for its share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace relaycheck {

// A few steps of this are enough to choose sizes and pauses.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  std::uint64_t below(std::uint64_t end) { return next() % end; }
  // As many small ones as large ones: between 1 and 2^bits - 1.
  std::size_t size(unsigned bits);

 private:
  std::uint64_t state_;
};

// The byte at each place of an endless stream depends on seed and place alone: a byte lost, doubled or out of order
// makes all that follow different.
class Sequence {
 public:
  explicit Sequence(std::uint64_t seed) : seed_(seed) {}
  void fill(std::uint64_t place, std::span<unsigned char> out) const;
  // The place of the first byte that is not as it should be; `got.size()` when all are.
  std::size_t matches(std::uint64_t place, std::span<const unsigned char> got) const;

 private:
  std::uint64_t seed_;
};

enum class ClosesFirst : std::uint32_t { client = 0, server = 1, whoever_is_ready = 2 };

// What a client sends first. Both ends are of one build and one machine.
struct Header {
  std::uint64_t magic = kMagic;
  std::uint64_t seed = 0;
  std::uint64_t up = 0;         // bytes the client sends
  std::uint64_t down = 0;       // bytes it wants
  std::uint64_t read_rate = 0;  // bytes a second at which the server reads; 0: as they come
  ClosesFirst closes_first = ClosesFirst::client;
  std::uint32_t pauses = 0;  // of 1000 pieces sent by either end, after how many it rests
  static constexpr std::uint64_t kMagic = 0x5275c4ec5275c4ecULL;
};
static_assert(sizeof(Header) == 48);

inline std::uint64_t up_seed(const Header& header) { return header.seed * 2 + 1; }
inline std::uint64_t down_seed(const Header& header) { return header.seed * 2 + 2; }
// What a server answers first: it has understood.
inline std::uint64_t acknowledgement(const Header& header) { return ~header.seed; }

}  // namespace relaycheck
