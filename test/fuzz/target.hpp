// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Framework of the fuzz targets. A target is a function that takes bytes and aborts the
// process if an invariant is broken. One program contains all targets; the environment
// variable FUZZ_TARGET selects one. Built with libFuzzer the program searches for inputs
// (libfuzzer.cpp), otherwise it replays the corpus (replay.cpp).
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
// Null if there is no such target.
const Target* find_target(std::string_view name);

// Registers a target at program start.
struct Registration {
  explicit Registration(const Target& target);
};

// `what`: the invariant, as a sentence.
[[noreturn]] void broken(const char* what, const char* file, int line);

// Takes the choices of a target from the front of its input, so that a run depends on the
// input only. Reads zeros after the end.
class Input {
 public:
  explicit Input(std::string_view bytes) : bytes_(bytes) {}

  std::uint8_t byte();
  bool flag() { return (byte() & 1) != 0; }
  // A number below `limit`. REQUIRES: limit != 0.
  std::size_t below(std::size_t limit);
  std::string_view take(std::size_t count);
  std::string_view rest() { return take(bytes_.size()); }

 private:
  std::string_view bytes_;
};

// Splits the text into pieces of at most 256 bytes. Their sizes are the bytes of `sizes`, which
// is repeated; without sizes there is one piece.
std::vector<std::string_view> cut(std::string_view text, std::string_view sizes);

// Whether the text has no control characters, so that it is one line of a log.
bool is_one_line(std::string_view text);

}  // namespace sluice::fuzz

#define FUZZ_TARGET(name)                                                             \
  static void name##_target(std::string_view input);                                  \
  static const ::sluice::fuzz::Registration name##_registration({#name, name##_target}); \
  static void name##_target(std::string_view input)

#define FUZZ_REQUIRE(condition, what) \
  ((condition) ? static_cast<void>(0) : ::sluice::fuzz::broken(what, __FILE__, __LINE__))
