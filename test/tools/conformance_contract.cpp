// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// conformance-load contract: makes calls that are rare, or that only a newer daemon makes. Prints one line for each
// promise of the ABI, kept or not.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "conformance_services.hpp"
#include "conformance_subject.hpp"

namespace conformance {
namespace {

constexpr std::uint32_t kFew = 12;
constexpr std::uint32_t kRounds = 20;
// Of a cancelled apply(). Generous: the machine may be busy.
constexpr std::chrono::seconds kSoon{10};

class Contract {
 public:
  Contract(const std::string& file, std::string state_dir) : plugin_(file), state_dir_(std::move(state_dir)) {}

  void run() {
    std::vector<abi::Family> families;
    for (const abi::Family family : {abi::Family::kIpv4, abi::Family::kIpv6}) {
      if (plugin_.serves(family)) families.push_back(family);
    }
    say(!families.empty(), "the descriptor has a family", "neither kFeatureIpv4 nor kFeatureIpv6 is claimed");
    declares_options();
    for (const abi::Family family : families) {
      family_ = family;
      rejects_options();
      if (!serves()) continue;
      cancels();
      retires();
    }
    if (families.size() == 2) works_side_by_side();
    family_ = {};
    plugin_.unload();
    say(!plugin_.mapped(), "after the last release() the library is unmapped",
        "it stays mapped: a thread of it runs, a thread_local of it has a destructor, or a symbol is unique");
  }

 private:
  void say(bool kept, const std::string& promise, const std::string& otherwise) {
    const std::string label = family_ == abi::Family{} ? promise : std::string(name_of(family_)) + ": " + promise;
    std::printf("{\"promise\": %s, \"kept\": %s, \"reason\": %s}\n", json_text(label).c_str(), kept ? "true" : "false",
                json_text(kept ? "" : otherwise).c_str());
    std::fflush(stdout);
  }
  bool ok(abi::Code code, const Subject& subject, const std::string& promise) {
    say(code == abi::Code::kOk, promise, std::string(name_of(code)) + ": " + subject.why());
    return code == abi::Code::kOk;
  }
  static std::string writes(const Subject& subject) { return std::to_string(subject.writes()) + " kernel writes"; }

  // The daemon validates the options of a plugin that declares them.
  void declares_options() {
    const abi::ArrayView table = plugin_.options();
    if (table.data == nullptr) return;
    const std::string problem = sdk::table_problem(table);
    say(problem.empty(), "the table of options has no mistake", problem);
    if (!problem.empty()) return;
    std::string accepted;
    const auto rejects = [&](const std::string& key, const std::string& value) {
      std::vector<sdk::OptionValue> unused;
      if (sdk::read_options(sdk::rows(table), {{key, value}}, unused).empty()) accepted += " " + key + "=" + value;
    };
    rejects("sluice.conformance", "unknown");
    for (const abi::OptionSpec& spec : sdk::rows(table)) {
      const std::string key = std::string(sdk::option_name(spec)) + (sdk::is_list(spec) ? "[0]" : "");
      const bool is_time = spec.value_type == abi::OptionType::kDuration;
      const auto text = [&](std::int64_t number) { return is_time ? sdk::print_nanoseconds(number) : std::to_string(number); };
      if (is_time || spec.value_type == abi::OptionType::kInteger) {
        if (spec.minimum > sdk::option::kLowest + 1) rejects(key, text(spec.minimum - 1));
        if (spec.maximum < sdk::option::kHighest) rejects(key, text(spec.maximum + 1));
      } else if (spec.value_type == abi::OptionType::kWord || spec.value_type == abi::OptionType::kBoolean) {
        rejects(key, "sluice.conformance");
      }
    }
    say(accepted.empty(), "the daemon rejects unknown options and values out of range", "it accepts" + accepted);
  }

  void rejects_options() {
    if (plugin_.options().data != nullptr) return;
    const std::vector<abi::Option> options = {{sdk::view("sluice.conformance"), sdk::view("unknown"), {}, 0, 0}};
    const Subject subject(plugin_, family_, state_dir_, options);
    say(!subject.created() && subject.create_code() == abi::Code::kInvalid, "an option that it does not know is refused",
        subject.created() ? "create() took it: a misspelt option is ignored"
                          : "create() answers " + std::string(name_of(subject.create_code())) + " and not kInvalid");
  }

  bool serves() {
    Services services(family_, kFew);
    {
      Subject first(plugin_, family_, state_dir_);
      if (!ok(first.create_code(), first, "create() makes a backend")) return false;
      say(first.created(), "create() returns what it made", "kOk without a backend");
      if (!first.created() || !ok(first.probe(), first, "probe() says that this node can run it")) return false;
      abi::Code code{};
      const std::vector<std::string> claims = first.claims(code);
      ok(code, first, "claims() can be asked before the first apply()");
      if (!ok(first.apply(services.full(1)), first, "a full transaction is applied")) return false;
      say(first.claims(code) == claims, "claims() says the same before and after apply()",
          "it says otherwise, and the daemon writes claims down before it lets a backend write");
      name_claims(claims);
      same_again(first, services);
      deltas(first, services);
      ok(first.verify(), first, "verify() finds the node as apply() left it");
    }
    Subject second(plugin_, family_, state_dir_);
    if (second.created() && second.probe() == abi::Code::kOk) {
      const abi::Code code = second.apply(services.full(1));
      say(code == abi::Code::kOk && second.writes() == 0, "after a restart without a change nothing is written",
          std::string(name_of(code)) + ", " + writes(second));
    }
    second.release();
    clean();
    return true;
  }

