// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/access/tls_files.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <filesystem>

#include "test/unit/kube/noted_observer.hpp"
#include "test/unit/kube/pem.hpp"
#include "test/unit/plugin/captured_log.hpp"
#include "test/unit/temporary_folder.hpp"

namespace sluice::kube {
namespace tls_files_test {

class TlsFilesTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(TlsFilesTest);
  CPPUNIT_TEST(replaced_files_are_detected);
  CPPUNIT_TEST(a_half_replaced_pair_keeps_the_old_one_and_is_logged_once);
  CPPUNIT_TEST(a_broken_ca_keeps_the_old_one);
  CPPUNIT_TEST(a_reload_of_the_ca_is_reported);
  CPPUNIT_TEST(unusable_files_fail_if_there_is_no_previous_content);
  CPPUNIT_TEST(an_expired_certificate_is_logged_once_with_subject_and_date);
  CPPUNIT_TEST_SUITE_END();

  Material file(const std::string& name, const std::string& text) {
    Material out;
    out.file = out.origin = folder_.write(name, text);
    return out;
  }
  TlsFiles files(const test::Pem& pem) {
    return {file("ca.crt", pem.certificate), file("c.crt", pem.certificate), file("c.key", pem.key)};
  }

  void replaced_files_are_detected() {
    const test::CapturedLog log;
    const auto before = test::make_pem("before");
    const auto after = test::make_pem("after");
    auto files = this->files(before);
    CPPUNIT_ASSERT_EQUAL(before.key, files.read()->key_pem);
    CPPUNIT_ASSERT_MESSAGE(log.text(), log.lines().empty());
    folder_.write("c.crt", after.certificate);
    folder_.write("c.key", after.key);
    folder_.write("ca.crt", after.certificate);
    const auto now = files.read();
    CPPUNIT_ASSERT_EQUAL(after.key, now->key_pem);
    CPPUNIT_ASSERT_EQUAL(after.certificate, now->ca_pem);
    CPPUNIT_ASSERT_MESSAGE(log.text(), log.text().find("(subject CN=after, valid until ") != std::string::npos);
  }

  void a_half_replaced_pair_keeps_the_old_one_and_is_logged_once() {
    const test::CapturedLog log;
    const auto before = test::make_pem();
    const auto after = test::make_pem();
    auto files = this->files(before);
    CPPUNIT_ASSERT(files.read().ok() && !files.inconsistent());
    folder_.write("c.crt", after.certificate);
    for (int i = 0; i < 3; ++i) CPPUNIT_ASSERT_EQUAL(before.certificate, files.read()->certificate_pem);
    CPPUNIT_ASSERT(files.inconsistent());
    CPPUNIT_ASSERT_EQUAL_MESSAGE(log.text(), std::size_t(1), log.lines().size());
    CPPUNIT_ASSERT(log.text().find("the key does not belong to the certificate") != std::string::npos);
    std::filesystem::remove(folder_.path("c.key"));
    CPPUNIT_ASSERT_EQUAL(before.certificate, files.read()->certificate_pem);
    folder_.write("c.key", after.key);
    CPPUNIT_ASSERT_EQUAL(after.certificate, files.read()->certificate_pem);
    CPPUNIT_ASSERT(!files.inconsistent());
  }

  void a_broken_ca_keeps_the_old_one() {
    const test::CapturedLog log;
    const auto pem = test::make_pem();
    auto files = this->files(pem);
    CPPUNIT_ASSERT(files.read().ok());
    folder_.write("ca.crt", "");
    CPPUNIT_ASSERT_EQUAL(pem.certificate, files.read()->ca_pem);
    CPPUNIT_ASSERT_MESSAGE(log.text(), log.text().find("ca.crt: holds no CA certificate") != std::string::npos);
  }

  void a_reload_of_the_ca_is_reported() {
    test::NotedObserver noted;
    const auto after_writing = [&](TlsFiles& files, const std::string& text) {
      folder_.write("ca.crt", text);
      CPPUNIT_ASSERT(files.read().ok());
      return noted.take();
    };
    const std::string one = test::make_pem().certificate;
    TlsFiles files(file("ca.crt", one), {}, {}, &noted);
    CPPUNIT_ASSERT_EQUAL(std::string(), after_writing(files, one));  // the first time
    CPPUNIT_ASSERT_EQUAL(std::string("success unchanged\n"), after_writing(files, one));
    CPPUNIT_ASSERT_EQUAL(std::string("success updated\n"), after_writing(files, test::make_pem().certificate));
    CPPUNIT_ASSERT_EQUAL(std::string("failure empty\n"), after_writing(files, ""));
    CPPUNIT_ASSERT_EQUAL(std::string("failure ca_parse_error\n"), after_writing(files, "x"));
    std::filesystem::remove(folder_.path("ca.crt"));
    CPPUNIT_ASSERT(files.read().ok());
    CPPUNIT_ASSERT_EQUAL(std::string("failure read_error\n"), noted.take());
    // Without a file there is nothing to reload.
    Material in_place;
    in_place.inline_content = in_place.origin = one;
    TlsFiles other(in_place, {}, {}, &noted);
    for (int i = 0; i < 2; ++i) CPPUNIT_ASSERT(other.read().ok());
    CPPUNIT_ASSERT_EQUAL(std::string(), noted.take());
  }

  void unusable_files_fail_if_there_is_no_previous_content() {
    const auto pem = test::make_pem();
    CPPUNIT_ASSERT(!TlsFiles({}, file("c.crt", pem.certificate), file("c.key", test::make_pem().key)).read().ok());
    CPPUNIT_ASSERT(!TlsFiles(file("ca.crt", "x"), {}, {}).read().ok());
    CPPUNIT_ASSERT(TlsFiles({}, {}, {}).read().ok());
  }

  void an_expired_certificate_is_logged_once_with_subject_and_date() {
    const test::CapturedLog log;
    auto files = this->files(test::make_pem("old", std::chrono::seconds(-60)));
    CPPUNIT_ASSERT(files.read().ok());
    CPPUNIT_ASSERT(files.read().ok());
    CPPUNIT_ASSERT_EQUAL_MESSAGE(log.text(), std::size_t(1), log.lines().size());
    CPPUNIT_ASSERT_MESSAGE(log.text(), log.text().find("(subject CN=old, expired at 20") != std::string::npos);
  }

  test::TemporaryFolder folder_;
};

CPPUNIT_TEST_SUITE_REGISTRATION(TlsFilesTest);

}  // namespace tls_files_test
}  // namespace sluice::kube
