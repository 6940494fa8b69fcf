// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Declares the options of a backend (since minor 1). The daemon validates the configuration with these declarations,
// documents them, and passes typed values to create().
#pragma once

#include "sluice/abi/types.hpp"

namespace sluice::abi {

// The effect of a changed value at a reload. An unknown value is treated as kReplace.
enum class OptionReload : std::uint32_t {
  kReplace = 0,  // a new object of the backend replaces the active one, without a lost connection
  kRestart = 1,  // takes effect at the next start of the daemon: the daemon rejects a reload that changes the value
};

// Growing. Since minor 1. An element of PluginEntry::options. Keys are unique within a plugin.
struct OptionSpec {
  // "threads", "timeouts.dial". A key that ends with "[]" is a list: its elements are "key[0]", "key[1]", …, and type,
  // range and words apply to each of them.
  StringView key;
  OptionType value_type;  // not kUndeclared
  OptionReload reload;
  // The value that applies if the key is missing, as it would be written: "250ms". Of a list: its elements, separated by
  // ", "; empty: an empty list. It must be valid.
  StringView default_value;
  // The smallest and largest value of kInteger, and of kDuration in nanoseconds. Ignored for other types.
  std::int64_t minimum;
  std::int64_t maximum;
  std::uint32_t max_elements;  // of a list; 0: 1000
  std::uint32_t reserved;
  StringView words;    // of kWord: "roundRobin|leastConnections"
  StringView unit;     // of kInteger: what is counted, plural: "clients", "bytes"; may be empty
  StringView format;   // of kText: describes the allowed values: "an IP address, or empty"; may be empty
  StringView help;     // sentences: the meaning of the option
};
static_assert(sizeof(OptionSpec) == 128 && offsetof(OptionSpec, value_type) == 16 &&
              offsetof(OptionSpec, default_value) == 24 && offsetof(OptionSpec, minimum) == 40 &&
              offsetof(OptionSpec, max_elements) == 56 && offsetof(OptionSpec, words) == 64 &&
              offsetof(OptionSpec, help) == 112);

}  // namespace sluice::abi
