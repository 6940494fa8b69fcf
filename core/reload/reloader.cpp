// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/reload/reloader.hpp"

#include <algorithm>
#include <exception>
#include <iterator>

#include "core/base/log_messages.hpp"
#include "core/reload/settings_diff.hpp"
#include "lib/text.hpp"

namespace sluice::reload {
namespace {

constexpr const char* kUnchanged = "nothing has changed";

ReloadResult failed(std::vector<std::string> sentences) {
  ReloadResult out;
  out.outcome = ReloadOutcome::failed;
  out.sentences = std::move(sentences);
  return out;
}

// The sentence for changes that concern no part.
std::string applied_settings(const std::vector<SettingsChange>& changes) {
  std::vector<std::string> names;
  for (const auto& change : changes) {
    if (change.setting == "configz") continue;  // derived from the other settings
    if (std::find(names.begin(), names.end(), change.setting) == names.end()) names.push_back(change.setting);
  }
  const std::string which = names.empty() ? "the configuration" : lib::joined(names, ", ");
  return which + (names.size() > 1 ? " are" : " is") + " applied; no running component depends on it";
}

// An exception of a part must not end the thread.
template <class F>
lib::Status guarded(F&& f) {
  try {
    return f();
  } catch (const std::exception& e) {
    return {lib::StatusCode::internal, e.what()};
  }
}

void log_result(const ReloadResult& result) {
  for (const auto& warning : result.warnings)
    base::log(base::message::kReloadWarning, "reload: " + warning, {{"error", warning}});
  const std::string text = "(" + result.trigger + ")";
  switch (result.outcome) {
    case ReloadOutcome::unchanged:
      return base::log(base::message::kReloadUnchanged, "reload " + text + ": " + kUnchanged,
                       {{"trigger", result.trigger}});
    case ReloadOutcome::success:
      return base::log(base::message::kReloadDone, "reload " + text + ": " + lib::joined(result.sentences, "; "),
                       {{"trigger", result.trigger}});
    case ReloadOutcome::failed:
      return base::log(base::message::kReloadFailed,
                       "reload " + text +
                           (result.partly_applied ? " partially failed; the rest is applied: "
                                                  : " failed; keeping the running configuration: ") +
                           lib::joined(result.sentences, "; "),
                       {{"trigger", result.trigger}, {"error", lib::joined(result.sentences, "; ")}});
  }
}

}  // namespace

Reloader::Reloader(config::SettingsCell& settings, ReadSettings read, ReloadHooks hooks, const lib::Clock& clock)
    : settings_(settings), read_(std::move(read)), hooks_(std::move(hooks)), clock_(clock) {}

Reloader::~Reloader() { stop(); }

void Reloader::add(std::string name, ReloadPart& part) { parts_.push_back({std::move(name), &part}); }

void Reloader::start() {
  thread_ = std::thread([this] { run(); });
}

void Reloader::stop() {
  {
    const lib::Lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  std::vector<Reply> replies;
  {
    const lib::Lock lock(mutex_);
    replies.swap(replies_);
    triggers_.clear();
  }
  for (const auto& reply : replies) reply(failed({"sluiced is shutting down"}));
}

void Reloader::request(std::string trigger) { request(std::move(trigger), nullptr); }

void Reloader::request(std::string trigger, Reply reply) {
  {
    const lib::Lock lock(mutex_);
    if (!stopping_) {
      if (std::find(triggers_.begin(), triggers_.end(), trigger) == triggers_.end()) {
        triggers_.push_back(std::move(trigger));
      }
      if (reply) replies_.push_back(std::move(reply));
      reply = nullptr;
    }
  }
  changed_.notify_all();
  if (reply) reply(failed({"sluiced is shutting down"}));
}

ReloadStatus Reloader::status() const {
  const lib::Lock lock(mutex_);
  return status_;
}

void Reloader::run() {
  lib::UniqueLock lock(mutex_);
  for (;;) {
    while (!stopping_ && triggers_.empty()) changed_.wait(mutex_);
    if (stopping_) return;
    const std::string trigger = lib::joined(triggers_, ", ");
    triggers_.clear();
    const std::vector<Reply> replies = std::exchange(replies_, {});
    status_.in_progress_since = std::chrono::system_clock::now();
    status_.trigger = trigger;
    lock.unlock();

    if (hooks_.begun) hooks_.begun();
    const auto began = clock_.now();
    ReloadResult result = reload();
    result.trigger = trigger;
    result.seconds = std::chrono::duration<double>(clock_.now() - began).count();
    result.at = std::chrono::system_clock::now();
    log_result(result);

    lock.lock();
    ++status_.count;
    status_.last = result;
    if (result.ok()) status_.last_success = result.at;
    status_.in_progress_since.reset();
    status_.trigger.clear();
    status_.doing.clear();
    lock.unlock();
    if (hooks_.ended) hooks_.ended(result);
    for (const auto& reply : replies) reply(result);
    lock.lock();
  }
}

ReloadResult Reloader::reload() {
  doing("reading the configuration");
  const auto from = settings_.get();
  config::Problems problems;
  std::shared_ptr<const config::Settings> to;
  const auto read = guarded([&]() -> lib::Status {
    to = std::make_shared<const config::Settings>(read_(*from, problems));
    return {};
  });
  if (!read.ok()) problems.error("", read.message());

  std::vector<std::string> errors;
  std::vector<std::string> warnings;
  for (const auto& problem : problems.all()) {
    (problem.severity == config::Problem::Severity::error ? errors : warnings).push_back(problem.to_string());
  }
  ReloadResult out;
  const auto applied = guarded([&]() -> lib::Status {
    out = errors.empty() ? apply(from, to) : failed(std::move(errors));
    return {};
  });
  if (!applied.ok()) out = failed({applied.message()});
  out.warnings = std::move(warnings);
  return out;
}

ReloadResult Reloader::apply(const std::shared_ptr<const config::Settings>& from,
                             const std::shared_ptr<const config::Settings>& to) {
  const auto changes = settings_diff(*from, *to);
  if (auto refused = refusals(changes); !refused.empty()) return failed(std::move(refused));

  std::vector<Part> concerned;
  std::copy_if(parts_.begin(), parts_.end(), std::back_inserter(concerned),
               [&](const Part& part) { return part.part->concerned(*from, *to); });
  ReloadResult out;
  if (concerned.empty()) {
    if (changes.empty()) {
      out.sentences = {kUnchanged};
      return out;
    }
    settings_.set(to);
    out.outcome = ReloadOutcome::success;
    out.sentences = {applied_settings(changes)};
    return out;
  }

  for (std::size_t i = 0; i < concerned.size(); ++i) {
    doing(concerned[i].name + ": preparing");
    const auto status = guarded([&] { return concerned[i].part->prepare(*from, *to); });
    if (status.ok()) continue;
    // In reverse order, since a part may depend on the parts before it.
    while (i-- > 0) concerned[i].part->abandon();
    return failed({status.message()});
  }
  // Before commit(), since callbacks of the parts read the settings.
  settings_.set(to);
  std::vector<std::string> done;
  for (const Part& part : concerned) {
    doing(part.name + ": applying");
    const auto status = guarded([&]() -> lib::Status {
      Committed committed = part.part->commit();
      std::move(committed.done.begin(), committed.done.end(), std::back_inserter(done));
      std::move(committed.failed.begin(), committed.failed.end(), std::back_inserter(out.sentences));
      return {};
    });
    // The other parts commit anyway.
    if (!status.ok()) out.sentences.push_back(part.name + ": " + status.message());
  }
  out.partly_applied = !out.sentences.empty();
  out.outcome = out.partly_applied ? ReloadOutcome::failed : ReloadOutcome::success;
  std::move(done.begin(), done.end(), std::back_inserter(out.sentences));
  if (out.sentences.empty()) out.sentences = {applied_settings(changes)};
  return out;
}

void Reloader::doing(std::string what) {
  const lib::Lock lock(mutex_);
  status_.doing = std::move(what);
}

}  // namespace sluice::reload
