// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include <cppunit/extensions/HelperMacros.h>

#include "sluice/sdk/sdk.hpp"

namespace sluice::sdk {
namespace backend_base_test {

int g_alive = 0;

class CountingBackend final : public BackendBase {
 public:
  explicit CountingBackend(const abi::CreateArgs& args) : BackendBase(args), options_(args.options) {
    if (options_.has("refuse")) throw Failure(abi::Code::kInvalid, "refuse", "as asked");
    ++g_alive;
  }
  ~CountingBackend() override { --g_alive; }

 private:
  abi::Code do_probe(abi::Error* error) override { return fail(error, abi::Code::kUnsupported, "", "no module"); }
  abi::Code do_apply(const abi::Transaction& transaction, const abi::NodeFacts& node, abi::ApplyResult& result,
                     abi::Error*) override {
    result.kernel_writes = transaction.generation;
    result.objects_owned = node.masquerade_mark;
    return abi::Code::kOk;
  }
  abi::Code do_verify(abi::Error*) override { return abi::Code::kOk; }
  abi::Code do_claims(abi::StringSink&, abi::Error*) override { return abi::Code::kOk; }
  abi::Code do_retire(const abi::Handover&, abi::Error*) override { return abi::Code::kOk; }
  abi::Code do_cleanup(abi::Error*) override { return abi::Code::kOk; }
  void* do_extension(std::string_view id) override { return id == "com.example.x/1" ? &options_ : nullptr; }

  Options options_;
};

class BackendBaseTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(BackendBaseTest);
  CPPUNIT_TEST(create_makes_and_release_deletes_the_object);
  CPPUNIT_TEST(throwing_constructor_makes_no_object);
  CPPUNIT_TEST(result_is_written_up_to_the_size_of_the_caller);
  CPPUNIT_TEST(node_facts_of_an_older_daemon_are_zero_filled);
  CPPUNIT_TEST(extension_is_found_by_id);
  CPPUNIT_TEST(options_are_copied_and_looked_up);
  CPPUNIT_TEST_SUITE_END();

  static abi::Backend* make(const std::vector<abi::Option>& options = {}, abi::Code expected = abi::Code::kOk) {
    abi::CreateArgs args{};
    args.struct_size = sizeof(args);
    args.family = abi::Family::kIpv4;
    args.options = array(options.data(), options.size());
    abi::Backend* backend = nullptr;
    abi::Error error = empty_error();
    CPPUNIT_ASSERT(create<CountingBackend>(&args, &backend, &error) == expected);
    return backend;
  }

  void create_makes_and_release_deletes_the_object() {
    abi::Backend* const backend = make();
    CPPUNIT_ASSERT_EQUAL(1, g_alive);
    abi::Error error = empty_error();
    CPPUNIT_ASSERT(backend->probe(&error) == abi::Code::kUnsupported);
    CPPUNIT_ASSERT_EQUAL(std::string("no module"), std::string(error.message));
    backend->release();
    CPPUNIT_ASSERT_EQUAL(0, g_alive);
  }

  void throwing_constructor_makes_no_object() {
    CPPUNIT_ASSERT(make({{view("refuse"), view(""), {}, 0, 0}}, abi::Code::kInvalid) == nullptr);
    CPPUNIT_ASSERT_EQUAL(0, g_alive);
  }

  void result_is_written_up_to_the_size_of_the_caller() {
    abi::Backend* const backend = make();
    abi::NodeFacts node{};
    node.struct_size = sizeof(node);
    node.masquerade_mark = 0x4000;
    abi::Transaction transaction{};
    transaction.struct_size = sizeof(transaction);
    transaction.generation = 9;
    transaction.node = &node;
    abi::ApplyResult result{16, 0, 0, 77, 0};
    CPPUNIT_ASSERT(backend->apply(&transaction, &result, nullptr) == abi::Code::kOk);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{9}, result.kernel_writes);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{77}, result.objects_owned);
    CPPUNIT_ASSERT_EQUAL(16u, result.struct_size);
    backend->release();
  }

  void node_facts_of_an_older_daemon_are_zero_filled() {
    abi::Backend* const backend = make();
    abi::NodeFacts node{};
    node.struct_size = offsetof(abi::NodeFacts, masquerade_mark);
    node.masquerade_mark = 0x4000;  // beyond the given size
    abi::Transaction transaction{};
    transaction.struct_size = sizeof(transaction);
    transaction.node = &node;
    abi::ApplyResult result{sizeof(result), 0, 0, 77, 0};
    CPPUNIT_ASSERT(backend->apply(&transaction, &result, nullptr) == abi::Code::kOk);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, result.objects_owned);
    backend->release();
  }

  void extension_is_found_by_id() {
    abi::Backend* const backend = make();
    CPPUNIT_ASSERT(backend->extension(view("com.example.x/1")) != nullptr);
    CPPUNIT_ASSERT(backend->extension(view("com.example.x/2")) == nullptr);
    backend->release();
  }

  void options_are_copied_and_looked_up() {
    const std::vector<abi::Option> given{{view("a.b[0].c"), view("1"), {}, 0, 0},
                                         {view("empty"), abi::StringView{}, {}, 0, 0}};
    const Options options(array(given.data(), given.size()));
    CPPUNIT_ASSERT_EQUAL(std::string("1"), options.get("a.b[0].c"));
    CPPUNIT_ASSERT(options.has("empty") && !options.has("other"));
    CPPUNIT_ASSERT_EQUAL(std::string("default"), options.get("other", "default"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, options.all().size());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(BackendBaseTest);

}  // namespace backend_base_test
}  // namespace sluice::sdk
