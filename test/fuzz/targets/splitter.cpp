// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Cutting JSON into objects, with a limit so small that objects go beyond it. Byte 0 is
// the limit, byte 1 says whether larger objects are passed over, byte 2 how many sizes of
// pieces follow; the rest is the text.
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

// Feeds all of the text and returns what came out, as text.
template <class Splitter>
std::string split(const Cutting& cutting, std::string_view sizes, std::string& seen, Splitter& splitter) {
  for (const std::string_view piece : cut(cutting.text, sizes)) {
    if (const base::Status status = splitter.feed(piece); !status.ok()) {
      FUZZ_REQUIRE(!status.message().empty(), "a refusal says why");
      return seen + "failed: " + status.message();
    }
  }
  return seen;
}

std::string split_text(const Cutting& cutting, std::string_view sizes, bool list) {
  std::string seen;
  const kube::ObjectVisitor visit = [&](std::string_view object) {
    FUZZ_REQUIRE(object.size() >= 2 && object.front() == '{' && object.size() <= cutting.limit,
                 "an object begins with a brace and keeps to the limit");
    seen.append("object ").append(object).append("\n");
    return base::Status();
  };
  kube::ObjectVisitor oversized;
  if (cutting.passes_over) {
    oversized = [&](std::string_view beginning) {
      FUZZ_REQUIRE(cutting.text.find(beginning) != std::string_view::npos, "the beginning is of the text");
      // How much more is kept depends on the pieces as long as the limit is below kKeptOfOversized.
      seen.append("oversized ").append(beginning.substr(0, cutting.limit)).append("\n");
      return base::Status();
    };
  }
  if (!list) {
    kube::DocumentSplitter splitter(visit, cutting.limit, oversized);
    return split(cutting, sizes, seen, splitter) + (splitter.at_boundary() ? " whole" : " cut");
  }
  kube::ListSplitter splitter(visit, cutting.limit, oversized);
  std::string out = split(cutting, sizes, seen, splitter);
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
