// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/decode/protobuf_to_json.hpp"

#include <simdjson.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/kube/decode/json_text.hpp"
#include "core/kube/decode/text.hpp"
#include "core/kube/http/content_type.hpp"

namespace sluice::kube {
namespace {

using Type = ProtobufField::Type;

// Larger buffers are freed.
constexpr std::size_t kUsualText = 1u << 20;
// The range of the system's clock, in seconds.
constexpr std::int64_t kMaxSeconds = std::chrono::duration_cast<std::chrono::seconds>(
                                         std::chrono::system_clock::duration::max()).count();

// runtime.TypeMeta
constexpr std::uint32_t kTypeMetaKind = 2;
// runtime.Unknown
constexpr std::uint32_t kUnknownTypeMeta = 1;
constexpr std::uint32_t kUnknownRaw = 2;
constexpr std::uint32_t kUnknownContentEncoding = 3;
constexpr std::uint32_t kUnknownContentType = 4;
// runtime.RawExtension
constexpr std::uint32_t kRawExtensionRaw = 1;
// meta/v1 WatchEvent
constexpr std::uint32_t kEventType = 1;
constexpr std::uint32_t kEventObject = 2;
// an entry of a map
constexpr std::uint32_t kEntryKey = 1;
constexpr std::uint32_t kEntryValue = 2;
// meta/v1 Time
constexpr std::uint32_t kTimeSeconds = 1;

bool is_number(Type type) { return type == Type::boolean || type == Type::integer; }

// Whether JSON has the text as it is. No early end, so that the compiler makes vector instructions of it.
bool is_plain(std::string_view text) {
  bool special = false;
  for (const char c : text) special |= static_cast<signed char>(c) < 0x20 || c == '"' || c == '\\';  // bytes beyond ASCII are negative
  return !special;
}

void append_digits(std::string& out, unsigned value, int digits) {
  char text[4];
  for (int i = digits; i > 0; value /= 10) text[--i] = static_cast<char>('0' + value % 10);
  out.append(text, static_cast<std::size_t>(digits));
}

// As lib::rfc3339() writes it. Each Service has a time, and that function takes longer than the rest of its metadata.
void append_time(std::string& out, std::int64_t seconds) {
  using namespace std::chrono;
  const sys_seconds at{std::chrono::seconds(seconds)};
  const auto day = floor<days>(at);
  const year_month_day date(day);
  const hh_mm_ss time(at - day);
  out += '"';
  append_digits(out, static_cast<unsigned>(static_cast<int>(date.year())), 4);
  out += '-';
  append_digits(out, static_cast<unsigned>(date.month()), 2);
  out += '-';
  append_digits(out, static_cast<unsigned>(date.day()), 2);
  out += 'T';
  append_digits(out, static_cast<unsigned>(time.hours().count()), 2);
  out += ':';
  append_digits(out, static_cast<unsigned>(time.minutes().count()), 2);
  out += ':';
  append_digits(out, static_cast<unsigned>(time.seconds().count()), 2);
  out += "Z\"";
}

std::string path_step(std::string_view key) { return std::string(key); }
std::string path_step(std::size_t index) { return "[" + std::to_string(index) + "]"; }

// The last field of bytes with this number; empty if there is none.
std::string_view bytes_of(std::string_view message, std::uint32_t number) {
  std::string_view out;
  ProtobufReader reader(message);
  for (WireField field; reader.next(field);) {
    if (field.number == number && field.type == WireType::bytes) out = field.bytes;
  }
  return out;
}

}  // namespace

void ProtobufToJson::begin() {
  if (out_.capacity() > kUsualText) out_ = std::string();
  out_.clear();
  found_.clear();
  path_.clear();
  problem_.clear();
}

ConvertedObject ProtobufToJson::end() {
  if (out_.capacity() - out_.size() < simdjson::SIMDJSON_PADDING) {
    out_.reserve(2 * out_.size() + simdjson::SIMDJSON_PADDING);
  }
  ConvertedObject out{out_, {}};
  if (!problem_.empty()) out.problem = "is not valid protobuf: " + path_ + (path_.empty() ? "" : " ") + problem_;
  return out;
}

ConvertedObject ProtobufToJson::object(const ProtobufMessage& message, std::string_view bytes) {
  begin();
  write_message(message, bytes);
  return end();
}

ConvertedObject ProtobufToJson::watch_event(std::string_view kind_name, const ProtobufMessage& message,
                                            std::string_view bytes) {
  begin();
  std::string_view type;
  std::optional<std::string_view> object;
  ProtobufReader reader(bytes);
  for (WireField field; reader.next(field);) {
    if (field.type != WireType::bytes) continue;
    if (field.number == kEventType) type = field.bytes;
    if (field.number == kEventObject) object = field.bytes;
  }
  out_ += '{';
  write_key("type");
  write_text(type);
  if (object) {
    write_key("object");
    write_unknown(kind_name, &message, bytes_of(*object, kRawExtensionRaw));
  }
  out_ += '}';
  check(reader);
  return end();
}

ConvertedObject ProtobufToJson::status(std::string_view body) {
  begin();
  write_unknown("Status", &protobuf_status(), body);
  return end();
}

ConvertedObject ProtobufToJson::list(std::string_view type_meta, std::string_view metadata) {
  begin();
  out_ += '{';
  write_key("kind");
  write_text(bytes_of(type_meta, kTypeMetaKind));
  write_key("metadata");
  within(std::string_view("metadata"), [&] { write_message(protobuf_list_meta(), metadata); });
  out_ += '}';
  return end();
}

// Keeps the first problem.
void ProtobufToJson::fail(std::string problem) {
  if (problem_.empty()) problem_ = std::move(problem);
}

void ProtobufToJson::check(const ProtobufReader& reader) {
  if (!reader.problem().empty()) fail(std::string(reader.problem()));
}

// Adds a key or an index to the path of a problem that `write` finds.
template <class Step, class Write>
void ProtobufToJson::within(Step step, Write&& write) {
  const bool failed_before = !problem_.empty();
  write();
  if (failed_before || problem_.empty()) return;
  const bool joins = !path_.empty() && path_.front() != '[';
  path_.insert(0, path_step(step) + (joins ? "." : ""));
}

void ProtobufToJson::write_key(std::string_view key) {
  out_ += out_.back() != '{' ? ",\"" : "\"";
  out_ += key;
  out_ += "\":";
}

void ProtobufToJson::write_text(std::string_view text) {
  if (is_plain(text)) {
    out_ += '"';
    out_ += text;
    out_ += '"';
    return;
  }
  if (!simdjson::validate_utf8(text.data(), text.size())) {
    fail("is not valid UTF-8");
    text = {};
  }
  append_json_string(out_, text);
}

// The object in a runtime.Unknown.
void ProtobufToJson::write_unknown(std::string_view kind_name, const ProtobufMessage* message,
                                   std::string_view bytes) {
  std::string_view kind;
  std::string_view raw;
  std::string_view encoding;
  std::string_view content_type;
  const bool has_magic = bytes.starts_with(kProtobufMagic);
  if (has_magic) bytes.remove_prefix(kProtobufMagic.size());
  ProtobufReader reader(has_magic ? bytes : std::string_view());
  for (WireField field; reader.next(field);) {
    if (field.type != WireType::bytes) continue;
    if (field.number == kUnknownTypeMeta) kind = bytes_of(field.bytes, kTypeMetaKind);
    if (field.number == kUnknownRaw) raw = field.bytes;
    if (field.number == kUnknownContentEncoding) encoding = field.bytes;
    if (field.number == kUnknownContentType) content_type = field.bytes;
  }
  if (!has_magic) fail("the object does not begin with the bytes k8s\\0");
  if (!encoding.empty()) fail("the object has the encoding " + in_quotes(encoding));
  if (!content_type.empty() && content_type != kProtobufType) fail("the object is " + in_quotes(content_type));
  if (!kind.empty() && kind != kind_name) message = kind == "Status" ? &protobuf_status() : nullptr;
  out_ += '{';
  if (!kind.empty()) {
    write_key("kind");
    write_text(kind);
  }
  if (message != nullptr) write_fields(*message, raw);
  out_ += '}';
  check(reader);
}

void ProtobufToJson::write_message(const ProtobufMessage& message, std::string_view bytes) {
  out_ += '{';
  write_fields(message, bytes);
  out_ += '}';
}

void ProtobufToJson::write_fields(const ProtobufMessage& message, std::string_view bytes) {
  const std::size_t begin = found_.size();
  find_fields(message, bytes);
  const std::size_t end = found_.size();
  for (std::size_t first = begin; first < end;) {
    const ProtobufField& field = *found_[first].field;
    std::size_t next = first + 1;
    while (next < end && found_[next].field == &field) ++next;
    within(field.key, [&] { write_field(first, next); });
    first = next;
  }
  found_.resize(begin);
}

// Appends the listed fields of a message to found_, in the order of the table. Kubernetes writes them in this order, but
// the elements of a list may be anywhere.
void ProtobufToJson::find_fields(const ProtobufMessage& message, std::string_view bytes) {
  const auto begin = static_cast<std::ptrdiff_t>(found_.size());
  ProtobufReader reader(bytes);
  for (WireField wire; reader.next(wire);) {
    const auto field = std::find_if(message.fields.begin(), message.fields.end(),
                                    [&](const ProtobufField& one) { return one.number == wire.number; });
    if (field == message.fields.end() || !wants(*field)) continue;
    if (wire.type != (is_number(field->type) ? WireType::varint : WireType::bytes)) {
      within(field->key, [&] { fail("has the wrong wire type"); });
      continue;
    }
    found_.push_back({&*field, wire});
  }
  check(reader);
  const auto in_order = [](const Found& a, const Found& b) { return a.field < b.field; };
  if (!std::is_sorted(found_.begin() + begin, found_.end(), in_order)) {
    std::stable_sort(found_.begin() + begin, found_.end(), in_order);
  }
}

// Writes a field, which may occur several times: found_[first] to found_[end - 1].
void ProtobufToJson::write_field(std::size_t first, std::size_t end) {
  const ProtobufField& field = *found_[first].field;
  if (field.type == Type::text_by_key) {
    write_key(field.key);
    out_ += '{';
    for (std::size_t i = first; i < end; ++i) write_entry(field, found_[i].wire.bytes);
    out_ += '}';
    return;
  }
  if (field.repeated) {
    write_key(field.key);
    out_ += '[';
    for (std::size_t i = first; i < end; ++i) {
      if (i != first) out_ += ',';
      const WireField wire = found_[i].wire;  // a copy: found_ grows
      within(i - first, [&] { write_value(field, wire); });
    }
    out_ += ']';
    return;
  }
  // Of a number or a text, the last one counts.
  if (field.type == Type::message && end - first > 1) fail("occurs twice");
  const WireField wire = found_[end - 1].wire;
  const bool is_zero = field.type == Type::text || field.type == Type::time ? wire.bytes.empty() : wire.varint == 0;
  if (is_zero && field.type != Type::message && field.zero == ProtobufField::Zero::omitted) return;
  write_key(field.key);
  write_value(field, wire);
}

void ProtobufToJson::write_value(const ProtobufField& field, const WireField& wire) {
  switch (field.type) {
    case Type::text:
      write_text(wire.bytes);
      break;
    case Type::boolean:
      out_ += wire.varint != 0 ? "true" : "false";
      break;
    case Type::integer:
      out_ += std::to_string(static_cast<std::int64_t>(wire.varint));
      break;
    case Type::message:
      write_message(*field.message, wire.bytes);
      break;
    case Type::time:
      write_time(wire.bytes);
      break;
    case Type::text_by_key:
      break;
  }
}

bool ProtobufToJson::wants(const ProtobufField& field) const {
  if (field.of == ProtobufField::Of::traffic) return true;
  return details_ && (field.of == ProtobufField::Of::service_details ? details_->services : details_->endpoints);
}

bool ProtobufToJson::wants_key(const ProtobufField& field, std::string_view key) const {
  if (std::find(field.keys.begin(), field.keys.end(), key) != field.keys.end()) return true;
  if (!field.wanted_annotations || !details_) return false;
  return std::any_of(details_->annotation_prefixes.begin(), details_->annotation_prefixes.end(),
                     [&](const base::Symbol& prefixes) { return model::has_packed_prefix(prefixes, key); });
}

// Writes an entry of a map if its key is wanted.
void ProtobufToJson::write_entry(const ProtobufField& field, std::string_view bytes) {
  std::string_view key;
  std::string_view value;
  ProtobufReader reader(bytes);
  for (WireField one; reader.next(one);) {
    if (one.type != WireType::bytes) continue;
    if (one.number == kEntryKey) key = one.bytes;
    if (one.number == kEntryValue) value = one.bytes;
  }
  check(reader);
  if (!wants_key(field, key)) return;
  out_ += out_.back() != '{' ? "," : "";
  write_text(key);
  out_ += ':';
  write_text(value);
}

void ProtobufToJson::write_time(std::string_view bytes) {
  std::int64_t seconds = 0;
  ProtobufReader reader(bytes);
  for (WireField field; reader.next(field);) {
    if (field.number == kTimeSeconds && field.type == WireType::varint) {
      seconds = static_cast<std::int64_t>(field.varint);
    }
  }
  check(reader);
  if (seconds < -kMaxSeconds || seconds > kMaxSeconds) {
    fail("is beyond the times of a clock");
    seconds = 0;
  }
  append_time(out_, seconds);
}

}  // namespace sluice::kube
