// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A manifest file: byte 0 chooses whether its name ends with .json, the rest is the file.
#include <set>

#include "core/kube/manifests/manifest_documents.hpp"
#include "test/fuzz/decoded.hpp"
#include "test/fuzz/target.hpp"

namespace sluice::fuzz {
namespace {

FUZZ_TARGET(manifest) {
  Input in(input);
  const std::string path = in.flag() ? "web.json" : "web.yaml";
  const std::string text(in.rest());
  const kube::ManifestContent content = kube::read_manifest(path, text, "node-1");

  std::set<kube::ManifestKey> keys;
  for (const auto& object : content.objects) {
    require_sound(object.object);
    FUZZ_REQUIRE(keys.insert(object.key).second, "an object comes out once");
  }
  for (const auto& key : content.unusable) FUZZ_REQUIRE(!key.name.name.empty(), "an unusable object has a name");
  for (const auto* const sentences : {&content.errors, &content.notes, &content.skipped}) {
    for (const std::string& sentence : *sentences) {
      FUZZ_REQUIRE(sentence.starts_with(path), "a sentence begins with the file");
    }
  }
}

}  // namespace
}  // namespace sluice::fuzz
