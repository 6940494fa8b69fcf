// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Splits JSON into objects, with a limit that is smaller than some objects. Byte 0 is the
// limit, byte 1 chooses whether larger objects are skipped, byte 2 is the number of piece
// sizes that follow; the rest is the text.
#include <string>

#include "core/kube/watch/item_splitter.hpp"
#include "test/fuzz/target.hpp"

namespace sluice::fuzz {
namespace {

struct Cutting {
  std::size_t limit;
  bool passes_over;
  std::string_view text;
};

// Passes all of the text to the splitter and returns its output as text.
template <class Splitter>
std::string split(const Cutting& cutting, std::string_view sizes, std::string& output, Splitter& splitter) {
  for (const std::string_view piece : cut(cutting.text, sizes)) {
    if (const lib::Status status = splitter.append(piece); !status.ok()) {
      FUZZ_REQUIRE(!status.message().empty(), "a refusal says why");
      return output + "failed: " + status.message();
    }
  }
  return output;
}

std::string split_text(const Cutting& cutting, std::string_view sizes, bool list) {
  std::string output;
  const kube::ObjectVisitor visit = [&](std::string_view object) {
    FUZZ_REQUIRE(object.size() >= 2 && object.front() == '{' && object.size() <= cutting.limit,
                 "an object begins with a brace and keeps to the limit");
    output.append("object ").append(object).append("\n");
    return lib::Status();
  };
  kube::ObjectVisitor oversized;
  if (cutting.passes_over) {
    oversized = [&](std::string_view beginning) {
      FUZZ_REQUIRE(cutting.text.find(beginning) != std::string_view::npos, "the beginning is of the text");
      // Beyond the limit, the length of `beginning` depends on the pieces while the limit is below kKeptOfOversized.
      output.append("oversized ").append(beginning.substr(0, cutting.limit)).append("\n");
      return lib::Status();
    };
  }
  if (!list) {
    kube::DocumentSplitter splitter(visit, cutting.limit, oversized);
    return split(cutting, sizes, output, splitter) + (splitter.at_boundary() ? " whole" : " cut");
  }
  kube::ListSplitter splitter(visit, cutting.limit, oversized);
  std::string out = split(cutting, sizes, output, splitter);
  const auto envelope = splitter.finish();
  return out + std::to_string(splitter.items()) + (envelope ? *envelope : envelope.status().message());
}

FUZZ_TARGET(splitter) {
  Input in(input);
  Cutting cutting;
  cutting.limit = 2 + in.below(64);
  cutting.passes_over = in.flag();
  const std::string_view sizes = in.take(in.below(16));
  cutting.text = in.rest();
  for (const bool list : {false, true}) {
    FUZZ_REQUIRE(split_text(cutting, sizes, list) == split_text(cutting, {}, list),
                 "pieces are cut like the whole text");
  }
}

}  // namespace
}  // namespace sluice::fuzz
