// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A backend on a fake kernel, with the calls that the daemon makes: the base of the rigs of all backends.
#pragma once

#include <cppunit/TestAssert.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sluice/abi/affinity.hpp"
#include "sluice/abi/inspection.hpp"
#include "sluice/abi/preparation.hpp"
#include "sluice/sdk/inspection.hpp"
#include "sluice/sdk/views.hpp"
#include "test/unit/common/world.hpp"

namespace sluice::test {

using BackendOptions = std::vector<std::pair<std::string, std::string>>;

// Host: the fake daemon. The destructor of a rig must call stop() before its fake kernel goes.
template <class Host>
class BackendRig {
 public:
  BackendRig(const BackendRig&) = delete;
  BackendRig& operator=(const BackendRig&) = delete;

  // Creates the backend if there is none.
  abi::Backend& backend() {
    if (backend_ != nullptr) return *backend_;
    std::vector<abi::Option> given;
    for (const auto& [key, value] : options_) given.push_back({sdk::view(key), sdk::view(value), {}, 0, 0});
    abi::CreateArgs args{};
    args.struct_size = sizeof(args);
    args.family = family_;
    args.host = &host;
    args.options = sdk::array(given.data(), given.size());
    args.state_dir = sdk::view(state_dir);
    args.flags = flags;
    backend_ = create(args);
    return *backend_;
  }
  // Releases the backend but keeps the kernel, as when the daemon ends.
  void stop() {
    if (backend_ != nullptr) std::exchange(backend_, nullptr)->release();
  }
  // Replaces the backend object, as a restart of the daemon does; the kernel stays.
  void restart() {
    stop();
    backend();
  }
  void restart(std::uint32_t create_flags) {
    flags = create_flags;
    restart();
  }
  void restart_with(BackendOptions options) {
    options_ = std::move(options);
    restart();
  }
  // Returns the current backend, which continues to run; the next call creates a new backend beside it.
  abi::Backend* detach() { return std::exchange(backend_, nullptr); }

  abi::Code full(const std::vector<ServiceSpec>& services) { return full(services, node); }
  abi::Code full(const std::vector<ServiceSpec>& services, const NodeSpec& facts) {
    World world(family_);
    return apply(world.full(services, ++generation, facts));
  }
  abi::Code delta(const std::vector<ServiceSpec>& changed, const std::vector<ServiceSpec>& removed = {}) {
    return delta(changed, removed, node);
  }
  abi::Code delta(const std::vector<ServiceSpec>& changed, const std::vector<ServiceSpec>& removed,
                  const NodeSpec& facts) {
    World world(family_);
    return apply(world.delta(changed, removed, ++generation, facts));
  }
  abi::Code apply(abi::Transaction transaction) {
    transaction.cancelled = &cancelled;
    result = {};
    result.struct_size = sizeof(result);
    clear_error();
    host.failed.clear();
    forget_writes();
    return backend().apply(&transaction, &result, &error);
  }
  // As --init-only calls it.
  abi::Code prepare(abi::NodeFacts facts = {}) {
    facts.struct_size = sizeof(facts);
    clear_error();
    return extension<abi::Preparation>(abi::kPreparation).prepare(&facts, &error);
  }
  abi::Code probe() {
    clear_error();
    return backend().probe(&error);
  }
  abi::Code verify() {
    clear_error();
    return backend().verify(&error);
  }
  abi::Code cleanup() {
    clear_error();
    forget_writes();
    return backend().cleanup(&error);
  }
  abi::Code retire(const std::vector<std::string>& claims, std::uint32_t drain_seconds = 0) {
    return retire(backend(), drain_seconds, claims);
  }
  abi::Code retire(abi::Backend& which, std::uint32_t drain_seconds, const std::vector<std::string>& claims = {}) {
    std::vector<abi::StringView> views;
    for (const std::string& claim : claims) views.push_back(sdk::view(claim));
    abi::Handover handover{};
    handover.struct_size = sizeof(handover);
    handover.drain_seconds = drain_seconds;
    handover.claims = sdk::array(views.data(), views.size());
    clear_error();
    forget_writes();
    return which.retire(&handover, &error);
  }
  std::vector<std::string> claims() {
    Strings sink;
    backend().claims(&sink, &error);
    return sink.found;
  }
  abi::Affinity& affinity() { return extension<abi::Affinity>(abi::kAffinity); }
  // The text of the rows. Empty, with `error` set, if the call fails.
  std::vector<std::string> inspect(const std::string& name = {}) {
    Rows rows(family_);
    abi::InspectionQuery query{};
    query.struct_size = sizeof(query);
    query.kind = abi::InspectionKind::kInspectFrontends;
    query.name = sdk::view(name);
    clear_error();
    inspected = extension<abi::InspectionRows>(abi::kInspectionRows).inspect(&query, &rows, &error);
    return rows.found;
  }
  // As a daemon of ABI 1.0 asks.
  std::vector<std::string> inspect_lines() {
    Strings sink;
    clear_error();
    inspected = extension<abi::Inspection>(abi::kInspection).services({}, &sink, &error);
    return sink.found;
  }

  Host host;
  NodeSpec node;
  std::string state_dir;    // of new backends
  std::uint32_t flags = 0;  // CreateFlag of new backends
  abi::ApplyResult result{};
  abi::Error error{};
  std::uint64_t generation = 0;
  std::uint32_t cancelled = 0;  // abi::Transaction::cancelled of each apply()
  abi::Code inspected = abi::Code::kOk;

 protected:
  explicit BackendRig(abi::Family family, BackendOptions options = {})
      : family_(family), options_(std::move(options)) {}
  ~BackendRig() = default;

  virtual abi::Backend* create(const abi::CreateArgs& args) = 0;
  // Clears the record of what the fake kernel received.
  virtual void forget_writes() = 0;

  void clear_error() {
    error = {};
    error.struct_size = sizeof(error);
  }

  const abi::Family family_;

 private:
  struct Strings final : abi::StringSink {
    void add(abi::StringView text) noexcept override { found.emplace_back(sdk::text(text)); }
    std::vector<std::string> found;
  };
  struct Rows final : abi::InspectionSink {
    explicit Rows(abi::Family of) : family(of) {}
    std::int32_t add(abi::ArrayView rows) noexcept override {
      for (const auto& row : sdk::range<abi::InspectedFrontend>(rows)) found.push_back(sdk::inspection_line(row, family));
      return 1;
    }
    const abi::Family family;
    std::vector<std::string> found;
  };

  template <class Extension>
  Extension& extension(const char* id) {
    void* const found = backend().extension(sdk::view(id));
    CPPUNIT_ASSERT_MESSAGE(id, found != nullptr);
    return *static_cast<Extension*>(found);
  }

  BackendOptions options_;
  abi::Backend* backend_ = nullptr;
};

inline void ok(abi::Code code) { CPPUNIT_ASSERT_EQUAL(std::int32_t{0}, static_cast<std::int32_t>(code)); }
template <class Host>
void ok(const BackendRig<Host>& rig, abi::Code code) {
  CPPUNIT_ASSERT_EQUAL_MESSAGE(rig.error.message, std::int32_t{0}, static_cast<std::int32_t>(code));
}

template <class Host>
void expect_cancelled(const BackendRig<Host>& rig, abi::Code code) {
  CPPUNIT_ASSERT_EQUAL_MESSAGE(rig.error.message, static_cast<int>(abi::Code::kRetry), static_cast<int>(code));
  CPPUNIT_ASSERT_EQUAL(std::string("cancelled: the daemon no longer needs the result"), std::string(rig.error.message));
}

}  // namespace sluice::test
