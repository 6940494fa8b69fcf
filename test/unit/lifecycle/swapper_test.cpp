// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Swaps between scripted backends: the calls that each backend gets, and their order; a
// failure at each step; retirement and rollback.
#include "core/lifecycle/swapper.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "sluice/abi/affinity.hpp"
#include "sluice/sdk/error.hpp"
#include "sluice/sdk/views.hpp"
#include "test/unit/lifecycle/run_environment.hpp"
#include "test/unit/patience.hpp"
#include "test/unit/plugin/captured_log.hpp"
#include "test/unit/store/fixtures.hpp"

namespace sluice::lifecycle {
namespace swapper_test {

using namespace std::chrono_literals;
using lib::Family;
using model::ResourceKind;

constexpr auto kGenerous = 30s;
// Of calls that must succeed: a busy machine may stop them for seconds.
constexpr auto kCallTimeout = 2min;

// The machine's clock, which a test may put forward, and which counts how often each thread reads it.
class MovableClock final : public lib::Clock {
 public:
  Time now() const override {
    const std::lock_guard lock(mutex_);
    ++reads_[std::this_thread::get_id()];
    return steady_.now() + ahead_;
  }
  void advance(Duration by) {
    const std::lock_guard lock(mutex_);
    ahead_ += by;
  }
  std::size_t reads(std::thread::id of) const {
    const std::lock_guard lock(mutex_);
    return reads_[of];
  }

 private:
  const lib::SteadyClock steady_{};
  mutable std::mutex mutex_;
  Duration ahead_{0};
  mutable std::map<std::thread::id, std::size_t> reads_;
};

// Records the calls of backends, and determines their results.
class Script {
 public:
  abi::Code call(const std::string& id, const std::string& what, abi::Error* error) {
    std::unique_lock lock(mutex_);
    calls_.push_back(id + " " + what);
    arrived_.notify_all();
    const std::string key = id + " " + what.substr(0, what.find(' '));
    arrived_.wait(lock, [&] { return !hang_ || hang_at_ != key; });
    auto& answers = answers_[key];
    if (answers.empty()) return abi::Code::kOk;
    const abi::Code code = answers.front();
    answers.pop_front();
    if (error != nullptr) std::snprintf(error->message, sizeof error->message, "scripted");
    return code;
  }
  // "new apply": the next answers to it; then ok.
  void answer(const std::string& key, std::deque<abi::Code> codes) {
    const std::lock_guard lock(mutex_);
    answers_[key] = std::move(codes);
  }
  void hang(const std::string& key) {
    const std::lock_guard lock(mutex_);
    hang_at_ = key;
    hang_ = true;
  }
  void go_on() {
    const std::lock_guard lock(mutex_);
    hang_ = false;
    arrived_.notify_all();
  }
  // All calls since the last take().
  std::string take() {
    const std::lock_guard lock(mutex_);
    std::string out = text();
    calls_.clear();
    return out;
  }
  void await(const std::string& call) {
    std::unique_lock lock(mutex_);
    const bool called = arrived_.wait_for(lock, test::stretched(kGenerous), [&] {
      return std::find(calls_.begin(), calls_.end(), call) != calls_.end();
    });
    CPPUNIT_ASSERT_MESSAGE("never called: " + call + ", but " + text(), called);
  }
  // Waits until the apply is cancelled, if the test wants that of this backend.
  abi::Code apply(const std::string& id, const abi::Transaction& transaction, abi::Error* error) {
    const bool full = transaction.kind == abi::TransactionKind::kFull;
    const abi::Code code = call(id, full ? "apply full" : "apply delta", error);
    if (waits_for_cancel != id) return code;
    const std::uint32_t* const word = transaction.cancelled;
    const bool cancelled = test::wait_until([&] { return __atomic_load_n(word, __ATOMIC_ACQUIRE) != 0; });
    call(id, cancelled ? "cancelled" : "never cancelled", error);
    return sdk::fail(error, abi::Code::kRetry, {}, "cancelled");
  }
  std::string waits_for_cancel;                            // a backend; set while none applies
  std::map<std::string, std::vector<std::string>> claims;  // by backend
  bool affinity = true;
  std::string created_with;  // flags of the last create

