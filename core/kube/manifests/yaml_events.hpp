// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The common base of the two YAML event handlers; internal to this folder.
#pragma once

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/mark.h>

#include <string>

namespace sluice::kube {

// Thrown through the parser, caught by the code that called it.
struct YamlRefused {
  YAML::Mark mark;
  std::string problem;
};

// Works around an endless loop of yaml-cpp 0.7: at a stray "}" or "]" it reports one empty document after the other
// without consuming the character.
class YamlEvents : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) final {
    if (mark.pos == last_start_) throw YamlRefused{mark, "there is a stray bracket or brace"};
    last_start_ = mark.pos;
    begin_document(mark);
  }
  void OnDocumentEnd() final {}

 protected:
  virtual void begin_document(const YAML::Mark& mark) = 0;

 private:
  int last_start_ = -1;
};

}  // namespace sluice::kube
