// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/watch/answer_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/kube/decode/text.hpp"
#include "core/kube/http/content_type.hpp"
#include "core/kube/watch/item_splitter.hpp"
#include "core/kube/watch/protobuf_splitter.hpp"

namespace sluice::kube {
namespace {

constexpr std::size_t kMaxErrorBody = 64u << 10;

// A response without a type is JSON.
std::optional<Encoding> encoding_of(std::string_view content_type) {
  const std::string_view type = content_type.substr(0, content_type.find_first_of("; "));
  if (type.empty() || type == kJsonType) return Encoding::json;
  if (type == kProtobufType) return Encoding::protobuf;
  return std::nullopt;
}

std::string too_large() { return "is larger than " + std::to_string(kMaxObjectBytes >> 20) + " MiB"; }

template <class Splitter, class Json, class Protobuf>
std::unique_ptr<Splitter> make_splitter(Encoding encoding, ObjectVisitor visit, ObjectVisitor oversized) {
  if (encoding == Encoding::json) {
    return std::make_unique<Json>(std::move(visit), kMaxObjectBytes, std::move(oversized));
  }
  return std::make_unique<Protobuf>(std::move(visit), kMaxObjectBytes, std::move(oversized));
}

}  // namespace

lib::Status cancelled_status() {
  return {lib::StatusCode::unavailable, "cancelled: the resource is no longer needed", ECANCELED};
}

lib::Status AnswerReader::on_head(const ResponseHead& head) {
  if (cancelled()) return cancelled_status();
  head_ = head;
  const auto encoding = encoding_of(head.content_type);
  encoding_ = encoding.value_or(Encoding::json);
  if (head.status != 200) return {};
  if (!encoding) {
    failure_ = {lib::StatusCode::unsupported,
                "the server answers in " + in_quotes(head.content_type) + ", which is neither protobuf nor JSON"};
  } else {
    begin();
  }
  return failure_;
}

lib::Status AnswerReader::on_body(std::string_view bytes) {
  if (cancelled()) return cancelled_status();
  if (head_.status == 200) {
    failure_ = read(bytes);
    return failure_;
  }
  error_body_ += bytes.substr(0, std::min(bytes.size(), kMaxErrorBody - error_body_.size()));
  return {};
}

ApiStatus AnswerReader::refusal() {
  ApiStatus out = decoder_.status(error_body_, encoding_).value_or(ApiStatus());
  out.code = head_.status;
  if (head_.retry_after) out.retry_after = head_.retry_after;
  return out;
}

ListReader::ListReader(Decoder& decoder, model::ResourceKind kind, std::function<void()> begun,
                       std::function<lib::Status(Decoded)> visit)
    : AnswerReader(decoder),
      kind_(kind),
      begun_(std::move(begun)),
      visit_(std::move(visit)) {}

void ListReader::begin() {
  splitter_ = make_splitter<ListBodySplitter, ListSplitter, ProtobufListSplitter>(
      encoding(), [this](std::string_view item) { return take(decoder().object(kind_, item, encoding())); },
      [this](std::string_view start) {
        return take(decoder().unreadable_object(kind_, start, too_large(), encoding()));
      });
  begun_();
}

lib::Status ListReader::take(Decoded decoded) {
  if (const auto* wrong = std::get_if<WrongKind>(&decoded.result)) {
    return {lib::StatusCode::unsupported, "the list holds a " + in_quotes(wrong->kind)};
  }
  // Skipping an object without a readable name would remove it from the store.
  const auto* failed = std::get_if<Failed>(&decoded.result);
  if (!tolerant_ && failed != nullptr && failed->path.empty() && decoded.name.name.empty()) {
    return lib::invalid("items[" + std::to_string(splitter_->items()) + "] " + failed->problem);
  }
  return visit_(std::move(decoded));
}

lib::Result<ListEnvelope> ListReader::finish() {
  if (!splitter_) return list_incomplete(0);
  const auto text = splitter_->finish();
  if (!text) return text.status();
  auto envelope = decoder().list_envelope(*text);
  if (!envelope) return envelope;
  const std::string expected = std::string(decoder().kind_name(kind_)) + "List";
  if (envelope->kind != expected) {
    return lib::Status(lib::StatusCode::unsupported,
                       "the answer is a " + in_quotes(envelope->kind) + " and not a " + expected);
  }
  if (envelope->resource_version.empty()) return lib::invalid("the list has no metadata.resourceVersion");
  return envelope;
}

WatchReader::WatchReader(Decoder& decoder, model::ResourceKind kind, std::function<void()> begun,
                         std::function<lib::Status(WatchEvent)> visit, Patience patience)
    : AnswerReader(decoder),
      kind_(kind),
      begun_(std::move(begun)),
      visit_(std::move(visit)),
      patience_(std::move(patience)) {}

void WatchReader::begin() {
  splitter_ = make_splitter<BodySplitter, DocumentSplitter, FrameSplitter>(
      encoding(), [this](std::string_view event) { return take(decoder().watch_event(kind_, event, encoding())); },
      [this](std::string_view start) {
        return take(decoder().unreadable_event(kind_, start, too_large(), encoding()));
      });
  begun_();
}

}  // namespace sluice::kube