 private:
  std::string text() const {
    std::string out;
    for (const auto& call : calls_) out += (out.empty() ? "" : ", ") + call;
    return out;
  }

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::string> calls_;
  std::map<std::string, std::deque<abi::Code>> answers_;
  std::string hang_at_;
  bool hang_ = false;
};

Script* g_script = nullptr;  // because a factory is a plain function

class Scripted final : public abi::Backend, public abi::Affinity {
 public:
  explicit Scripted(std::string id) : id_(std::move(id)) {}
  abi::Code probe(abi::Error* error) noexcept override { return g_script->call(id_, "probe", error); }
  abi::Code apply(const abi::Transaction* t, abi::ApplyResult*, abi::Error* error) noexcept override {
    return g_script->apply(id_, *t, error);
  }
  abi::Code verify(abi::Error* error) noexcept override { return g_script->call(id_, "verify", error); }
  abi::Code claims(abi::StringSink* sink, abi::Error* error) noexcept override {
    for (const auto& claim : g_script->claims[id_]) sink->add(sdk::view(claim));
    return g_script->call(id_, "claims", error);
  }
  abi::Code retire(const abi::Handover* handover, abi::Error* error) noexcept override {
    std::string what = "retire " + std::string(handover->drain_seconds == 0 ? "now" : "later") + " but";
    for (const auto& claim : sdk::range<abi::StringView>(handover->claims)) what += " " + std::string(sdk::text(claim));
    return g_script->call(id_, what, error);
  }
  abi::Code cleanup(abi::Error*) noexcept override { return abi::Code::kOk; }
  abi::Code export_clients(abi::AffinitySink* sink, abi::Error* error) noexcept override {
    abi::AffinityClient client{};
    client.key.service_name = {"cart", 4};
    client.remaining_seconds = 9;
    sink->add(sdk::array(&client, 1));
    return g_script->call(id_, "export", error);
  }
  abi::Code import_clients(abi::ArrayView clients, abi::Error* error) noexcept override {
    return g_script->call(id_, "import " + std::to_string(clients.count), error);
  }
  void* extension(abi::StringView id) noexcept override {
    const bool affinity = std::string_view(id.data, id.size) == abi::kAffinity && g_script->affinity;
    return affinity ? static_cast<abi::Affinity*>(this) : nullptr;
  }
  void release() noexcept override {
    g_script->call(id_, "release", nullptr);
    delete this;
  }

