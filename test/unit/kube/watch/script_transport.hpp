// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A transport with scripted responses, which keeps the requests.
#pragma once

#include <cerrno>
#include <deque>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/kube/http/transport.hpp"
#include "test/unit/sync/fake_clock.hpp"

namespace sluice::test {

struct ScriptedAnswer {
  int status = 200;  // 0 = no response, only `end`
  std::string body;
  lib::Status end = {};  // how the connection ends after the body
  std::chrono::milliseconds lasts{0};
  std::string content_type = "application/json";
  std::optional<std::chrono::seconds> retry_after = {};
  std::chrono::milliseconds silence{0};  // after the body, before `end`
};

class ScriptTransport final : public kube::Transport {
 public:
  explicit ScriptTransport(FakeClock& clock) : clock_(clock) {}

  void expect(ScriptedAnswer answer) { answers_.push_back(std::move(answer)); }
  void expect_list(const std::string& body) { expect({.status = 200, .body = body}); }

  lib::Status send(const kube::Request& request, kube::ResponseSink& sink) override {
    if (answers_.empty()) throw std::logic_error("the script has no answer for " + request.target());
    asked_.push_back(request.target());
    last_again_ = request.again;
    last_accept_ = request.accept;
    const ScriptedAnswer answer = answers_.front();
    answers_.pop_front();
    clock_.advance(answer.lasts);
    if (answer.status == 0) return answer.end;
    if (auto status = sink.on_head({answer.status, answer.content_type, answer.retry_after}); !status.ok())
      return status;
    // In two chunks, like a network.
    const std::size_t half = answer.body.size() / 2;
    for (const auto part :
         {std::string_view(answer.body).substr(0, half), std::string_view(answer.body).substr(half)}) {
      if (part.empty()) continue;
      if (auto status = sink.on_body(part); !status.ok()) return status;
    }
    if (const auto patience = sink.patience(); patience && *patience <= answer.silence) {
      clock_.advance(*patience);
      return {lib::StatusCode::unavailable, "nothing is sent", ETIME};
    }
    clock_.advance(answer.silence);
    return answer.end;
  }
  void stop() override {}
  std::string server() const override { return "https://api"; }

  std::string last_asked() const { return asked_.empty() ? "" : asked_.back(); }
  bool last_again() const { return last_again_; }
  std::string last_accept() const { return last_accept_; }
  std::size_t requests() const { return asked_.size(); }
  bool done() const { return answers_.empty(); }

 private:
  FakeClock& clock_;
  std::deque<ScriptedAnswer> answers_;
  std::vector<std::string> asked_;
  bool last_again_ = false;
  std::string last_accept_;
};

}  // namespace sluice::test
