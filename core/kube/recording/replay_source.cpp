// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/recording/replay_source.hpp"

#include <algorithm>
#include <utility>

#include "core/base/log_messages.hpp"

namespace sluice::kube {
namespace {

ObjectProblems problems_of(model::ResourceKind kind) {
  return ObjectProblems(std::string(model::resource_kind_name(kind)));
}

std::string seconds_text(lib::Clock::Duration duration) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
  const std::string fraction = std::to_string(1000 + ms % 1000).substr(1);
  return std::to_string(ms / 1000) + "." + fraction + " s";
}

// A recording has no details, so that backends must not wait for them.
const model::WantedDetailsPtr& no_details() {
  static const auto out = std::make_shared<const model::WantedDetails>(model::WantedDetails{.unavailable = true});
  return out;
}

}  // namespace

ReplaySource::ReplaySource(std::string path, ReplayOptions options, model::EventSink& sink, const lib::Clock& clock,
                           WallClock wall_clock)
    : path_(std::move(path)),
      options_(options),
      sink_(sink),
      clock_(clock),
      wall_clock_(std::move(wall_clock)),
      problems_{problems_of(model::kResourceKinds[0]), problems_of(model::kResourceKinds[1]),
                problems_of(model::kResourceKinds[2]), problems_of(model::kResourceKinds[3])} {}

ReplaySource::~ReplaySource() { stop(); }

lib::Status ReplaySource::open() {
  auto reader = RecordingReader::open(path_);
  if (!reader) return reader.status();
  reader_.emplace(std::move(*reader));
  const auto summary = scan_recording(*reader_);
  if (!summary) return summary.status();
  summary_ = *summary;
  if (!summary_.warning.empty())
    base::log(base::message::kRecordingTruncated, summary_.warning, {{"file", path_}, {"error", summary_.warning}});
  base::log(base::message::kReplayStarted,
            "replaying " + std::to_string(summary_.events) + " events of " + seconds_text(summary_.duration) +
                " from " + path_ + ", recorded on node " + header().node + " by " + header().program,
            {{"file", path_}, {"count", summary_.events}});
  started_ = clock_.now();
  return read_next();
}

lib::Status ReplaySource::start() {
  if (auto status = open(); !status.ok()) return status;
  thread_ = std::thread([this] { run(); });
  return {};
}

void ReplaySource::stop() {
  {
    const lib::Lock lock(mutex_);
    stopped_ = true;
  }
  stop_changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void ReplaySource::run() {
  while (!stopped_) {
    const auto delay = step();
    if (!delay) return;
    const auto until = std::chrono::steady_clock::now() + *delay;
    const lib::Lock lock(mutex_);
    while (!stopped_ && stop_changed_.wait_until(mutex_, until)) {
    }
  }
}

std::optional<lib::Clock::Duration> ReplaySource::step() {
  while (pending_ && !stopped_) {
    if (const auto wait = due(pending_->line) - clock_.now(); wait.count() > 0) return wait;
    deliver();
    if (const auto status = read_next(); !status.ok()) end(status.message());
  }
  return std::nullopt;
}

lib::Clock::Time ReplaySource::due(const RecordingLine& line) const {
  if (options_.speed <= 0) return started_;
  const auto since_start = static_cast<double>(line.since_start.count()) / options_.speed;
  // Bounded to a century, because ten years slowed down a thousandfold would overflow.
  constexpr double kNever = 100 * 365.0 * 86400e9;
  return started_ + lib::Clock::Duration(static_cast<lib::Clock::Duration::rep>(std::min(since_start, kNever)));
}

void ReplaySource::deliver() {
  Pending pending = std::move(*pending_);
  pending_.reset();
  if (pending.event) {
    if (auto* upsert = std::get_if<model::Upsert>(&*pending.event)) {
      // The programming latency is measured from the trigger time, so shift that by the age of the recording.
      auto* slice = std::get_if<model::EndpointSlice>(&upsert->object);
      if (slice != nullptr && slice->trigger_time) {
        const auto then = header().started + pending.line.since_start;
        *slice->trigger_time += wall_clock_() - then;
      }
    }
    sink_.deliver(std::move(*pending.event));
  }
  if (++delivered_ == summary_.events) {
    base::log(base::message::kReplayDone,
              "all " + std::to_string(summary_.events) + " events of " + path_ + " replayed in " +
                  seconds_text(clock_.now() - started_) + "; keeping the replayed state",
              {{"file", path_}, {"count", summary_.events}});
  }
}

lib::Status ReplaySource::read_next() {
  const auto text = reader_->next();
  if (!text) return text.status();
  if (!*text) return delivered_ == summary_.events ? lib::Status() : reader_->wrong("the file has become shorter");
  // open() has checked this line, but the file may have changed since.
  const auto line = parser_.parse_line(**text, last_time_);
  if (!line) return reader_->wrong(line.status().message());
  last_time_ = line->since_start;
  pending_ = Pending{*line, event_of(*line, **text)};
  return {};
}

std::optional<model::Event> ReplaySource::event_of(const RecordingLine& line, std::string_view text) {
  switch (line.type) {
    case LineType::list_begin: return model::ListBegin{line.kind};
    case LineType::list_end: return model::ListEnd{line.kind, no_details()};
    case LineType::deleted:
      problems_[static_cast<std::size_t>(line.kind)].forget(line.name);
      return model::Remove{line.kind, line.name};
    case LineType::unusable: return model::Unusable{line.kind, line.name};
    case LineType::changed: return changed(line.kind, text);
  }
  return std::nullopt;
}

std::optional<model::Event> ReplaySource::changed(model::ResourceKind kind, std::string_view text) {
  auto event = decoder_.watch_event(kind, text);
  ObjectProblems& problems = problems_[static_cast<std::size_t>(kind)];
  if (!event) {
    ++unusable_;
    problems.report({}, reader_->wrong(event.status().message()).message(), {});
    return std::nullopt;
  }
  Decoded& decoded = event->object;
  if (auto* object = std::get_if<Object>(&decoded.result)) {
    problems.report(decoded.name, {}, decoded.notes);
    return model::Upsert{std::move(*object)};
  }
  if (std::holds_alternative<Ignored>(decoded.result)) return model::Remove{kind, std::move(decoded.name)};
  ++unusable_;
  const auto* failed = std::get_if<Failed>(&decoded.result);
  problems.report(decoded.name, failed == nullptr ? "is of another kind" : failed->to_string(), decoded.notes);
  if (decoded.name.name.empty()) return std::nullopt;
  return model::Unusable{kind, std::move(decoded.name)};
}

void ReplaySource::end(const std::string& error) {
  base::log(base::message::kReplayFailed, error + "; the replay has ended; keeping the state replayed so far",
            {{"file", path_}, {"error", error}});
  const lib::Lock lock(mutex_);
  error_ = error;
}

ReplayStatus ReplaySource::status() const {
  ReplayStatus out;
  out.delivered = delivered_;
  out.total = summary_.events;
  out.unusable = unusable_;
  const lib::Lock lock(mutex_);
  out.error = error_;
  return out;
}

}  // namespace sluice::kube