 private:
  const std::string id_;
};

template <char Which>
abi::Code create(const abi::CreateArgs* args, abi::Backend** out, abi::Error* error) noexcept {
  const std::string id = Which == 'o' ? "old" : "new";
  g_script->created_with = id + (args->flags == abi::kCreatePredecessorServes ? " after another one" : " alone");
  const abi::Code code = g_script->call(id, "create", error);
  if (code == abi::Code::kOk) *out = new Scripted(id);
  return code;
}

template <char Which>
std::shared_ptr<const plugin::Plugin> library(std::uint64_t features) {
  abi::PluginEntry entry{};
  entry.struct_size = sizeof entry;
  entry.features = features;
  entry.id = Which == 'o' ? "old" : "new";
  entry.version = entry.build = "1";
  entry.create = &create<Which>;
  return std::make_shared<const plugin::Plugin>(nullptr, "/nowhere.so", entry);
}

class SwapperTest : public CppUnit::TestFixture,
                    public Swapper::Host,
                    public SwapHooks,
                    public Retirement::Observer {
  CPPUNIT_TEST_SUITE(SwapperTest);
  CPPUNIT_TEST(the_new_backend_is_synced_before_the_old_one_retires);
  CPPUNIT_TEST(with_shared_artifacts_the_old_backend_is_held_first);
  CPPUNIT_TEST(a_change_reaches_both_backends_during_a_swap_and_the_new_one_afterwards);
  CPPUNIT_TEST(a_library_that_cannot_be_loaded_changes_nothing);
  CPPUNIT_TEST(a_failed_create_or_probe_changes_nothing);
  CPPUNIT_TEST(without_an_ownership_ledger_entry_nothing_is_written);
  CPPUNIT_TEST(a_failed_apply_is_rolled_back);
  CPPUNIT_TEST(with_shared_artifacts_the_old_backend_is_restored_before_the_new_one_retires);
  CPPUNIT_TEST(a_failed_restore_delays_the_removal_of_the_new_backend);
  CPPUNIT_TEST(connections_of_a_rolled_back_backend_drain);
  CPPUNIT_TEST(connections_of_a_rolled_back_build_drain);
  CPPUNIT_TEST(a_stopping_daemon_does_not_roll_back);
  CPPUNIT_TEST(a_stopping_daemon_cancels_the_apply_of_the_new_backend);
  CPPUNIT_TEST(a_failed_swap_cancels_the_apply_of_the_new_backend);
  CPPUNIT_TEST(with_shared_artifacts_the_apply_of_the_old_backend_is_cancelled);
  CPPUNIT_TEST(a_failed_verify_is_rolled_back);
  CPPUNIT_TEST(a_failed_rollback_is_retried);
  CPPUNIT_TEST(a_new_backend_that_hangs_is_not_called_until_it_answers);
  CPPUNIT_TEST(a_failed_retire_does_not_roll_back_the_swap_and_is_retried);
  CPPUNIT_TEST(a_drain_lasts_until_the_backend_is_done_or_its_timeout);
  CPPUNIT_TEST(a_backend_with_conntrack_entries_retires_later);
  CPPUNIT_TEST(affinity_clients_are_imported_twice);
  CPPUNIT_TEST(a_failed_import_of_clients_does_not_fail_the_swap);
  CPPUNIT_TEST(a_backend_without_affinity_can_be_swapped);
  CPPUNIT_TEST(the_next_swap_starts_from_the_new_backend);
  CPPUNIT_TEST_SUITE_END();

 public:
  void setUp() override {
    g_script = &script_;
    script_.claims["old"] = {"nft/ip/old"};
    script_.claims["new"] = {"nft/ip/new"};
    store().start({.families = {Family::ipv4}});
    for (const auto kind : {ResourceKind::service, ResourceKind::endpoint_slice, ResourceKind::node}) {
      store().deliver(model::ListBegin{kind});
      if (kind == ResourceKind::service) store().deliver(model::Upsert{test::service("cart")});
      store().deliver(model::ListEnd{kind});
    }
    retirement_.emplace(
        Retirement::Options{.interval = 5ms,
                            .call_timeout = kCallTimeout,
                            .ending_notice = 1s,
                            .give_up_after = 1h,
                            .settle_timeout = 1h},
        *this, clock_);
    retirement_->set_successor({{{"nft/ip/old"}, {}}});
    retirement_->start();
    make_swapper(kCallTimeout);

    BackendRun::Settings settings;
    settings.id = ++last_id_;
    settings.plugin = library<'o'>(kAll);
    settings.families = {Family::ipv4};
    settings.loop = loop_options();
    serving_ = environment_.make(std::move(settings));
    CPPUNIT_ASSERT(serving_->start(kCallTimeout)[0].ok());
    serving_->subscribe();
    script_.await("old apply full");
    CPPUNIT_ASSERT(serving_->claims(kCallTimeout).ok());  // the calls in progress have ended
    script_.take();
    old_ = serving_;
  }

  void tearDown() override {
    script_.go_on();
    retirement_->stop();
    serving_->stop();
    serving_.reset();
    old_.reset();
    store().stop();
    swapper_.reset();
    retirement_.reset();
  }

 private:
  static constexpr std::uint64_t kAll = abi::kFeatureIpv4 | abi::kFeatureDelta | abi::kFeatureAffinity;

  static sync::SyncLoop::Options loop_options() {
    sync::SyncLoop::Options out;
    out.intervals.min = 0s;
    out.intervals.retry = 20ms;
    out.verify_every = 1h;  // only when a swap wants it
    return out;
  }

  void make_swapper(BackendRun::Timeout apply) {
    swapper_.emplace(
        Swapper::Timeouts{.probe = kCallTimeout, .call = kCallTimeout, .apply = apply, .retire = kCallTimeout}, *this,
        *retirement_, clock_);
  }
  void note(std::string what) {
    const std::lock_guard lock(mutex_);
    notes_ += (notes_.empty() ? "" : ", ") + what;
    noted_.notify_all();
  }
  std::string notes() {
    const std::lock_guard lock(mutex_);
    return notes_;
  }
  void await_note(const std::string& what) {
    std::unique_lock lock(mutex_);
    const bool there =
        noted_.wait_for(lock, test::stretched(kGenerous), [&] { return notes_.find(what) != std::string::npos; });
    CPPUNIT_ASSERT_MESSAGE("never: " + what, there);
  }

  SwapResult swap(lib::Clock::Duration drain = 1h) {
    config::Settings to;
    to.backend = "new";
    to.drain_timeout = drain;
    return swapper_->swap(to, *this);
  }

  // Swapper::Host
  lib::Result<std::shared_ptr<const plugin::Plugin>> load(const config::Settings&) override {
    if (!loadable_) return lib::not_found("plugin new.so does not exist");
    return same_backend_ ? library<'o'>(kAll) : library<'n'>(kAll);
  }
  lib::Result<BackendRun::Settings> run_settings(const config::Settings&) override {
    BackendRun::Settings out;
    out.id = ++last_id_;
    out.loop = loop_options();
    return out;
  }
  std::shared_ptr<BackendRun> make(BackendRun::Settings of_run) override { return environment_.make(std::move(of_run)); }
  std::shared_ptr<BackendRun> active_run() const override { return serving_; }
  lib::Status record_arriving(const BackendRun& run, const Claims& claims) override {
    note(run.plugin().id() + " arrives with " + claims[0].at(0));
    return recording_fails_ ? lib::unavailable("the disk is full") : lib::Status();
  }
  void serve(std::shared_ptr<BackendRun> run, const Claims&) override {
    script_.call(run->plugin().id(), "serves", nullptr);
    note(run->plugin().id() + " serves");
    serving_ = std::move(run);
  }
  void record_retiring(const BackendRun& run, const Claims&, std::chrono::system_clock::time_point) override {
    note(run.plugin().id() + " retires");
  }
  void forget_arriving(const BackendRun& run) override { note(run.plugin().id() + " undone"); }

  // SwapHooks
  lib::Status provide_details(const plugin::Plugin&, const BackendRun::KeepWaiting&) override { return {}; }
  void before_subscribe(const plugin::Plugin&) override {}

  // Retirement::Observer
  void ending(const Retirement::Entry&) override { note("ending"); }
  bool settled(const Retirement::Entry&) override {
    ++settled_calls_;
    return settled_;
  }
  void gone(const Retirement::Entry& entry, bool clean) override {
    bool listed = false;
    for (const auto& other : retirement_->list()) listed = listed || other.run == entry.run;
    note(entry.run->plugin().id() + (entry.undo ? " undone" : " gone") + (clean ? "" : " unclean") +
         (listed ? " but listed" : ""));
  }

  snapshot::StoreThread& store() { return environment_.store(); }
  void expect_old_active() {
    CPPUNIT_ASSERT(serving_ == old_);
    // Waits for the resync after the swap: the loop runs between two calls.
    for (int i = 0; i < 2; ++i) CPPUNIT_ASSERT(serving_->claims(kCallTimeout).ok());
    script_.take();
    store().deliver(model::Upsert{test::service("later" + std::to_string(++services_))});
    script_.await("old apply delta");
    CPPUNIT_ASSERT(!swapper_->progress().step);
  }

  void the_new_backend_is_synced_before_the_old_one_retires() {
    const auto result = swap();
    CPPUNIT_ASSERT_EQUAL_MESSAGE(result.status.message(), true, result.status.ok());
    CPPUNIT_ASSERT_EQUAL(std::string("old"), result.from);
    CPPUNIT_ASSERT_EQUAL(std::string("new"), result.to);
    CPPUNIT_ASSERT(!result.failed_at);
    CPPUNIT_ASSERT_EQUAL(std::string("new after another one"), script_.created_with);
    script_.await("old release");
    const std::string calls = script_.take();
    CPPUNIT_ASSERT_MESSAGE(calls,
                           calls.starts_with("new create, new probe, old claims, new claims, old export, new import 1, "
                                             "new apply full, "));
    const auto at = [&](const std::string& call) {
      CPPUNIT_ASSERT_MESSAGE(call + " is not in: " + calls, calls.find(call) != std::string::npos);
      return calls.find(call);
    };
    CPPUNIT_ASSERT_MESSAGE(calls, at("new apply full") < at("new verify"));
    CPPUNIT_ASSERT_MESSAGE(calls, at("new verify") < at("new serves"));
    CPPUNIT_ASSERT_MESSAGE(calls, at("new serves") < at("old retire later but nft/ip/new"));
    CPPUNIT_ASSERT_MESSAGE(calls, at("old retire later but nft/ip/new") < at("old release"));
    CPPUNIT_ASSERT_MESSAGE(calls, calls.find("old apply") == std::string::npos);
    await_note("old gone");
    CPPUNIT_ASSERT_EQUAL(std::string("new arrives with nft/ip/new, new serves, old retires, old gone"), notes());
    CPPUNIT_ASSERT(retirement_->list().empty());
  }

  void with_shared_artifacts_the_old_backend_is_held_first() {
    script_.claims["old"] = {"iptables/nat/KUBE-SERVICES", "iptables/nat/KUBE-SVC-*"};
    script_.claims["new"] = {"iptables/nat/KUBE-SERVICES"};
    script_.hang("new apply");
    const auto begin = std::chrono::steady_clock::now();
    std::thread swapping([this] { CPPUNIT_ASSERT(swap().status.ok()); });
    script_.await("new apply full");
    script_.take();
    store().deliver(model::Upsert{test::service("later")});
    store().status();
    CPPUNIT_ASSERT(serving_->claims(kCallTimeout).ok());  // earlier requests have been handled
    const std::string calls = script_.take();
    std::this_thread::sleep_for(30ms);  // fixed time: the change waits at least as long
    script_.go_on();
    swapping.join();
    CPPUNIT_ASSERT_EQUAL(std::string("old claims"), calls);
    const auto waited = swapper_->progress().last->longest_wait_seconds;
    const std::chrono::duration<double> all = std::chrono::steady_clock::now() - begin;
    CPPUNIT_ASSERT_MESSAGE(std::to_string(waited), waited >= 0.02 && waited < all.count());
  }

  void a_change_reaches_both_backends_during_a_swap_and_the_new_one_afterwards() {
    script_.hang("new verify");
    std::thread swapping([this] { CPPUNIT_ASSERT(swap().status.ok()); });
    script_.await("new verify");
    script_.take();
    store().deliver(model::Upsert{test::service("later")});
    script_.await("old apply delta");
    script_.go_on();
    swapping.join();
    script_.await("old release");
    // Its first own sync is a full one, which includes earlier changes.
    script_.await("new apply full");
    script_.take();
    store().deliver(model::Upsert{test::service("last")});
    script_.await("new apply delta");
    const std::string calls = script_.take();
    CPPUNIT_ASSERT_MESSAGE(calls, calls.find("old") == std::string::npos);
  }

  void a_library_that_cannot_be_loaded_changes_nothing() {
    loadable_ = false;
    const auto result = swap();
    CPPUNIT_ASSERT_EQUAL(std::string("plugin new.so does not exist"), result.status.message());
    CPPUNIT_ASSERT(result.failed_at == Step::load);
    CPPUNIT_ASSERT_EQUAL(std::string(), script_.take());
    expect_old_active();
  }

  void a_failed_create_or_probe_changes_nothing() {
    for (const char* call : {"create", "probe"}) {
      script_.answer(std::string("new ") + call, {abi::Code::kUnsupported});
      const auto result = swap();
      CPPUNIT_ASSERT_MESSAGE(result.status.message(),
                             result.status.message().find(std::string(call) + ": scripted") != std::string::npos);
      CPPUNIT_ASSERT(result.failed_at == Step::probe);
      CPPUNIT_ASSERT_MESSAGE(call, notes().empty());
      expect_old_active();
    }
  }

  void without_an_ownership_ledger_entry_nothing_is_written() {
    recording_fails_ = true;
    const auto result = swap();
    CPPUNIT_ASSERT_EQUAL(std::string("the disk is full"), result.status.message());
    CPPUNIT_ASSERT(result.failed_at == Step::claim);
    const std::string calls = script_.take();
    CPPUNIT_ASSERT_MESSAGE(calls, calls.find("new apply") == std::string::npos);
    CPPUNIT_ASSERT_MESSAGE(calls, calls.ends_with("new release"));
    expect_old_active();
  }

  void a_failed_apply_is_rolled_back() {
    script_.answer("new apply", {abi::Code::kKernel});
    const auto result = swap();
    CPPUNIT_ASSERT(result.failed_at == Step::apply);
    CPPUNIT_ASSERT_MESSAGE(result.status.message(), result.status.message().find("scripted") != std::string::npos);
    const std::string calls = script_.take();
    CPPUNIT_ASSERT_MESSAGE(calls, calls.ends_with("new apply full, new retire later but nft/ip/old, new release"));
    CPPUNIT_ASSERT_MESSAGE(calls, calls.find("old apply") == std::string::npos);
    CPPUNIT_ASSERT_EQUAL(std::string("new arrives with nft/ip/new, new undone"), notes());
    expect_old_active();
  }

  void with_shared_artifacts_the_old_backend_is_restored_before_the_new_one_retires() {
    script_.claims["new"] = script_.claims["old"];
    script_.answer("new apply", {abi::Code::kKernel});
    CPPUNIT_ASSERT(!swap().status.ok());
    const std::string calls = script_.take();
    CPPUNIT_ASSERT_MESSAGE(calls, calls.find("new apply full, old apply full, ") != std::string::npos);
    CPPUNIT_ASSERT_MESSAGE(calls, calls.find("old apply full") < calls.find("new retire later but nft/ip/old"));
    expect_old_active();
  }

  void a_failed_restore_delays_the_removal_of_the_new_backend() {
    script_.claims["new"] = script_.claims["old"];
    script_.answer("new apply", {abi::Code::kKernel});
    // Three times for the swap, and once by its own sync loop.
    script_.answer("old apply", std::deque<abi::Code>(4, abi::Code::kKernel));
    const auto result = swap();
    CPPUNIT_ASSERT(!result.status.ok());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, result.remarks.size());
    script_.await("new retire later but nft/ip/old");
    const std::string calls = script_.take();
    CPPUNIT_ASSERT_MESSAGE(calls, calls.rfind("old apply full") < calls.find("new retire"));
    std::size_t tries = 0;
    for (std::size_t at = 0; (at = calls.find("old apply full", at)) != std::string::npos; ++at) ++tries;
    CPPUNIT_ASSERT_MESSAGE(calls, tries >= 5);
    await_note("new undone");
  }

