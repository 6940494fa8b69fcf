// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/recording/recording_reader.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <utility>

#include "core/base/log_messages.hpp"
#include "core/kube/decode/decode.hpp"

namespace sluice::kube {
namespace {

constexpr std::size_t kPiece = 256u << 10;
constexpr std::size_t kMaxLineBytes = 16u << 20;
// The maximum number of errors that a check reports.
constexpr std::size_t kMaxProblems = 20;

bool blank(std::string_view line) { return line.find_first_not_of(" \t\r") == std::string_view::npos; }

// Tracks which kinds of object have been listed completely.
class Lists {
 public:
  lib::Status take(const RecordingLine& line) {
    State& state = states_[static_cast<std::size_t>(line.kind)];
    if (line.type == LineType::list_begin) state.begun = true;  // an incomplete list starts again
    if (line.type != LineType::list_end) return {};
    if (!std::exchange(state.begun, false)) return lib::invalid("ends a list that was not begun");
    state.listed = true;
    return {};
  }
  // The kinds without a complete list, for messages; empty if there are none.
  std::string missing() const {
    std::string out;
    for (const auto kind : model::kResourceKinds) {
      if (states_[static_cast<std::size_t>(kind)].listed || model::optional_kind(kind)) continue;
      out += (out.empty() ? "" : ", ") + std::string(model::resource_kind_name(kind));
    }
    return out;
  }

 private:
  struct State {
    bool begun = false;
    bool listed = false;
  };
  std::array<State, model::kResourceKinds.size()> states_;
};

// The errors of the object in the well-formed `line`.
std::vector<std::string> object_problems(Decoder& decoder, const RecordingLine& line, std::string_view text) {
  if (line.type != LineType::changed) return {};
  const auto event = decoder.watch_event(line.kind, text);
  if (!event) return {event.status().message()};
  std::vector<std::string> out = event->object.notes;
  if (const auto* failed = std::get_if<Failed>(&event->object.result)) out.push_back(failed->to_string());
  return out;
}

using LineVisitor = std::function<void(const RecordingLine& line, std::string_view text)>;

// Reads to the end; fails at the first malformed line.
lib::Result<RecordingSummary> walk(RecordingReader& reader, const LineVisitor& visit) {
  RecordingSummary out;
  RecordingLineParser parser;
  Lists lists;
  out.end = reader.position();
  while (true) {
    const auto text = reader.next();
    if (!text) return text.status();
    if (!*text) break;
    const auto line = parser.parse_line(**text, out.duration);
    if (!line && reader.unfinished()) {
      out.warning = reader.wrong("the last line is truncated and is ignored").message();
      break;
    }
    if (!line) return reader.wrong(line.status().message());
    if (auto status = lists.take(*line); !status.ok()) return reader.wrong(status.message());
    visit(*line, **text);
    ++out.events;
    out.duration = std::max(out.duration, line->since_start);
    out.end = reader.position();
  }
  if (const std::string missing = lists.missing(); !missing.empty()) {
    return reader.wrong("ends before every kind of object was listed (" + missing +
                        " is missing), so that nothing could be programmed");
  }
  return out;
}

}  // namespace

lib::Result<RecordingReader> RecordingReader::open(const std::string& path) {
  // O_NONBLOCK: opening a named pipe must not block; it is rejected below.
  lib::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return lib::errno_status("cannot read the recording " + path, errno);
  struct stat data {};
  if (::fstat(fd.get(), &data) != 0) return lib::errno_status("cannot read the recording " + path, errno);
  if (!S_ISREG(data.st_mode)) return lib::invalid("cannot read the recording " + path + ": it is not a regular file");
  RecordingReader out(path, std::move(fd));
  if (auto status = out.read_header(); !status.ok()) return status;
  return out;
}

lib::Status RecordingReader::read_header() {
  const auto line = next();
  if (!line) return line.status();
  if (!*line) return lib::invalid("the recording " + path_ + " is empty");
  auto header = RecordingLineParser().parse_header(**line);
  if (!header) return header.status().prefixed("the recording " + path_);
  header_ = std::move(*header);
  first_line_ = position_;
  return {};
}

lib::Status RecordingReader::wrong(const std::string& problem) const {
  return lib::invalid(path_ + ":" + std::to_string(line_number_) + ": " + problem);
}

lib::Result<std::optional<std::string_view>> RecordingReader::next() {
  std::size_t searched = 0;
  while (true) {
    const std::size_t found = buffer_.find('\n', begin_ + searched);
    const bool at_end = found == std::string::npos;
    if (at_end) {
      searched = buffer_.size() - begin_;
      if (searched > kMaxLineBytes) {
        ++line_number_;
        return wrong("is longer than " + std::to_string(kMaxLineBytes >> 20) + " MiB");
      }
      const off_t before = read_;
      if (auto status = fill(); !status.ok()) return status;
      if (read_ != before) continue;
      if (searched == 0) return std::optional<std::string_view>();
    }
    const std::string_view line(buffer_.data() + begin_, (at_end ? buffer_.size() : found) - begin_);
    const std::size_t taken = line.size() + (at_end ? 0 : 1);
    begin_ += taken;
    position_ += static_cast<off_t>(taken);
    ++line_number_;
    unfinished_ = at_end;
    searched = 0;
    if (!blank(line)) return std::optional<std::string_view>(line);
  }
}

// Appends the next chunk of the file to the buffer.
lib::Status RecordingReader::fill() {
  buffer_.erase(0, begin_);
  begin_ = 0;
  std::size_t wanted = kPiece;
  if (end_ != 0) wanted = std::min(wanted, static_cast<std::size_t>(end_ - read_));
  const std::size_t kept = buffer_.size();
  buffer_.resize(kept + wanted);
  ssize_t size = 0;
  do {
    size = ::pread(fd_.get(), buffer_.data() + kept, wanted, read_);
  } while (size < 0 && errno == EINTR);
  const int error = errno;
  buffer_.resize(kept + static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  if (size < 0) return lib::errno_status("cannot read the recording " + path_, error);
  read_ += size;
  return {};
}

lib::Status RecordingReader::rewind(off_t end) {
  end_ = end;
  read_ = position_ = 0;
  begin_ = line_number_ = 0;
  buffer_.clear();
  const auto header = next();
  return header.status();
}

lib::Result<RecordingSummary> scan_recording(RecordingReader& reader) {
  auto summary = walk(reader, [](const RecordingLine&, std::string_view) {});
  if (!summary) return summary;
  if (auto status = reader.rewind(summary->end); !status.ok()) return status;
  return summary;
}

std::vector<std::string> check_recording(const std::string& path) {
  auto reader = RecordingReader::open(path);
  if (!reader) return {reader.status().message()};
  std::vector<std::string> out;
  std::size_t problems = 0;
  Decoder decoder;
  const auto summary = walk(*reader, [&](const RecordingLine& line, std::string_view text) {
    for (const auto& problem : object_problems(decoder, line, text)) {
      if (++problems <= kMaxProblems) out.push_back(reader->wrong(problem).message());
    }
  });
  if (problems > kMaxProblems) out.push_back(path + ": and " + std::to_string(problems - kMaxProblems) + " more");
  if (!summary) {
    out.push_back(summary.status().message());
  } else if (!summary->warning.empty()) {
    base::log(base::message::kRecordingTruncated, summary->warning, {{"file", path}, {"error", summary->warning}});
  }
  return out;
}

}  // namespace sluice::kube
