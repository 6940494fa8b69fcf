// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "config.h"

#include "core/plugin/backend_handle.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <functional>

#include "sluice/sdk/sdk.hpp"
#include "test/unit/plugin/captured_log.hpp"
#include "test/unit/plugin/zoo_folder.hpp"

namespace sluice::plugin {
namespace backend_handle_test {

using lib::StatusCode;
using test::require_contains;
using test::ZooFolder;

// Advances by `step` whenever it is read, so that a test chooses the duration of a call.
class SteppingClock final : public lib::Clock {
 public:
  Time now() const override { return now_ += step; }
  Duration step{0};

 private:
  mutable Time now_{};
};

// Records names, and what each object is opened with.
class Metrics final : public MetricSink {
 public:
  std::unique_ptr<BackendMetrics> open(const std::string& plugin, lib::Family family,
                                       std::shared_ptr<const MetricDeclarations> declared) override {
    names.push_back(plugin + " " + std::string(lib::family_name(family)) + " declares " +
                    std::to_string(declared == nullptr ? 0 : declared->size()));
    return std::make_unique<OfBackend>(*this);
  }
  std::vector<std::string> names;

 private:
  class OfBackend final : public BackendMetrics {
   public:
    explicit OfBackend(Metrics& all) : all_(all) {}
    void record(abi::MetricKind, std::string_view name, std::string_view, double) override {
      all_.names.emplace_back(name);
    }
    abi::MetricSeries* series(std::string_view name, const std::vector<std::string_view>&, std::string&) override {
      all_.names.push_back("series " + std::string(name));
      return nullptr;
    }
    void remove(abi::MetricSeries*) override {}

   private:
    Metrics& all_;
  };
};

class Reported final : public HostObserver {
 public:
  void resync_requested(std::string reason) override {
    text += "resync " + reason + ";";
    if (during_resync) during_resync();
  }
  void health_reported(std::string reason) override { text += "unwell " + reason + ";"; }
  void event_reported(abi::Severity, const std::string& reason, const std::string&,
                      const std::optional<ServicePortName>&) override {
    text += reason + ";";
  }
  std::string text;
  std::function<void()> during_resync;
};

class BackendHandleTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(BackendHandleTest);
  CPPUNIT_TEST(settings_and_host_reach_the_backend);
  CPPUNIT_TEST(apply_counts_writes_and_lists_failures);
  CPPUNIT_TEST(apply_reads_elements_of_another_size);
  CPPUNIT_TEST(delta_on_another_generation_needs_full);
  CPPUNIT_TEST(delta_is_not_sent_without_the_feature);
  CPPUNIT_TEST(family_without_feature_is_rejected);
  CPPUNIT_TEST(claims_are_sorted_without_duplicates);
  CPPUNIT_TEST(retire_passes_claims_and_drain_time);
  CPPUNIT_TEST(prepare_is_optional);
  CPPUNIT_TEST(inspection_returns_lines_and_is_optional);
  CPPUNIT_TEST(counters_and_drift_are_selected_and_bounded);
  CPPUNIT_TEST(an_explanation_needs_exactly_one_verdict);
  CPPUNIT_TEST(lines_are_only_for_frontends);
  CPPUNIT_TEST(a_retiring_backend_is_not_inspected);
  CPPUNIT_TEST(failed_create_returns_its_reason);
  CPPUNIT_TEST(errno_text_is_not_repeated);
  CPPUNIT_TEST(throwing_create_returns_its_reason);
  CPPUNIT_TEST(create_without_a_backend_is_a_defect);
  CPPUNIT_TEST(garbage_of_create_is_ignored);
  CPPUNIT_TEST(exception_in_a_method_becomes_a_code);
  CPPUNIT_TEST(unknown_code_and_missing_reason_are_reported);
  CPPUNIT_TEST(unterminated_error_text_is_truncated);
  CPPUNIT_TEST(error_text_becomes_one_line);
  CPPUNIT_TEST(slow_call_logs_a_warning);
  CPPUNIT_TEST(slow_call_in_progress_is_overdue);
  CPPUNIT_TEST(no_call_in_progress_is_not_overdue);
  CPPUNIT_TEST(last_backend_unmaps_the_library);
  CPPUNIT_TEST(backend_receives_the_predecessor_serves_flag);
  CPPUNIT_TEST(session_affinity_is_exported_and_imported);
  CPPUNIT_TEST(affinity_is_unsupported_without_the_extension);
  CPPUNIT_TEST(plugin_of_an_older_minor_works);
  CPPUNIT_TEST(declared_options_are_typed_and_have_defaults);
  CPPUNIT_TEST(invalid_options_do_not_reach_create);
  CPPUNIT_TEST(errors_of_options_have_their_place);
  CPPUNIT_TEST(flags_beyond_the_given_size_are_zero);
  CPPUNIT_TEST(draining_is_not_logged_as_a_failure);
  CPPUNIT_TEST_SUITE_END();