  void connections_of_a_rolled_back_backend_drain() {
    script_.answer("new verify", {abi::Code::kNeedFull});
    script_.answer("new retire", {abi::Code::kRetry, abi::Code::kRetry});
    const auto result = swap();
    CPPUNIT_ASSERT(!result.status.ok());
    CPPUNIT_ASSERT(result.remarks.empty());
    await_note("new undone");
    expect_old_active();
  }

  // Two builds of a relay have separate connections.
  void connections_of_a_rolled_back_build_drain() {
    same_backend_ = true;
    script_.answer("old verify", {abi::Code::kNeedFull});
    CPPUNIT_ASSERT(!swap().status.ok());
    script_.await("old retire later but nft/ip/old");
    expect_old_active();
  }

  void a_stopping_daemon_does_not_roll_back() {
    script_.claims["new"] = script_.claims["old"];
    script_.hang("new verify");
    bool swapped = true;
    std::thread swapping([&] { swapped = swap().status.ok(); });
    script_.await("new verify");
    swapper_->stop();
    // The swap reads the clock each time before it checks whether it has to stop.
    const std::size_t reads = clock_.reads(swapping.get_id());
    const bool checked = test::wait_until([&] { return clock_.reads(swapping.get_id()) >= reads + 2; });
    const auto pause = test::stretched_at_most(200ms, 3s);
    std::this_thread::sleep_for(pause);  // fixed time: from the check to the end of the wait
    script_.go_on();
    swapping.join();
    CPPUNIT_ASSERT(checked);
    CPPUNIT_ASSERT(!swapped);
    script_.await("new release");
    CPPUNIT_ASSERT(retirement_->list().empty());
    const std::string calls = script_.take();
    CPPUNIT_ASSERT_MESSAGE(calls, calls.find("retire") == std::string::npos);
    CPPUNIT_ASSERT_MESSAGE(calls, calls.find("old apply") == std::string::npos);
    CPPUNIT_ASSERT_EQUAL(std::string("new arrives with nft/ip/old"), notes());
  }

