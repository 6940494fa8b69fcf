// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Runs a sync loop against a backend with scripted results. Tests wait for calls, not for time to pass.
#pragma once

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>

#include <condition_variable>
#include <cstdio>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/sync/sync_loop.hpp"
#include "sluice/abi/inspection.hpp"
#include "sluice/sdk/error.hpp"
#include "test/unit/patience.hpp"

namespace sluice::sync {

using namespace std::chrono_literals;

// The calls that the backend received, and its results.
struct Script {
  std::mutex mutex;
  std::condition_variable arrived;
  std::deque<std::string> calls;
  std::deque<abi::Code> apply_answers;     // kOk if empty
  std::deque<abi::Code> verify_answers;    // kOk if empty
  std::deque<abi::Code> services_answers;  // kOk if empty
  std::deque<abi::Code> claims_answers;    // kOk if empty; apply thread only
  unsigned claims_calls = 0;
  abi::Code probe_answer = abi::Code::kOk;
  abi::Host* host = nullptr;
  bool inspectable = true;
  std::function<void()> during_apply;  // on the apply thread
  const abi::Transaction* applying = nullptr;  // valid in during_apply
  // The report about "shop/cart:http" in each apply: a reason, "served", or empty for no report.
  std::deque<std::string> not_programmed;

  abi::Code answer(std::deque<abi::Code>& from, std::string call) {
    const std::lock_guard lock(mutex);
    calls.push_back(std::move(call));
    arrived.notify_all();
    if (from.empty()) return abi::Code::kOk;
    const abi::Code code = from.front();
    from.pop_front();
    return code;
  }

  std::string next_call() {
    std::unique_lock lock(mutex);
    if (!arrived.wait_for(lock, test::stretched(20s), [&] { return !calls.empty(); })) return "no call before the timeout";
    std::string out = calls.front();
    calls.pop_front();
    return out;
  }
};

inline Script* g_script = nullptr;  // a global, because the factory is a plain function

class ScriptedBackend final : public abi::Backend, public abi::Inspection {
 public:
  abi::Code services(abi::StringView name, abi::StringSink* lines, abi::Error*) noexcept override {
    lines->add({"one", 3});
    lines->add({"two\nthree", 9});
    return g_script->answer(g_script->services_answers, "services " + std::string(name.data, name.size));
  }
  abi::Code probe(abi::Error* error) noexcept override {
    std::snprintf(error->message, sizeof error->message, "the kernel lacks something");
    return g_script->probe_answer;
  }
  abi::Code apply(const abi::Transaction* t, abi::ApplyResult* result, abi::Error* error) noexcept override {
    result->kernel_writes = 7;
    result->kernel_nanoseconds = 500'000'000;
    g_script->applying = t;
    if (g_script->during_apply) g_script->during_apply();
    std::snprintf(error->message, sizeof error->message, "scripted");
    if (!g_script->not_programmed.empty()) {
      abi::Error why = sdk::empty_error();
      sdk::set_error(&why, "shop/cart:http", g_script->not_programmed.front());
      const abi::ServicePortKey key{{"shop", 4}, {"cart", 4}, {"http", 4}, abi::Protocol::kTcp, {}};
      const bool served = g_script->not_programmed.front() == "served";
      if (!g_script->not_programmed.front().empty()) g_script->host->service_port_failed(&key, served ? nullptr : &why);
      g_script->not_programmed.pop_front();
    }
    return g_script->answer(g_script->apply_answers,
                            t->kind == abi::TransactionKind::kFull
                                ? "full " + std::to_string(t->generation)
                                : "delta " + std::to_string(t->base_generation) + "-" + std::to_string(t->generation));
  }
  abi::Code verify(abi::Error* error) noexcept override {
    std::snprintf(error->message, sizeof error->message, "a chain is missing");
    return g_script->answer(g_script->verify_answers, "verify");
  }
  abi::Code claims(abi::StringSink* sink, abi::Error* error) noexcept override {
    sink->add({"test/thing", 10});
    ++g_script->claims_calls;
    std::snprintf(error->message, sizeof error->message, "no list");
    if (g_script->claims_answers.empty()) return abi::Code::kOk;
    const abi::Code code = g_script->claims_answers.front();
    g_script->claims_answers.pop_front();
    return code;
  }
  abi::Code retire(const abi::Handover*, abi::Error*) noexcept override { return abi::Code::kOk; }
  abi::Code cleanup(abi::Error*) noexcept override { return abi::Code::kOk; }
  void* extension(abi::StringView id) noexcept override {
    const bool inspection = std::string_view(id.data, id.size) == abi::kInspection && g_script->inspectable;
    return inspection ? static_cast<abi::Inspection*>(this) : nullptr;
  }
  void release() noexcept override { delete this; }
};

inline abi::Code create_scripted(const abi::CreateArgs* args, abi::Backend** out, abi::Error*) noexcept {
  g_script->host = args->host;
  *out = new ScriptedBackend;
  return abi::Code::kOk;
}

class SyncRig : public CppUnit::TestFixture, public TransactionSource, public SyncObserver {
 public:
  void setUp() override { g_script = &script_; }
  void tearDown() override {
    loop_.reset();
    g_script = nullptr;
  }

