// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/watch/object_problems.hpp"

#include "core/base/log_messages.hpp"

namespace sluice::kube {
namespace {

// A cluster with more invalid objects than this probably has one reason for all of them.
constexpr std::size_t kMaxKnown = 1000;
constexpr std::size_t kLongestText = 600;  // bytes; further notes are only counted

}  // namespace

void ObjectProblems::report(const model::ObjectName& name, const std::string& problem,
                            const std::vector<std::string>& notes) {
  if (problem.empty() && notes.empty()) {
    known_.erase(name);
    return;
  }
  std::string text = problem;
  std::size_t shown = 0;
  for (; shown < notes.size() && text.size() < kLongestText; ++shown) text += (text.empty() ? "" : "; ") + notes[shown];
  if (shown < notes.size()) text += "; and " + std::to_string(notes.size() - shown) + " more";
  const auto known = known_.find(name);
  if (known != known_.end() ? known->second == text : known_.size() >= kMaxKnown) return;
  known_[name] = text;
  const std::string object = kind_ + " " + (name.name.empty() ? "without a readable name" : name.to_string());
  if (!problem.empty()) text += "; keeping the last valid state of the object";
  budget_.log(base::message::kObjectProblem, object + ": " + text, {{"object", object}, {"error", text}});
  if (known_.size() == kMaxKnown && known == known_.end()) {
    base::log(base::message::kObjectProblemsSuppressed, "further " + kind_ + " objects with problems are not named",
              {{"resource", kind_}});
  }
}

}  // namespace sluice::kube