  void a_stopping_daemon_cancels_the_apply_of_the_new_backend() {
    script_.waits_for_cancel = "new";
    const test::CapturedLog log;
    bool swapped = true;
    std::thread swapping([&] { swapped = swap().status.ok(); });
    script_.await("new apply full");
    swapper_->stop();
    swapping.join();
    CPPUNIT_ASSERT(!swapped);
    const std::string calls = script_.take();
    CPPUNIT_ASSERT_MESSAGE(calls, calls.ends_with("new cancelled, new release"));
    const std::string text = log.text();
    CPPUNIT_ASSERT_MESSAGE(text, text.find("ERROR") == std::string::npos && text.find("WARN") == std::string::npos);
  }

  void a_failed_swap_cancels_the_apply_of_the_new_backend() {
    make_swapper(50ms);
    script_.waits_for_cancel = "new";
    const auto result = swap();
    CPPUNIT_ASSERT(result.failed_at == Step::apply);
    script_.await("new cancelled");
    await_note("new undone");
    expect_old_active();
  }

  void with_shared_artifacts_the_apply_of_the_old_backend_is_cancelled() {
    script_.claims["new"] = script_.claims["old"];
    script_.hang("new claims");
    bool swapped = false;
    std::thread swapping([&] { swapped = swap().status.ok(); });
    script_.await("new claims");
    script_.waits_for_cancel = "old";
    store().deliver(model::Upsert{test::service("later")});
    script_.await("old apply delta");
    script_.go_on();
    swapping.join();
    CPPUNIT_ASSERT(swapped);
    const std::string calls = script_.take();
    CPPUNIT_ASSERT_MESSAGE(calls, calls.find("old cancelled") < calls.find("new apply full"));
    CPPUNIT_ASSERT_MESSAGE(calls, calls.find("never cancelled") == std::string::npos);
  }

