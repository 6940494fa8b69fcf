// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One Kubernetes object: bytes 0 to 2 choose the kind, whether it is a manifest and whether
// slices come as Endpoints; the rest is its text.
#include "core/kube/decode/decode.hpp"
#include "core/kube/recording/encode.hpp"
#include "test/fuzz/decoded.hpp"
#include "test/fuzz/target.hpp"

namespace sluice::fuzz {
namespace {

// An object that is encoded into a recording is decoded to the same object.
void require_round_trip(model::ResourceKind kind, const kube::Object& object) {
  kube::Decoder decoder;
  const kube::Decoded again = decoder.object(kind, kube::encode_object(object));
  const auto* const decoded = std::get_if<kube::Object>(&again.result);
  FUZZ_REQUIRE(decoded != nullptr && *decoded == object, "an object survives its encoding");
}

FUZZ_TARGET(json_object) {
  Input in(input);
  const auto kind = model::kResourceKinds[in.below(model::kResourceKinds.size())];
  kube::DecoderOptions options;
  options.apply_server_defaults = in.flag();
  options.endpoints = in.flag();
  kube::Decoder decoder(options);
  const std::string_view json = in.rest();

  const kube::Decoded once = decoder.object(kind, json);
  require_sound(once);
  if (const auto* object = std::get_if<kube::Object>(&once.result)) require_round_trip(kind, *object);
  require_sound(decoder.unreadable_object(kind, json, "is cut off"));
  const auto head = decoder.head(json);
  const auto envelope = decoder.list_envelope(json);
  const auto status = decoder.status(json);
  FUZZ_REQUIRE(head || !head.status().message().empty(), "a refusal of the head says why");
  FUZZ_REQUIRE(envelope || !envelope.status().message().empty(), "a refusal of the list says why");
  // The decoder reuses its buffers: earlier input must not affect the result.
  FUZZ_REQUIRE(describe_decoded(decoder.object(kind, json)) == describe_decoded(once), "the same text decodes to the same object");
}

}  // namespace
}  // namespace sluice::fuzz
