// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include <cppunit/extensions/HelperMacros.h>

#include <stdexcept>

#include "sluice/sdk/sdk.hpp"

namespace sluice::sdk {
namespace error_test {

class ErrorTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ErrorTest);
  CPPUNIT_TEST(error_is_filled);
  CPPUNIT_TEST(long_text_is_truncated_and_terminated);
  CPPUNIT_TEST(truncation_does_not_split_a_character);
  CPPUNIT_TEST(nothing_is_written_beyond_the_size_of_the_caller);
  CPPUNIT_TEST(null_error_is_ignored);
  CPPUNIT_TEST(guarded_returns_codes_unchanged);
  CPPUNIT_TEST(guarded_converts_exceptions_to_codes);
  CPPUNIT_TEST_SUITE_END();

  void error_is_filled() {
    abi::Error error = empty_error();
    CPPUNIT_ASSERT(fail(&error, abi::Code::kKernel, "shop/cart", "no room", 28) == abi::Code::kKernel);
    CPPUNIT_ASSERT_EQUAL(std::string("shop/cart"), std::string(error.object));
    CPPUNIT_ASSERT_EQUAL(std::string("no room"), std::string(error.message));
    CPPUNIT_ASSERT_EQUAL(28, error.os_errno);
    set_error(&error, "", "");
    CPPUNIT_ASSERT_EQUAL(std::string(), std::string(error.object) + error.message);
    CPPUNIT_ASSERT_EQUAL(0, error.os_errno);
  }

  void long_text_is_truncated_and_terminated() {
    abi::Error error = empty_error();
    set_error(&error, std::string(1000, 'o'), std::string(1000, 'm'));
    CPPUNIT_ASSERT_EQUAL(std::string(sizeof(error.object) - 1, 'o'), std::string(error.object));
    CPPUNIT_ASSERT_EQUAL(std::string(sizeof(error.message) - 1, 'm'), std::string(error.message));
  }

  void truncation_does_not_split_a_character() {
    abi::Error error = empty_error();
    set_error(&error, std::string(sizeof(error.object) - 2, 'o') + "\xc3\xa4", "");
    CPPUNIT_ASSERT_EQUAL(std::string(sizeof(error.object) - 2, 'o'), std::string(error.object));
  }

  void nothing_is_written_beyond_the_size_of_the_caller() {
    abi::Error error{};
    std::memset(&error, 0x7a, sizeof(error));
    error.struct_size = offsetof(abi::Error, message) + 4;
    set_error(&error, "x", "abcdef");
    CPPUNIT_ASSERT_EQUAL(std::string("abc"), std::string(error.message));
    CPPUNIT_ASSERT_EQUAL('z', error.message[4]);
    error.struct_size = offsetof(abi::Error, object);
    std::memset(error.object, 0x7a, sizeof(error.object));
    set_error(&error, "x", "y");
    CPPUNIT_ASSERT_EQUAL('z', error.object[0]);
  }

  void null_error_is_ignored() { set_error(nullptr, "x", "y"); }

  void guarded_returns_codes_unchanged() {
    abi::Error error = empty_error();
    CPPUNIT_ASSERT(guarded(&error, [] { return abi::Code::kRetry; }) == abi::Code::kRetry);
    CPPUNIT_ASSERT(guarded(&error, [] {}) == abi::Code::kOk);
  }

  void guarded_converts_exceptions_to_codes() {
    abi::Error error = empty_error();
    const auto thrown = [&](auto exception) {
      error = empty_error();
      return guarded(&error, [&] { throw exception; });
    };
    CPPUNIT_ASSERT(thrown(std::runtime_error("why")) == abi::Code::kInternal);
    CPPUNIT_ASSERT_EQUAL(std::string("why"), std::string(error.message));
    CPPUNIT_ASSERT(thrown(42) == abi::Code::kInternal);
    CPPUNIT_ASSERT_EQUAL(std::string("an exception of unknown type"), std::string(error.message));
    CPPUNIT_ASSERT(thrown(Failure(abi::Code::kDenied, "eth0", "not ours", 1)) == abi::Code::kDenied);
    CPPUNIT_ASSERT_EQUAL(std::string("eth0"), std::string(error.object));
    CPPUNIT_ASSERT(thrown(std::system_error(2, std::generic_category())) == abi::Code::kInternal);
    CPPUNIT_ASSERT_EQUAL(2, error.os_errno);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ErrorTest);

}  // namespace error_test
}  // namespace sluice::sdk
