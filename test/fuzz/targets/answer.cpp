// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Responses to LIST and WATCH, as the reflectors read them. The result must not depend on how
// the network splits a response. Bytes 0 and 1 choose kind and HTTP status, byte 2 the number
// of piece sizes that follow; the rest is the body.
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "core/kube/watch/answer_reader.hpp"
#include "test/fuzz/decoded.hpp"
#include "test/fuzz/target.hpp"

namespace sluice::fuzz {
namespace {

struct Answer {
  model::ResourceKind kind;
  kube::ResponseHead head;
  std::string_view sizes;
  std::string_view body;
};

Answer answer_of(std::string_view input, const char* content_type = "application/json") {
  constexpr std::array<int, 6> kStatus{200, 200, 200, 410, 429, 500};
  Input in(input);
  Answer answer;
  answer.kind = model::kResourceKinds[in.below(model::kResourceKinds.size())];
  answer.head.status = kStatus[in.below(kStatus.size())];
  answer.head.content_type = content_type;
  answer.sizes = in.take(in.below(16));
  answer.body = in.rest();
  return answer;
}

// Delivers the body to a reader and returns the result as text.
std::string deliver(kube::AnswerReader& reader, const Answer& answer, std::string_view sizes) {
  lib::Status status = reader.on_head(answer.head);
  for (const std::string_view piece : cut(answer.body, sizes)) {
    if (!status.ok()) break;
    status = reader.on_body(piece);
  }
  const kube::ApiStatus refusal = reader.refusal();
  return "ended: " + status.message() + "; failure: " + reader.failure().message() + "; refusal: " +
         std::to_string(refusal.code) + " " + refusal.reason + " " + refusal.message;
}

std::string read_list(const Answer& answer, std::string_view sizes) {
  kube::Decoder decoder;
  std::string result;
  kube::ListReader reader(
      decoder, answer.kind, [&] { result += "begun\n"; },
      [&](kube::Decoded decoded) {
        require_sound(decoded);
        result += describe_decoded(decoded) + "\n";
        return lib::Status();
      });
  const std::string ended = deliver(reader, answer, sizes);
  const auto envelope = reader.finish();
  result += ended + "; list: " +
            (envelope ? envelope->resource_version + " " + envelope->continue_token : envelope.status().message());
  return result;
}

std::string read_watch(const Answer& answer, std::string_view sizes) {
  kube::Decoder decoder;
  std::string result;
  kube::WatchReader reader(
      decoder, answer.kind, [&] { result += "begun\n"; },
      [&](kube::WatchEvent event) {
        require_sound(event.object);
        result += event.type_text + " " + describe_decoded(event.object) + "\n";
        return lib::Status();
      },
      [] { return std::nullopt; });
  const std::string ended = deliver(reader, answer, sizes);
  return result + ended;
}

FUZZ_TARGET(list) {
  const Answer answer = answer_of(input);
  FUZZ_REQUIRE(read_list(answer, answer.sizes) == read_list(answer, {}), "a list in pieces reads like one in one piece");
}

FUZZ_TARGET(watch) {
  const Answer answer = answer_of(input);
  FUZZ_REQUIRE(read_watch(answer, answer.sizes) == read_watch(answer, {}),
               "a watch in pieces reads like one in one piece");
}

FUZZ_TARGET(protobuf_list) {
  const Answer answer = answer_of(input, "application/vnd.kubernetes.protobuf");
  FUZZ_REQUIRE(read_list(answer, answer.sizes) == read_list(answer, {}), "a list in pieces reads like one in one piece");
}

FUZZ_TARGET(protobuf_watch) {
  const Answer answer = answer_of(input, "application/vnd.kubernetes.protobuf;stream=watch");
  FUZZ_REQUIRE(read_watch(answer, answer.sizes) == read_watch(answer, {}),
               "a watch in pieces reads like one in one piece");
}

}  // namespace
}  // namespace sluice::fuzz
