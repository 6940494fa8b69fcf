// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The bytes of a connection, which depend on a seed and an offset, so that both ends can generate them without storing
// any; and the header by which a client requests its share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace relaycheck {

// A simple random number generator for sizes and pauses.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  std::uint64_t below(std::uint64_t end) { return next() % end; }
  // A number between 1 and 2^bits - 1, small ones as often as large ones.
  std::size_t size(unsigned bits);

 private:
  std::uint64_t state_;
};

// Each byte of an endless stream depends only on seed and offset: after a lost, duplicated or reordered byte, all
// others differ.
class Sequence {
 public:
  explicit Sequence(std::uint64_t seed) : seed_(seed) {}
  void fill(std::uint64_t place, std::span<unsigned char> out) const;
  // The offset of the first wrong byte; `got.size()` if all are correct.
  std::size_t matches(std::uint64_t place, std::span<const unsigned char> got) const;

 private:
  std::uint64_t seed_;
};

enum class ClosesFirst : std::uint32_t { client = 0, server = 1, either_side = 2 };

// The first bytes of a client. Both ends have the same build and machine.
struct Header {
  std::uint64_t magic = kMagic;
  std::uint64_t seed = 0;
  std::uint64_t up = 0;         // bytes the client sends
  std::uint64_t down = 0;       // bytes the server sends
  std::uint64_t read_rate = 0;  // bytes per second at which the server reads; 0: unlimited
  ClosesFirst closes_first = ClosesFirst::client;
  std::uint32_t pauses = 0;  // per 1000 pieces sent by either end
  static constexpr std::uint64_t kMagic = 0x5275c4ec5275c4ecULL;
};
static_assert(sizeof(Header) == 48);

inline std::uint64_t up_seed(const Header& header) { return header.seed * 2 + 1; }
inline std::uint64_t down_seed(const Header& header) { return header.seed * 2 + 2; }
// The first bytes of a server, which confirm the header.
inline std::uint64_t acknowledgement(const Header& header) { return ~header.seed; }

}  // namespace relaycheck
