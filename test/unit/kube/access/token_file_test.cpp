// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/access/token_file.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include "test/unit/plugin/captured_log.hpp"
#include "test/unit/sync/fake_clock.hpp"
#include "test/unit/temporary_folder.hpp"

namespace sluice::kube {
namespace token_file_test {

using namespace std::chrono_literals;

class TokenFileTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(TokenFileTest);
  CPPUNIT_TEST(a_file_is_read_again_after_fifty_seconds);
  CPPUNIT_TEST(a_rejected_token_is_read_again_at_once);
  CPPUNIT_TEST(an_unreadable_file_keeps_the_last_token_and_is_logged_once);
  CPPUNIT_TEST(an_unreadable_file_fails_if_there_is_no_previous_token);
  CPPUNIT_TEST_SUITE_END();

  Material file(const std::string& text) {
    Material out;
    out.file = out.origin = folder_.write("token", text);
    return out;
  }

  void a_file_is_read_again_after_fifty_seconds() {
    TokenFile token(file(" one\n"), clock_);
    CPPUNIT_ASSERT_EQUAL(std::string("one"), *token.token());
    folder_.write("token", "two");
    clock_.advance(49s);
    CPPUNIT_ASSERT_EQUAL(std::string("one"), *token.token());
    clock_.advance(1s);
    CPPUNIT_ASSERT_EQUAL(std::string("two"), *token.token());
  }

  void a_rejected_token_is_read_again_at_once() {
    TokenFile token(file("one"), clock_);
    CPPUNIT_ASSERT(token.token().ok());
    folder_.write("token", "two");
    token.refused("an older one");
    CPPUNIT_ASSERT_EQUAL(std::string("one"), *token.token());
    token.refused("one");
    CPPUNIT_ASSERT_EQUAL(std::string("two"), *token.token());
  }

  void an_unreadable_file_keeps_the_last_token_and_is_logged_once() {
    const test::CapturedLog log;
    TokenFile token(file("one"), clock_);
    CPPUNIT_ASSERT(token.token().ok());
    folder_.write("token", " \n");
    for (int i = 0; i < 3; ++i) {
      clock_.advance(60s);
      CPPUNIT_ASSERT_EQUAL(std::string("one"), *token.token());
    }
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), log.lines().size());
    CPPUNIT_ASSERT_MESSAGE(log.text(), log.text().find("is empty; keeping the one read before") != std::string::npos);
    folder_.write("token", "two");
    clock_.advance(60s);
    CPPUNIT_ASSERT_EQUAL(std::string("two"), *token.token());
    CPPUNIT_ASSERT_MESSAGE(log.text(),
                           log.lines().size() == 2 && log.text().find("could be read again") != std::string::npos);
  }

  void an_unreadable_file_fails_if_there_is_no_previous_token() {
    CPPUNIT_ASSERT(!TokenFile(file(""), clock_).token().ok());
    Material none;
    none.file = folder_.path("none");
    CPPUNIT_ASSERT(!TokenFile(none, clock_).token().ok());
    CPPUNIT_ASSERT(!TokenFile(file("a\r\nX-Remote-User: admin"), clock_).token().ok());
  }

  test::TemporaryFolder folder_;
  test::FakeClock clock_;
};

CPPUNIT_TEST_SUITE_REGISTRATION(TokenFileTest);

}  // namespace token_file_test
}  // namespace sluice::kube