 protected:
  lib::SteadyClock clock_;
  Script script_;
  std::uint64_t features_ = abi::kFeatureIpv4 | abi::kFeatureDelta;
  SyncLoop::Options options_{{0s, 1h, 2h}, 1h};
  std::atomic<std::uint64_t> generation_{0};  // of the last taken transaction
  std::atomic<bool> no_changes_{false};
  using TriggerTimes = std::vector<std::chrono::system_clock::time_point>;
  static constexpr std::chrono::system_clock::time_point kTrigger{1h};
  std::atomic<bool> not_listed_{false};
  std::atomic<bool> request_during_take_{false};
  std::string namespace_;                 // of the service port in each transaction; empty: no service port
  std::atomic<std::size_t> triggers_{0};  // number of trigger times in the next transaction
  std::vector<SyncReport> reports_;  // of the apply thread; read after stop()
  std::vector<std::string> claims_;
  std::vector<std::uint64_t> applied_;  // generations
  std::vector<std::string> steps_;      // "begin", "applied GENERATION" and "end" of writes
  std::vector<std::string> not_programmed_;
  std::vector<std::string> calls_;   // as they start; "" when both have ended
  std::vector<std::string> events_;  // of the plugin
  std::vector<std::string> loops_;   // of all events: "7 scripted IPv4"
  std::unique_ptr<SyncLoop> loop_;

  // TransactionSource
  std::shared_ptr<const snapshot::Transaction> take(bool full, const model::Namespaces& deferred) override {
    if (not_listed_) return nullptr;
    if (request_during_take_.exchange(false)) loop_->request();
    auto out = std::make_shared<snapshot::Transaction>();
    out->trigger_times.assign(triggers_.exchange(0), kTrigger);
    out->full = full;
    out->partial = !deferred.empty();
    out->base_generation = generation_;
    out->generation = no_changes_ ? generation_.load() : ++generation_;
    out->node = std::make_shared<snapshot::NodeFacts>();
    if (!namespace_.empty()) out->service_ports = {port_in(namespace_)};
    return out;
  }

  // SyncObserver
  void claimed(const Claimed& event) override {
    note(event.loop);
    claims_ = event.claims;
  }
  void writing(const Writing& event) override {
    note(event.loop);
    steps_.emplace_back(event.begins ? "begin" : "end");
  }
  void applied(const Applied& event) override {
    note(event.loop);
    applied_.push_back(event.transaction.generation);
    steps_.push_back("applied " + std::to_string(event.transaction.generation));
  }
  void synced(const Synced& event) override {
    note(event.loop);
    reports_.push_back(event.report);
  }
  void not_programmed(const PortNotProgrammed& event) override {
    note(event.loop);
    not_programmed_.push_back(event.failed.message);
  }
  void call_started(const CallStarted& event) override {
    note(event.loop);
    calls_.emplace_back(event.call);
  }
  void relayed(const PortRelayed& event) override {
    note(event.loop);
    events_.push_back("relays " + std::to_string(event.port.ports.size()));
  }
  void reported(const EventReported& event) override {
    note(event.loop);
    events_.push_back(event.reason + " " + event.note);
  }
  void note(const LoopId& loop) {
    loops_.push_back(std::to_string(loop.run) + " " + loop.backend + " " + std::string(lib::family_name(loop.family)));
  }

  lib::Status start() {
    loop_ = std::make_unique<SyncLoop>(options_, LoopId{7, "scripted", lib::Family::ipv4}, *this, *this, clock_);
    const auto make = [this](plugin::HostObserver& observer) {
      abi::PluginEntry entry{};
      entry.magic = abi::kMagic;
      entry.struct_size = sizeof entry;
      entry.features = features_;
      entry.id = entry.version = entry.build = "scripted";
      entry.create = create_scripted;
      auto plugin = std::make_shared<const plugin::Plugin>(nullptr, "scripted.so", entry);
      return plugin::BackendHandle::create(plugin, {}, &observer, nullptr, clock_);
    };
    return loop_->start(make).get();
  }

  static snapshot::ServicePortPtr port_in(const std::string& name_space) {
    auto out = std::make_shared<store::ServicePort>();
    out->key = {{base::Symbol(name_space), "cart"}, base::Symbol("http"), model::Protocol::tcp};
    return out;
  }

  void expect(const std::string& call) { CPPUNIT_ASSERT_EQUAL(call, script_.next_call()); }

  template <class T>
  static T within(std::future<T> answer) {
    CPPUNIT_ASSERT(answer.wait_for(test::stretched(20s)) == std::future_status::ready);
    return answer.get();
  }
  template <class T>
  static bool broken(std::future<T> answer) {
    CPPUNIT_ASSERT(answer.wait_for(test::stretched(20s)) == std::future_status::ready);
    try {
      static_cast<void>(answer.get());
      return false;
    } catch (const std::future_error& error) {
      return error.code() == std::future_errc::broken_promise;
    }
  }
  // Waits until all earlier messages are handled and the resulting runs have ended.
  void settle() {
    for (int i = 0; i < 2; ++i) within(loop_->call([](plugin::BackendHandle&) {}));
  }
};

}  // namespace sluice::sync