  ZooFolder folder_;
  SteppingClock clock_;
  Metrics metrics_;

  lib::Result<std::unique_ptr<BackendHandle>> try_make(const std::string& id, const BackendSettings& settings = {},
                                                       HostObserver* observer = nullptr) {
    folder_.add(id);
    auto plugin = load_plugin(folder_.request(id));
    CPPUNIT_ASSERT_EQUAL(std::string(), plugin.status().message());
    return BackendHandle::create(std::move(plugin.value()), settings, observer, &metrics_, clock_);
  }
  std::unique_ptr<BackendHandle> make(const std::string& id, const BackendSettings& settings = {},
                                      HostObserver* observer = nullptr) {
    auto made = try_make(id, settings, observer);
    CPPUNIT_ASSERT_EQUAL(std::string(), made.status().message());
    return std::move(made.value());
  }
  std::string refusal(const std::string& id) {
    const auto made = try_make(id);
    CPPUNIT_ASSERT(!made.ok());
    return made.status().message();
  }

  static abi::NodeFacts node_facts() {
    abi::NodeFacts node{};
    node.struct_size = sizeof(node);
    node.name = sdk::view("worker-1");
    return node;
  }
  static abi::ServicePort service_port(std::string_view name, const std::vector<abi::Endpoint>& endpoints) {
    abi::ServicePort port{};
    port.key = {sdk::view("shop"), sdk::view(name), sdk::view("http"), abi::Protocol::kTcp, {}};
    port.endpoints = sdk::array(endpoints.data(), endpoints.size());
    return port;
  }
  static abi::Transaction transaction(const abi::NodeFacts& node, const std::vector<abi::ServicePort>& ports) {
    abi::Transaction full{};
    full.struct_size = sizeof(full);
    full.generation = 5;
    full.node = &node;
    full.service_ports = sdk::array(ports.data(), ports.size());
    return full;
  }

  void settings_and_host_reach_the_backend() {
    const test::CapturedLog log;
    Reported reported;
    const auto handle =
        make("good", {lib::Family::ipv6, {{"colour", "red"}}, "/run/sluice/good"}, &reported);
    CPPUNIT_ASSERT(handle->probe().ok());
    require_contains(log.text(), "INFO sluice.plugin.good sluiced " PACKAGE_VERSION " with minor " +
                                     std::to_string(abi::kMinor) + " and features 0, colour red, state in /run/sluice/good");
    CPPUNIT_ASSERT_EQUAL(std::string("Probed;resync flushed by another process;unwell hungry;unwell ;"), reported.text);
    CPPUNIT_ASSERT((metrics_.names == std::vector<std::string>{"good IPv6 declares 1", "series good_probes_total",
                                                               "probes_total"}));
    CPPUNIT_ASSERT_EQUAL(std::string("red"), handle->facts().at(0).value);
    CPPUNIT_ASSERT_EQUAL(std::string("good (IPv6)"), handle->name());
  }

  void declared_options_are_typed_and_have_defaults() {
    const test::CapturedLog log;
    const auto handle = make("options", {lib::Family::ipv4, {{"colour", "blue"}, {"names[0]", "c"}, {"future", "x"}}, ""});
    CPPUNIT_ASSERT(handle->probe().ok());
    require_contains(log.text(), "received colour=blue/5/2 future=x/1/0 names[0]=c/1/0 loud=false/2/0/default "
                                 "pause=1m30s/4/90000000000/default threads=4/3/4/default, threads 4");
  }

  void invalid_options_do_not_reach_create() {
    const auto made = try_make("options", {lib::Family::ipv4, {{"threads", "65"}}, ""});
    CPPUNIT_ASSERT_EQUAL(std::string("backend options (IPv4): create threads: '65' is not a valid value; allowed: a number of "
                                     "threads from 1 to 64"),
                         made.status().message());
    CPPUNIT_ASSERT(made.status().code() == lib::StatusCode::invalid);
  }

