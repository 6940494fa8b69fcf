// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/lifecycle/backend_part.hpp"

#include <cstdio>

#include "core/base/log_messages.hpp"
#include "core/lifecycle/backend_details.hpp"
#include "core/reload/settings_diff.hpp"

namespace sluice::lifecycle {
namespace {

std::string seconds(double value) {
  char out[32];
  std::snprintf(out, sizeof out, "%.2f s", value);
  return out;
}

// Provides what the new backend needs before it subscribes, with the settings that are still running.
class Provision final : public SwapHooks {
 public:
  Provision(BackendPart::Host& host, const plugin::Plugin& old, const config::Settings& running)
      : host_(host), old_(details_of(old)), running_(running) {}
  lib::Status provide_details(const plugin::Plugin& plugin, const BackendRun::KeepWaiting& keep_waiting) override {
    const model::DetailsRequest request = details_of(plugin);
    model::WantedDetails both;
    both.add(old_);
    both.add(request);
    host_.set_details(std::make_shared<const model::WantedDetails>(std::move(both)));
    return host_.await_details(request, keep_waiting);
  }
  void before_subscribe(const plugin::Plugin& plugin) override {
    if (plugin.has(abi::kFeatureServiceCidrs)) host_.set_service_cidrs(true, running_);
  }

 private:
  BackendPart::Host& host_;
  const model::DetailsRequest old_;  // which still receives transactions
  const config::Settings& running_;
};

}  // namespace

bool BackendPart::concerned(const config::Settings& from, const config::Settings& to) const {
  return reload::concerns(reload::settings_diff(from, to), reload::SettingsPart::backend) || backends_.wants_swap(to);
}

lib::Status BackendPart::prepare(const config::Settings& from, const config::Settings& to) {
  swapped_.reset();
  if (auto status = host_.check(to); !status.ok()) return status;
  if (backends_.wants_swap(to)) {
    set_swap_settings(std::make_shared<const config::Settings>(to));
    Provision provision(host_, backends_.active_run()->plugin(), from);
    auto result = backends_.swap(to, provision);
    restore_details();
    const bool wanted = backends_.active_run()->plugin().has(abi::kFeatureServiceCidrs);
    if (!wanted) host_.set_service_cidrs(false, from);
    if (!result.status.ok()) {
      set_swap_settings(nullptr);
      for (const auto& remark : result.remarks) base::log(base::message::kSwapRemark, remark, {{"error", remark}});
      return result.status.prefixed("swap from backend " + result.from + " to " + result.to + ", step " +
                                    std::string(step_name(result.failed_at.value_or(Step::load))));
    }
    swapped_ = std::move(result);
  }
  to_ = to;
  return {};
}

// The settings are active already. The masquerade mark changes only after the swap, because two backends that serve at
// the same time must use the same mark.
reload::Committed BackendPart::commit() {
  reload::Committed out;
  if (swapped_) {
    out.done.push_back("backend " + swapped_->to + " serves" +
                       (swapped_->from == swapped_->to ? ", restarted," : " instead of " + swapped_->from + ",") +
                       " after " + seconds(swapped_->seconds));
    out.done.insert(out.done.end(), swapped_->remarks.begin(), swapped_->remarks.end());
  } else {
    out.done.push_back("backend settings applied");
  }
  backends_.set_intervals(*to_);
  host_.set_service_cidrs(backends_.active_run()->plugin().has(abi::kFeatureServiceCidrs), *to_);
  set_swap_settings(nullptr);
  host_.refresh();
  to_.reset();
  swapped_.reset();
  return out;
}

void BackendPart::restore_details() {
  model::WantedDetails wanted;
  wanted.add(details_of(backends_.active_run()->plugin()));
  host_.set_details(std::make_shared<const model::WantedDetails>(std::move(wanted)));
}

void BackendPart::set_swap_settings(std::shared_ptr<const config::Settings> settings) {
  const lib::Lock lock(mutex_);
  swap_settings_ = std::move(settings);
}

// Not reached after a swap, because this part prepares last. A swap would not be rolled back.
void BackendPart::abandon() {
  set_swap_settings(nullptr);
  if (swapped_)
    base::log(base::message::kSwapNotRolledBack, "backend " + swapped_->to + " is active although the reload failed",
              {{"backend", swapped_->to}});
  to_.reset();
  swapped_.reset();
}

}  // namespace sluice::lifecycle