  void a_failed_verify_is_rolled_back() {
    script_.answer("new verify", {abi::Code::kNeedFull});
    const auto result = swap();
    CPPUNIT_ASSERT(result.failed_at == Step::verify);
    const std::string calls = script_.take();
    CPPUNIT_ASSERT_MESSAGE(calls, calls.ends_with("new verify, new retire later but nft/ip/old, new release"));
    expect_old_active();
  }

  void a_failed_rollback_is_retried() {
    script_.answer("new apply", {abi::Code::kKernel});
    script_.answer("new retire", {abi::Code::kKernel, abi::Code::kKernel});
    const auto result = swap();
    CPPUNIT_ASSERT(!result.status.ok());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, result.remarks.size());
    await_note("new undone");
    CPPUNIT_ASSERT_EQUAL(std::string("new arrives with nft/ip/new, new undone"), notes());
    expect_old_active();
  }

  void a_new_backend_that_hangs_is_not_called_until_it_answers() {
    script_.claims["new"] = script_.claims["old"];
    script_.hang("new apply");
    make_swapper(test::stretched_at_most(2s, 20s));
    const auto result = swap();
    CPPUNIT_ASSERT(result.failed_at == Step::apply);
    CPPUNIT_ASSERT_EQUAL(std::string("backend new (IPv4): apply: timeout: no answer"), result.status.message());
    expect_old_active();
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, retirement_->list().size());
    script_.go_on();
    await_note("new undone");
    script_.await("new release");
  }

  void a_failed_retire_does_not_roll_back_the_swap_and_is_retried() {
    script_.answer("old retire", {abi::Code::kKernel, abi::Code::kKernel});
    const auto result = swap();
    CPPUNIT_ASSERT(result.status.ok());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, result.remarks.size());
    CPPUNIT_ASSERT_MESSAGE(result.remarks[0], result.remarks[0].find("retire: scripted") != std::string::npos);
    await_note("old gone");
    CPPUNIT_ASSERT(notes().find("unclean") == std::string::npos);
  }

  void a_drain_lasts_until_the_backend_is_done_or_its_timeout() {
    script_.answer("old retire", std::deque<abi::Code>(1'000'000, abi::Code::kRetry));
    CPPUNIT_ASSERT(swap(1h).status.ok());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, retirement_->list().size());
    script_.await("old retire later but nft/ip/new");
    CPPUNIT_ASSERT(notes().find("ending") == std::string::npos);
    clock_.advance(1h);
    script_.await("old retire now but nft/ip/new");
    script_.answer("old retire", {});
    await_note("ending, old gone");
    CPPUNIT_ASSERT(notes().find("unclean") == std::string::npos);
  }

  void a_backend_with_conntrack_entries_retires_later() {
    script_.answer("old retire", std::deque<abi::Code>(1'000'000, abi::Code::kRetry));
    settled_ = false;
    CPPUNIT_ASSERT(swap(1h).status.ok());
    script_.take();  // the swap itself has called it once
    await_settled_calls();
    CPPUNIT_ASSERT_EQUAL(std::string(), retire_calls());
    settled_ = true;
    script_.await("old retire later but nft/ip/new");
    // After the drain timeout it still waits, up to settle_timeout.
    settled_ = false;
    await_settled_calls();
    script_.take();
    clock_.advance(1h);
    await_settled_calls();
    CPPUNIT_ASSERT_EQUAL(std::string(), retire_calls());
    clock_.advance(1h);
    script_.await("old retire now but nft/ip/new");
    script_.answer("old retire", {});
    await_note("old gone");
  }
  // Two whole rounds of the retirement, so that a call of the round before has ended.
  void await_settled_calls() {
    const std::uint64_t before = settled_calls_;
    CPPUNIT_ASSERT(test::wait_until([&] { return settled_calls_ >= before + 3; }));
  }
  std::string retire_calls() {
    const std::string calls = script_.take();
    return calls.find("retire") == std::string::npos ? std::string() : calls;
  }

  void affinity_clients_are_imported_twice() {
    CPPUNIT_ASSERT(swap().status.ok());
    const std::string calls = script_.take();
    CPPUNIT_ASSERT_MESSAGE(calls,
                           calls.find("old export, new import 1, new apply full, new claims, old export, new import 1, "
                                      "new verify") != std::string::npos);
  }

  void a_failed_import_of_clients_does_not_fail_the_swap() {
    script_.answer("new import", {abi::Code::kUnsupported});
    const auto result = swap();
    CPPUNIT_ASSERT(result.status.ok());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, result.remarks.size());
    const std::string calls = script_.take();
    CPPUNIT_ASSERT_MESSAGE(calls, calls.find("import") == calls.rfind("import"));
  }

  void a_backend_without_affinity_can_be_swapped() {
    script_.affinity = false;
    const auto result = swap();
    CPPUNIT_ASSERT(result.status.ok());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, result.remarks.size());
    const auto again = swap();
    CPPUNIT_ASSERT(again.status.ok());
  }

  void the_next_swap_starts_from_the_new_backend() {
    CPPUNIT_ASSERT(swap().status.ok());
    await_note("old gone");
    const auto result = swap();
    CPPUNIT_ASSERT(result.status.ok());
    CPPUNIT_ASSERT_EQUAL(std::string("new"), result.from);
  }

  MovableClock clock_;
  test::CapturedLog log_;
  Script script_;
  RunEnvironment environment_{clock_};
  RunId last_id_ = 0;
  int services_ = 0;
  bool loadable_ = true;
  bool same_backend_ = false;  // the new backend is another build of the old one
  bool recording_fails_ = false;
  std::atomic<bool> settled_{true};
  std::atomic<std::uint64_t> settled_calls_{0};
  std::shared_ptr<BackendRun> serving_;
  std::shared_ptr<BackendRun> old_;
  std::optional<Retirement> retirement_;
  std::optional<Swapper> swapper_;
  std::mutex mutex_;
  std::condition_variable noted_;
  std::string notes_;
};

CPPUNIT_TEST_SUITE_REGISTRATION(SwapperTest);

}  // namespace swapper_test
}  // namespace sluice::lifecycle