  // Of problems that the daemon finds, and of those that only create() finds.
  void errors_of_options_have_their_place() {
    BackendSettings settings;
    settings.option_places = {{"threads", "c.yaml:7: backends.options.threads"},
                              {"names[1]", "c.yaml:8: backends.options.names[1]"},
                              {"names", "c.yaml:8: backends.options.names"},
                              {"zoo", "c.yaml:9: backends.options.zoo"}};
    const auto error = [&](const std::string& id, decltype(settings.options) options) {
      settings.options = std::move(options);
      const auto made = try_make(id, settings);
      return made.ok() ? std::string() : made.status().message();
    };
    CPPUNIT_ASSERT_EQUAL(std::string("c.yaml:7: backends.options.threads: '65' is not a valid value; allowed: a number of threads "
                                     "from 1 to 64"),
                         error("options", {{"threads", "65"}}));
    CPPUNIT_ASSERT_EQUAL(std::string("c.yaml:8: backends.options.names[1]: 'bb' is not a valid value; allowed: a letter"),
                         error("options", {{"names[0]", "a"}, {"names[1]", "bb"}}));
    CPPUNIT_ASSERT_EQUAL(std::string("c.yaml:8: backends.options.names: cannot be combined with loud: true; remove one of them"),
                         error("options", {{"names[0]", "a"}, {"loud", "true"}}));
    // The object of another code is not an option.
    CPPUNIT_ASSERT_EQUAL(std::string("backend create_fails (IPv4): create zoo: the cage is locked: Permission denied"),
                         error("create_fails", {}));
  }

