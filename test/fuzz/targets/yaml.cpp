// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// YAML: accepted text must be converted to JSON that the decoder accepts.
#include "core/kube/decode/decode.hpp"
#include "core/kube/manifests/yaml_line.hpp"
#include "core/kube/manifests/yaml_to_json.hpp"
#include "test/fuzz/target.hpp"

namespace sluice::fuzz {
namespace {

bool is_json(kube::Decoder& decoder, const std::string& json) {
  // Only objects have a head; other valid JSON fails with a different code than invalid JSON.
  const auto head = decoder.head(json);
  return head || head.status().code() != lib::StatusCode::unsupported;
}

FUZZ_TARGET(yaml) {
  const std::string text(input);
  const kube::YamlStream stream = kube::yaml_to_json(text);
  kube::Decoder decoder;
  int last = 0;
  for (const auto& document : stream.documents) {
    FUZZ_REQUIRE(is_json(decoder, document.json), "a document of YAML becomes a document of JSON");
    FUZZ_REQUIRE(document.number > last && document.line > 0, "documents are numbered and have a line");
    last = document.number;
    FUZZ_REQUIRE(kube::yaml_line_of(text, document.number, "spec.ports[0].port") >= 0, "a line is a number");
  }
  FUZZ_REQUIRE(stream.errors.size() <= 1, "reading ends at the first error");
  for (const auto& error : stream.errors) FUZZ_REQUIRE(!error.problem.empty(), "a refusal says why");
}

}  // namespace
}  // namespace sluice::fuzz
