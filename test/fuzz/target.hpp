// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What the fuzz targets share: each is a function from bytes to nothing that ends the
// process when something that must always hold does not. One program holds all of
// them; the environment variable FUZZ_TARGET names the one to run. Built with libFuzzer
// it looks for inputs (libfuzzer.cpp), otherwise it replays the corpus (replay.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::fuzz {

struct Target {
  std::string_view name;  // also the folder of its corpus
  void (*run)(std::string_view input);
};

// Sorted by name.
const std::vector<Target>& targets();
// Null when there is none of that name.
const Target* find_target(std::string_view name);

// Registers a target when the program starts.
struct Registration {
  explicit Registration(const Target& target);
};

// `what` is a sentence about what was broken.
[[noreturn]] void broken(const char* what, const char* file, int line);

// Takes what a target needs besides the text off the front of its input, so that one
// input decides everything. An input that is used up reads as zeros.
class Input {
 public:
  explicit Input(std::string_view bytes) : bytes_(bytes) {}

  std::uint8_t byte();
  bool flag() { return (byte() & 1) != 0; }
  // Below `limit`, which is not 0.
  std::size_t below(std::size_t limit);
  std::string_view take(std::size_t count);
  std::string_view rest() { return take(bytes_.size()); }

 private:
  std::string_view bytes_;
};

// The text in pieces whose sizes come from `sizes`, which is gone through again and
// again; none is larger than 256 bytes, and without sizes there is one piece.
std::vector<std::string_view> cut(std::string_view text, std::string_view sizes);

// The text without a control character: one line of a log.
bool is_one_line(std::string_view text);

}  // namespace sluice::fuzz

#define FUZZ_TARGET(name)                                                             \
  static void name##_target(std::string_view input);                                  \
  static const ::sluice::fuzz::Registration name##_registration({#name, name##_target}); \
  static void name##_target(std::string_view input)

#define FUZZ_REQUIRE(condition, what) \
  ((condition) ? static_cast<void>(0) : ::sluice::fuzz::broken(what, __FILE__, __LINE__))