  void apply_counts_writes_and_lists_failures() {
    const auto handle = make("good");
    const abi::NodeFacts node = node_facts();
    const std::vector<abi::Endpoint> endpoints(3);
    const std::vector<abi::ServicePort> ports{service_port("cart", endpoints), service_port("empty", {})};
    const ApplyOutcome applied = handle->apply(transaction(node, ports));
    CPPUNIT_ASSERT_EQUAL(std::string(), applied.message);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{1}, applied.kernel_writes);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{1}, applied.objects_owned);
    CPPUNIT_ASSERT(applied.kernel_time == std::chrono::nanoseconds(5));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, applied.reports.failed.size());
    CPPUNIT_ASSERT_EQUAL(std::string("shop/empty:http"), applied.reports.failed[0].port.printed());
    CPPUNIT_ASSERT_EQUAL(std::string("no endpoint to program"), applied.reports.failed[0].message);
    CPPUNIT_ASSERT(applied.reports.served.empty());
    CPPUNIT_ASSERT(handle->apply(transaction(node, {ports[0]})).reports.failed.empty());
  }

  // A newer daemon has longer elements; the stride skips the unknown fields.
  void apply_reads_elements_of_another_size() {
    struct Longer {
      abi::ServicePort port;
      std::uint64_t added;
    };
    const auto handle = make("good");
    const abi::NodeFacts node = node_facts();
    const std::vector<abi::Endpoint> endpoints(1);
    const std::vector<Longer> ports{{service_port("a", endpoints), ~0ull}, {service_port("b", endpoints), ~0ull}};
    abi::Transaction full = transaction(node, {});
    full.service_ports = sdk::array(ports.data(), ports.size());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{2}, handle->apply(full).objects_owned);
  }

  void delta_on_another_generation_needs_full() {
    const auto handle = make("good");
    const abi::NodeFacts node = node_facts();
    abi::Transaction delta = transaction(node, {});
    CPPUNIT_ASSERT(handle->apply(delta).ok());
    delta.kind = abi::TransactionKind::kDelta;
    delta.base_generation = 5;
    delta.generation = 6;
    CPPUNIT_ASSERT(handle->apply(delta).ok());
    const ApplyOutcome again = handle->apply(delta);
    CPPUNIT_ASSERT(again.code == abi::Code::kNeedFull);
    CPPUNIT_ASSERT_EQUAL(std::string("holds generation 6"), again.message);
    CPPUNIT_ASSERT(again.status("good (IPv4)", "apply").code() == StatusCode::expired);
  }

  void delta_is_not_sent_without_the_feature() {
    const auto handle = make("ipv4_only");
    const abi::NodeFacts node = node_facts();
    abi::Transaction delta = transaction(node, {});
    delta.kind = abi::TransactionKind::kDelta;
    CPPUNIT_ASSERT(handle->apply(delta).code == abi::Code::kInvalid);
  }

  void family_without_feature_is_rejected() {
    BackendSettings settings;
    settings.family = lib::Family::ipv6;
    const auto made = try_make("ipv4_only", settings);
    CPPUNIT_ASSERT(made.status().code() == StatusCode::unsupported);
    require_contains(made.status().message(), "backend ipv4_only (IPv6): create: the plugin does not offer");
  }

  void claims_are_sorted_without_duplicates() {
    const ClaimsOutcome claimed = make("good")->claims();
    CPPUNIT_ASSERT(claimed.ok());
    CPPUNIT_ASSERT((claimed.claims == std::vector<std::string>{"zoo/a", "zoo/b"}));
  }

  void retire_passes_claims_and_drain_time() {
    const Outcome outcome = make("good")->retire({"x/1", "x/2"}, std::chrono::minutes(2));
    CPPUNIT_ASSERT(outcome.code == abi::Code::kRetry);
    CPPUNIT_ASSERT_EQUAL(
        std::string("backend good (IPv4): retire good: drain 120, claimed x/1 x/2: Resource temporarily unavailable"),
        outcome.status("good (IPv4)", "retire").message());
  }

  void prepare_is_optional() {
    test::CapturedLog log;
    BackendSettings settings;
    settings.options = {{"colour", "green"}};
    abi::NodeFacts node = node_facts();
    node.flags = abi::kNodePortsOnLocalhost;
    CPPUNIT_ASSERT(make("good", settings)->prepare(node).ok());
    require_contains(log.text(), "painted green, flags 2");
    settings.options = {{"colour", "black"}};
    CPPUNIT_ASSERT_EQUAL(
        std::string("backend good (IPv4): prepare good: no light to paint by: Permission denied"),
        make("good", settings)->prepare(node).status("good (IPv4)", "prepare").message());
    // A backend without the extension has nothing to prepare.
    CPPUNIT_ASSERT(make("ipv4_only")->prepare(node).ok());
  }

  void inspection_returns_lines_and_is_optional() {
    const auto handle = make("good");
    CPPUNIT_ASSERT(handle->inspectable());
    const InspectionOutcome nothing = handle->inspect({});
    CPPUNIT_ASSERT(nothing.lines.empty());
    CPPUNIT_ASSERT_EQUAL(
        std::string("backend good (IPv4): services good: there is nothing to see: No such file or directory"),
        nothing.status("good (IPv4)", "services").message());
    const abi::NodeFacts node = node_facts();
    const std::vector<abi::Endpoint> endpoints(2);
    CPPUNIT_ASSERT(handle->apply(transaction(node, {service_port("b", endpoints), service_port("a", endpoints)})).ok());
    CPPUNIT_ASSERT((handle->inspect({}).lines == std::vector<std::string>{"shop/a:http/tcp 2", "shop/b:http/tcp 2"}));
    CPPUNIT_ASSERT((handle->inspect({"shop/b"}).lines == std::vector<std::string>{"shop/b:http/tcp 2"}));
    CPPUNIT_ASSERT(!make("ipv4_only")->inspectable());
    // A backend whose do_extension() throws has no extensions.
    CPPUNIT_ASSERT(!make("throws")->inspectable());
  }

  std::unique_ptr<BackendHandle> with_rows(const std::string& count, const std::string& verdict = "1") {
    BackendSettings settings;
    settings.options = {{"rows", count}, {"verdict", verdict}};
    return make("good", settings);
  }

  void counters_and_drift_are_selected_and_bounded() {
    InspectionRequest counters;
    counters.kind = abi::InspectionKind::kInspectCounters;
    counters.wants = [](const InspectedKey& key) { return key.service == "odd"; };
    const InspectionOutcome odd = with_rows("5")->inspect(counters);
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, odd.counters.size());
    CPPUNIT_ASSERT(odd.counters[1].connections == 3 && odd.counters[1].key.protocol == "udp");
    InspectionRequest drift;
    drift.kind = abi::InspectionKind::kInspectDrift;
    const InspectionOutcome all = with_rows("6")->inspect(drift);
    CPPUNIT_ASSERT_EQUAL(std::size_t{6}, all.drift.size());
    // Values of another version.
    CPPUNIT_ASSERT(all.drift[0].kind == abi::DriftKind::kDriftChanged && all.drift[5].kind == all.drift[0].kind);
    CPPUNIT_ASSERT(all.drift[4].kind == abi::DriftKind::kDriftForeign && all.drift[4].count == 1);
    CPPUNIT_ASSERT_EQUAL(std::string("of kernel"), all.drift[4].object);
    CPPUNIT_ASSERT_EQUAL(std::size_t{20'000}, with_rows("20000")->inspect(drift).drift.size());
    const InspectionOutcome many = with_rows("20001")->inspect(drift);
    CPPUNIT_ASSERT(many.code == abi::Code::kRetry && many.drift.empty());
    CPPUNIT_ASSERT_EQUAL(std::string("more than 20000 rows are too many to list; ask for one Service"), many.message);
  }

  void an_explanation_needs_exactly_one_verdict() {
    InspectionRequest request;
    request.kind = abi::InspectionKind::kInspectExplanation;
    request.packet.port = 80;
    request.packet.flags = abi::kPacketOfPod;
    request.packet.client.bytes[0] = 10;
    const InspectionOutcome served = with_rows("1")->inspect(request);
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, served.steps.size());
    CPPUNIT_ASSERT_EQUAL(std::string("2 80 10.0.0.0 0.0.0.0"), served.steps[0].effect);
    CPPUNIT_ASSERT(served.steps[1].verdict == abi::InspectedVerdict::kServed);
    for (const char* const verdict : {"0", "5"}) {
      const InspectionOutcome refused = with_rows("1", verdict)->inspect(request);
      CPPUNIT_ASSERT(refused.code == abi::Code::kInternal);
      CPPUNIT_ASSERT_EQUAL(std::string("the explanation of the backend does not end with its only verdict"),
                           refused.message);
    }
  }

  void lines_are_only_for_frontends() {
    for (const auto kind : {abi::InspectionKind::kInspectCounters, abi::InspectionKind::kInspectDrift,
                            abi::InspectionKind::kInspectExplanation}) {
      InspectionRequest request;
      request.kind = kind;
      const InspectionOutcome refused = make("good")->inspect(request);
      CPPUNIT_ASSERT(refused.code == abi::Code::kUnsupported);
      CPPUNIT_ASSERT_EQUAL(std::string("the backend lists frontends only"), refused.message);
    }
  }

  void a_retiring_backend_is_not_inspected() {
    const auto handle = make("good");
    const abi::NodeFacts node = node_facts();
    const std::vector<abi::Endpoint> endpoints(2);
    CPPUNIT_ASSERT(handle->apply(transaction(node, {service_port("b", endpoints)})).ok());
    CPPUNIT_ASSERT(handle->retire({}, std::chrono::seconds(60)).code == abi::Code::kRetry);
    const InspectionOutcome refused = handle->inspect({});
    CPPUNIT_ASSERT(refused.code == abi::Code::kRetry);
    CPPUNIT_ASSERT(refused.lines.empty());
    require_contains(refused.message, "the backend is retiring");
  }

  void failed_create_returns_its_reason() {
    const auto made = try_make("create_fails");
    CPPUNIT_ASSERT(made.status().code() == StatusCode::denied);
    CPPUNIT_ASSERT_EQUAL(
        std::string("backend create_fails (IPv4): create zoo: the cage is locked: Permission denied"),
        made.status().message());
  }

  void errno_text_is_not_repeated() {
    plugin::Outcome outcome;
    outcome.code = abi::Code::kRetry;
    outcome.os_errno = ENOBUFS;
    outcome.message = "no answer";
    CPPUNIT_ASSERT_EQUAL(std::string("backend x: apply: no answer: No buffer space available"),
                         outcome.status("x", "apply").message());
    outcome.message = "no answer: No buffer space available (ENOBUFS); free some memory";
    CPPUNIT_ASSERT_EQUAL("backend x: apply: " + outcome.message, outcome.status("x", "apply").message());
  }

  void throwing_create_returns_its_reason() { require_contains(refusal("create_throws"), "create: no such animal"); }

  void create_without_a_backend_is_a_defect() {
    require_contains(refusal("create_null"), "create: it answered ok without a backend");
  }

  void garbage_of_create_is_ignored() {
    require_contains(refusal("create_garbage"), "create: the backend answered with the unknown code 99");
  }

  void exception_in_a_method_becomes_a_code() {
    const auto handle = make("throws");
    const Outcome probed = handle->probe();
    CPPUNIT_ASSERT(probed.code == abi::Code::kInternal);
    CPPUNIT_ASSERT_EQUAL(std::string("from probe"), probed.message);
    const abi::NodeFacts node = node_facts();
    const ApplyOutcome applied = handle->apply(transaction(node, {}));
    CPPUNIT_ASSERT(applied.code == abi::Code::kKernel);
    CPPUNIT_ASSERT_EQUAL(std::string("shop/cart:http"), applied.object);
    CPPUNIT_ASSERT_EQUAL(28, applied.os_errno);
    CPPUNIT_ASSERT_EQUAL(std::string("an exception of unknown type"), handle->verify().message);
    const ClaimsOutcome claimed = handle->claims();
    CPPUNIT_ASSERT(!claimed.ok() && claimed.claims.empty());
    const Outcome retired = handle->retire({}, std::chrono::seconds(0));
    CPPUNIT_ASSERT_EQUAL(ENODEV, retired.os_errno);
    CPPUNIT_ASSERT(handle->cleanup().code == abi::Code::kInternal);
  }

  void unknown_code_and_missing_reason_are_reported() {
    const auto handle = make("rude");
    const Outcome probed = handle->probe();
    CPPUNIT_ASSERT(probed.code == abi::Code::kInternal);
    require_contains(probed.message, "unknown code -3");
    CPPUNIT_ASSERT_EQUAL(std::string("the backend gave no reason (code 1)"),
                         handle->retire({}, std::chrono::seconds(0)).message);
  }

  void unterminated_error_text_is_truncated() {
    const Outcome verified = make("rude")->verify();
    CPPUNIT_ASSERT(verified.code == abi::Code::kNeedFull);
    CPPUNIT_ASSERT_EQUAL(std::string(sizeof(abi::Error::object), 'o'), verified.object);
    CPPUNIT_ASSERT_EQUAL(std::string(sizeof(abi::Error::message), 'm'), verified.message);
  }

  void error_text_becomes_one_line() {
    CPPUNIT_ASSERT_EQUAL(std::string("two lines [31m"), make("rude")->cleanup().message);
  }

  void slow_call_logs_a_warning() {
    const auto handle = make("good");
    const test::CapturedLog log;
    clock_.step = std::chrono::milliseconds(10'500);
    CPPUNIT_ASSERT(handle->verify().ok());
    clock_.step = std::chrono::seconds(0);
    CPPUNIT_ASSERT_EQUAL(
        std::string("WARN sluice.plugin backend good (IPv4): verify took 10500 ms, its limit is 10 s\n"), log.text());
  }

  // Another thread checks overdue() while the call hangs.
  void slow_call_in_progress_is_overdue() {
    Reported reported;
    std::unique_ptr<BackendHandle> handle;
    std::string before, after;
    reported.during_resync = [&] {
      before = handle->overdue();
      clock_.step = std::chrono::seconds(11);
      after = handle->overdue();
      clock_.step = std::chrono::seconds(0);
    };
    handle = make("good", {}, &reported);
    CPPUNIT_ASSERT(handle->probe().ok());
    CPPUNIT_ASSERT_EQUAL(std::string(), before);
    CPPUNIT_ASSERT_EQUAL(std::string("probe"), after);
  }

  void no_call_in_progress_is_not_overdue() {
    const auto handle = make("good");
    CPPUNIT_ASSERT(handle->verify().ok());
    clock_.step = std::chrono::hours(1);
    CPPUNIT_ASSERT_EQUAL(std::string_view(), handle->overdue());
  }

  void last_backend_unmaps_the_library() {
    auto first = make("good");
    auto plugin = first->plugin().file();
    first.reset();
    CPPUNIT_ASSERT(!test::is_mapped(plugin));
  }

  void backend_receives_the_predecessor_serves_flag() {
    const test::CapturedLog log;
    BackendSettings settings;
    settings.predecessor_serves = true;
    CPPUNIT_ASSERT(make("good", settings)->probe().ok());
    require_contains(log.text(), "in place of another");
    const test::CapturedLog without;
    CPPUNIT_ASSERT(make("good")->probe().ok());
    CPPUNIT_ASSERT(without.text().find("in place of another") == std::string::npos);
  }

  void session_affinity_is_exported_and_imported() {
    BoundClient client{"shop", "cart", "http", abi::Protocol::kUdp, {}, {}, 8080, 10};
    client.client.bytes[0] = 192;
    client.endpoint.bytes[3] = 7;
    BoundClient over = client;
    over.service = "over";
    over.remaining_seconds = 1;
    const auto first = make("good");
    CPPUNIT_ASSERT(first->import_clients({client, over}).ok());
    const BoundClientsOutcome bound = first->export_clients();
    CPPUNIT_ASSERT(bound.ok());
    // Expired bindings and those without an address are dropped.
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), bound.clients.size());
    const BoundClient& same = bound.clients[0];
    CPPUNIT_ASSERT_EQUAL(std::string("shop/cart:http"), same.name_space + "/" + same.service + ":" + same.port_name);
    CPPUNIT_ASSERT(same.protocol == abi::Protocol::kUdp);
    CPPUNIT_ASSERT_EQUAL(192, int(same.client.bytes[0]));
    CPPUNIT_ASSERT_EQUAL(7, int(same.endpoint.bytes[3]));
    CPPUNIT_ASSERT_EQUAL(8080, int(same.endpoint_port));
    CPPUNIT_ASSERT_EQUAL(std::uint32_t(9), same.remaining_seconds);
    const auto second = make("good");
    CPPUNIT_ASSERT(second->import_clients(bound.clients).ok());
    CPPUNIT_ASSERT_EQUAL(std::uint32_t(8), second->export_clients().clients.at(0).remaining_seconds);
    CPPUNIT_ASSERT_EQUAL(std::string("backend good (IPv4): import_clients good: no clients to remember"),
                         second->import_clients({}).status("good (IPv4)", "import_clients").message());
  }

  void affinity_is_unsupported_without_the_extension() {
    const auto handle = make("ipv4_only");
    const BoundClientsOutcome bound = handle->export_clients();
    CPPUNIT_ASSERT(bound.code == abi::Code::kUnsupported && bound.clients.empty());
    CPPUNIT_ASSERT_EQUAL(std::string("the backend does not support the export and import of session affinity"),
                         bound.message);
    CPPUNIT_ASSERT(handle->import_clients({}).code == abi::Code::kUnsupported);
  }

  // It reads only the fields of CreateArgs that it knows.
  void plugin_of_an_older_minor_works() {
    BackendSettings settings;
    settings.state_dir = "/run/x";
    settings.predecessor_serves = true;
    const auto handle = make("older_minor", settings);
    CPPUNIT_ASSERT(handle->probe().ok());
    CPPUNIT_ASSERT(handle->export_clients().code == abi::Code::kUnsupported);
    CPPUNIT_ASSERT_EQUAL("given " + std::to_string(sizeof(abi::CreateArgs)) + " bytes, state in /run/x",
                         handle->verify().message);
    CPPUNIT_ASSERT(handle->retire({"x/1"}, std::chrono::seconds(5)).ok());
  }

  // A daemon of an older minor has a shorter CreateArgs, and data beyond it must not be read as flags.
  void flags_beyond_the_given_size_are_zero() {
    folder_.add("good");
    const auto plugin = load_plugin(folder_.request("good"));
    const auto reported = [&](std::uint32_t struct_size) {
      const test::CapturedLog log;
      HostServices host("good", {}, nullptr, clock_);
      abi::CreateArgs args{};
      args.struct_size = struct_size;
      args.family = abi::Family::kIpv4;
      args.host = &host;
      args.flags = abi::kCreatePredecessorServes;
      abi::Backend* made = nullptr;
      abi::Error error = sdk::empty_error();
      CPPUNIT_ASSERT((*plugin)->entry().create(&args, &made, &error) == abi::Code::kOk);
      made->probe(&error);
      made->release();
      return log.text().find("in place of another") != std::string::npos;
    };
    CPPUNIT_ASSERT(!reported(offsetof(abi::CreateArgs, flags)));
    CPPUNIT_ASSERT(reported(sizeof(abi::CreateArgs)));
  }

  void draining_is_not_logged_as_a_failure() {
    const auto handle = make("good");
    const test::CapturedLog log;
    CPPUNIT_ASSERT(handle->retire({}, std::chrono::seconds(1)).code == abi::Code::kRetry);
    CPPUNIT_ASSERT_EQUAL(std::string(), log.text());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(BackendHandleTest);

}  // namespace backend_handle_test
}  // namespace sluice::plugin
