// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/app/cleanup/startup_cleanup.hpp"

#include "core/app/cleanup/leftovers.hpp"
#include "core/base/log.hpp"
#include "core/base/memory.hpp"

namespace sluice::app {
namespace {

constexpr int kTries = 2;

}  // namespace

StartupCleanup::StartupCleanup(std::string_view backend, Options options)
    : options_(std::move(options)), mode_(mode_of(backend)), selection_(kAllModes & ~mode_, mode_) {}

StartupCleanup::~StartupCleanup() { stop(); }

void StartupCleanup::expect(const std::vector<base::Family>& families) {
  const std::lock_guard lock(mutex_);
  if (mode_ != 0) awaited_.insert(families.begin(), families.end());
}

void StartupCleanup::stands(base::Family family, const std::vector<std::string>& claims) {
  const std::lock_guard lock(mutex_);
  if (stopping_ || awaited_.erase(family) == 0) return;
  for (const std::string& claim : claims) selection_.keep(family, claim);
  if (awaited_.empty()) worker_ = std::thread([this] { work(); });
}

void StartupCleanup::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (worker_.joinable()) worker_.join();
}

bool StartupCleanup::stopped() {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

void StartupCleanup::work() {
  const auto remove = options_.remove ? options_.remove : Remove(&remove_leftovers);
  for (int attempt = 1; attempt <= kTries; ++attempt) {
    const Removal removed = remove(selection_, [this] { return stopped(); });
    tell(removed);
    if (removed.failures.empty()) break;
    if (attempt == kTries) {
      for (const auto& sentence : removed.failures) base::log_warning("app", "left by another mode: " + sentence);
      break;
    }
    std::unique_lock lock(mutex_);
    if (wake_.wait_for(lock, options_.retry_after, [this] { return stopping_; })) break;
  }
  base::release_free_memory();  // all rules of the node were read
}

void StartupCleanup::tell(const Removal& removed) const {
  for (const auto& sentence : removed.notes) base::log_warning("app", sentence);
  if (removed.nothing()) {
    base::log_debug("app", "no other mode has left anything");
    return;
  }
  const Modes whose = removed.modes & ~mode_;
  base::log_info("app", "removed what mode " + mode_names(whose) + " had left: " + removed.to_string());
}

}  // namespace sluice::app
