// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/daemon/clean_up.hpp"

#include <set>
#include <utility>
#include <vector>

#include "core/base/log_messages.hpp"
#include "core/cleanup/leftovers.hpp"
#include "core/lifecycle/holder_link.hpp"
#include "core/lifecycle/load_backend.hpp"
#include "core/lifecycle/state_dir.hpp"
#include "core/plugin/backend_handle.hpp"
#include "core/plugin/lookup.hpp"
#include "lib/clock.hpp"

namespace sluice::daemon {
namespace {

class CleanUp {
 public:
  explicit CleanUp(const config::PluginSettings& plugins, const std::string& state_dir)
      : plugins_(plugins), state_(state_dir) {}

  bool run() {
    if (const auto status = state_.open(); !status.ok()) {
      fail(status.message());
      return false;
    }
    end_holder();
    const plugin::Folders folders(plugins_.folders.begin(), plugins_.folders.end());
    for (const std::string& id : plugin::available_plugins(folders)) {
      if (clean_up_backend(id)) clean_.insert(id);
    }
    select_recorded_artifacts();
    remove_leftovers();
    return !failed_;
  }

 private:
  void fail(const std::string& sentence) {
    base::log(base::message::kCleanupFailed, sentence, {{"error", sentence}});
    failed_ = true;
  }

  // No daemon continues with its sockets.
  void end_holder() {
    lifecycle::HolderLink({.path = state_.holder_socket(), .timeout = {}, .start = {}}).end();
  }

  bool clean_up_backend(const std::string& id) {
    const auto loaded = lifecycle::load_backend(plugins_, id);
    if (!loaded) {
      fail(loaded.status().message());
      return false;
    }
    const auto folder = state_.backend_folder(id);
    if (!folder) {
      fail(folder.status().message());
      return false;
    }
    bool clean = true;
    for (const lib::Family family : lib::kFamilies) {
      if (!(*loaded)->supports(family)) continue;
      if (const auto status = clean_up_family(*loaded, family, *folder); !status.ok()) {
        fail(status.message());
        clean = false;
      }
    }
    if (!clean) return false;
    base::log(base::message::kCleanupBackendDone, "backend " + id + ": removed all its kernel state",
              {{"backend", id}});
    for (const ownership::Claim& claim : state_.claims()) {
      if (claim.backend == id) forget(claim);
    }
    return true;
  }

  static lib::Status clean_up_family(const std::shared_ptr<const plugin::Plugin>& loaded, lib::Family family,
                                     const std::string& folder) {
    const lib::SteadyClock clock;
    plugin::BackendSettings settings;
    settings.family = family;
    settings.state_dir = folder;
    auto backend = plugin::BackendHandle::create(loaded, settings, nullptr, nullptr, clock);
    if (!backend) return backend.status();
    const plugin::Outcome outcome = (*backend)->cleanup();
    return outcome.status((*backend)->name(), "cleanup");
  }

  // Adds artifacts of backends that cannot clean up themselves.
  void select_recorded_artifacts() {
    for (ownership::Claim& claim : state_.claims()) {
      if (clean_.contains(claim.backend)) continue;
      std::erase_if(claim.artifacts,
                    [&](const std::string& artifact) { return selection_.add(claim.family, artifact); });
      for (const std::string& artifact : claim.artifacts) {
        fail("cannot remove " + artifact + " (" + std::string(lib::family_name(claim.family)) + ") without backend " +
             claim.backend + ": install its plugin and repeat --cleanup");
      }
      kept_.push_back(std::move(claim));
    }
  }

  void remove_leftovers() {
    const cleanup::Removal removed = cleanup::remove_leftovers(selection_);
    for (const auto& sentence : removed.notes) {
      base::log(base::message::kCleanupChainInUse, sentence, {{"error", sentence}});
    }
    for (const auto& sentence : removed.failures) fail(sentence);
    base::log(base::message::kCleanupDone, removed.nothing() ? "no other leftover state found"
                                                             : "removed other leftover state: " + removed.to_string());
    if (!removed.failures.empty()) return;  // the ownership ledger still lists it
    for (const ownership::Claim& kept : kept_) {
      forget(kept);
      if (!kept.artifacts.empty()) warn(state_.record(kept));
    }
  }

  void forget(const ownership::Claim& claim) { warn(state_.forget(claim.backend, claim.family, claim.state)); }

  static void warn(const lib::Status& status) {
    if (!status.ok()) base::log(base::message::kOwnershipLedgerNotUpdated, status.message(), {{"error", status.message()}});
  }

  const config::PluginSettings& plugins_;
  lifecycle::StateDir state_;
  cleanup::Selection selection_{cleanup::kAllModes, 0};
  std::set<std::string> clean_;
  std::vector<ownership::Claim> kept_;  // of unusable backends, reduced to artifacts that only they can remove
  bool failed_ = false;
};

}  // namespace

bool clean_up(const config::PluginSettings& plugins, const std::string& state_dir) {
  return CleanUp(plugins, state_dir).run();
}

}  // namespace sluice::daemon