  void name_claims(const std::vector<std::string>& claims) {
    const auto bad = std::find_if(claims.begin(), claims.end(), [](const std::string& one) {
      const std::size_t slash = one.find('/');
      return slash == 0 || slash == std::string::npos || slash + 1 == one.size() || one.find(' ') != std::string::npos ||
             one.size() > 250;
    });
    say(bad == claims.end(), "each claim is kind/name, without blanks, of 250 bytes at most",
        bad == claims.end() ? "" : "'" + *bad + "' is not");
  }

  void same_again(Subject& subject, Services& services) {
    abi::Code code = subject.apply(services.full(2));
    say(code == abi::Code::kOk && subject.writes() == 0, "the same again writes nothing",
        std::string(name_of(code)) + ", " + writes(subject));
    services.set_longer(true);
    code = subject.apply(services.full(3));
    services.set_longer(false);
    say(code == abi::Code::kOk && subject.writes() == 0, "longer structs of a newer daemon are read by their stride and size",
        std::string(name_of(code)) + ", " + writes(subject) + ": " + subject.why());
  }

  void deltas(Subject& subject, Services& services) {
    if (!plugin_.has(abi::kFeatureDelta)) return;
    const abi::Code wrong = subject.apply(services.delta(77, 0, 1));
    say(wrong == abi::Code::kNeedFull && subject.writes() == 0, "a delta on another generation is answered by kNeedFull",
        std::string(name_of(wrong)) + ", " + writes(subject));
    services.change(3, 1);
    // A backend may drop its generation after a rejected delta, so send a full transaction first.
    if (subject.apply(services.full(4)) != abi::Code::kOk) return;
    services.change(3, 1);
    ok(subject.apply(services.delta(4, 3, 1)), subject, "a delta is applied");
  }

  void clean() {
    for (const char* occasion : {"cleanup() in an object of its own", "cleanup() where there is nothing"}) {
      Subject cleaner(plugin_, family_, state_dir_);
      if (cleaner.created()) ok(cleaner.cleanup(), cleaner, occasion);
    }
  }

  // The word is set before the call, so that the result does not depend on the speed of the backend.
  void cancels() {
    Services services(family_, kFew);
    Subject subject(plugin_, family_, state_dir_);
    if (!subject.created() || subject.probe() != abi::Code::kOk) return;
    const std::uint32_t cancelled = 1;
    abi::Transaction transaction = services.full(1);
    transaction.cancelled = &cancelled;
    const auto begin = std::chrono::steady_clock::now();
    const abi::Code code = subject.apply(transaction);
    const auto spent = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begin);
    say((code == abi::Code::kOk || code == abi::Code::kRetry) && spent < kSoon,
        "a cancelled apply() soon returns kRetry or kOk",
        std::string(name_of(code)) + " after " + std::to_string(spent.count()) + " s: " + subject.why());
    if (ok(subject.apply(services.full(2)), subject, "the full transaction after a cancelled apply() is applied"))
      ok(subject.verify(), subject, "verify() finds the node as that transaction left it");
    subject.release();
    clean();
  }

  void retires() {
    Services services(family_, kFew);
    {
      Subject left(plugin_, family_, state_dir_);
      if (!left.created() || left.probe() != abi::Code::kOk || left.apply(services.full(1)) != abi::Code::kOk) return;
    }
    Subject subject(plugin_, family_, state_dir_);
    if (!subject.created()) return;
    subject.probe();
    ok(subject.retire({}), subject, "retire() ends what an earlier process has left, without an apply() before");
    subject.release();
    clean();
  }

  // Each family has its own thread, and both share static state.
  void works_side_by_side() {
    std::string problems[2];
    std::vector<std::thread> threads;
    for (const abi::Family family : {abi::Family::kIpv4, abi::Family::kIpv6}) {
      threads.emplace_back(
          [this, family, &problem = problems[family == abi::Family::kIpv6]] { problem = run_rounds(family); });
    }
    for (std::thread& thread : threads) thread.join();
    family_ = {};
    say(problems[0].empty() && problems[1].empty(), "both families change at the same time, from two threads",
        "IPv4: " + problems[0] + "; IPv6: " + problems[1]);
  }

  std::string run_rounds(abi::Family family) {
    Services services(family, kFew);
    Subject subject(plugin_, family, state_dir_);
    if (!subject.created() || subject.probe() != abi::Code::kOk) return subject.why();
    std::string problem;
    for (std::uint32_t i = 1; i <= kRounds && problem.empty(); ++i) {
      services.change(i % kFew, 1);
      const abi::Code code = subject.apply(services.full(i));
      if (code != abi::Code::kOk) problem = std::string(name_of(code)) + ": " + subject.why();
    }
    subject.release();
    Subject cleaner(plugin_, family, state_dir_);
    if (cleaner.created()) cleaner.cleanup();
    return problem;
  }

  Plugin plugin_;
  const std::string state_dir_;
  abi::Family family_{};
};

}  // namespace

int contract(const std::string& file, const std::string& state_dir) {
  Contract(file, state_dir).run();
  return 0;
}

}  // namespace conformance
