// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/lifecycle/backend_part.hpp"

#include <cstdio>

#include "core/base/log.hpp"
#include "core/reload/settings_diff.hpp"

namespace sluice::lifecycle {
namespace {

std::string seconds(double value) {
  char out[32];
  std::snprintf(out, sizeof out, "%.2f s", value);
  return out;
}

}  // namespace

bool BackendPart::concerned(const config::Settings& from, const config::Settings& to) const {
  return reload::concerns(reload::settings_diff(from, to), reload::SettingsPart::backend) || backends_.wants_swap(to);
}

base::Status BackendPart::prepare(const config::Settings& from, const config::Settings& to) {
  swapped_.reset();
  if (auto status = callbacks_.check(to); !status.ok()) return status;
  if (backends_.wants_swap(to)) {
    set_coming(std::make_shared<const config::Settings>(to));
    auto result = backends_.swap(to, [&](const plugin::Plugin& plugin) {
      if (plugin.has(abi::kFeatureServiceCidrs)) callbacks_.service_cidrs(true, from);
    });
    const bool wanted = backends_.serving()->plugin().has(abi::kFeatureServiceCidrs);
    if (!wanted) callbacks_.service_cidrs(false, from);
    if (!result.status.ok()) {
      set_coming(nullptr);
      for (const auto& remark : result.remarks) base::log_warning("swap", remark);
      return result.status.prefixed("swap from backend " + result.from + " to " + result.to + ", step " +
                                    std::string(step_name(result.failed_at.value_or(Step::load))));
    }
    swapped_ = std::move(result);
  }
  to_ = to;
  return {};
}

// The settings are in force already; a change of the masquerade mark, too, comes after the swap: while two backends
// serve they use the same one.
reload::Committed BackendPart::commit() {
  reload::Committed out;
  if (swapped_) {
    out.done.push_back("backend " + swapped_->to + " serves" +
                       (swapped_->from == swapped_->to ? ", made anew," : " instead of " + swapped_->from + ",") +
                       " after " + seconds(swapped_->seconds));
    out.done.insert(out.done.end(), swapped_->remarks.begin(), swapped_->remarks.end());
  } else {
    out.done.push_back("the backend and what it is told are as configured");
  }
  backends_.set_intervals(*to_);
  callbacks_.service_cidrs(backends_.serving()->plugin().has(abi::kFeatureServiceCidrs), *to_);
  set_coming(nullptr);
  callbacks_.refresh();
  to_.reset();
  swapped_.reset();
  return out;
}

void BackendPart::set_coming(std::shared_ptr<const config::Settings> settings) {
  const std::lock_guard lock(mutex_);
  coming_ = std::move(settings);
}

// Nobody prepares after this part; were it so, what has been swapped stays, and the log says so.
void BackendPart::abandon() {
  set_coming(nullptr);
  if (swapped_) base::log_error("app", "backend " + swapped_->to + " serves although the reload has failed");
  to_.reset();
  swapped_.reset();
}

}  // namespace sluice::lifecycle
