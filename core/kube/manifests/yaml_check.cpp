// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/manifests/yaml_check.hpp"

#include <yaml-cpp/yaml.h>

#include <sstream>

#include "core/kube/manifests/yaml_events.hpp"

namespace sluice::kube {
namespace {

class CheckedEvents final : public YamlEvents {
 public:
  void begin_document(const YAML::Mark&) override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

}  // namespace

std::optional<YamlProblem> check_yaml(const std::string& text) {
  std::istringstream stream(text);
  CheckedEvents events;
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(events)) {
    }
  } catch (const YamlRefused& refused) {
    return YamlProblem{refused.mark.line + 1, refused.problem};
  } catch (const YAML::Exception& error) {
    // Errors without a position have line -1.
    return YamlProblem{error.mark.is_null() ? 0 : error.mark.line + 1, error.msg};
  }
  return std::nullopt;
}

}  // namespace sluice::kube
