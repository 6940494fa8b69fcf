// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/http/system_roots.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <stdlib.h>

#include <memory>

#include "test/unit/app/temporary_folder.hpp"
#include "test/unit/kube/pem.hpp"

namespace sluice::kube {
namespace system_roots_test {

class SystemRootsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(SystemRootsTest);
  CPPUNIT_TEST(others_get_the_roots_they_ask_for);
  CPPUNIT_TEST(we_get_none_unless_we_want_them);
  CPPUNIT_TEST_SUITE_END();

 public:
  // One root, wherever the system has its own.
  void setUp() override {
    ::setenv("SSL_CERT_FILE", folder_.write("roots.pem", test::make_pem().certificate).c_str(), 1);
    ::setenv("SSL_CERT_DIR", folder_.path("none").c_str(), 1);
  }
  void tearDown() override {
    ::unsetenv("SSL_CERT_FILE");
    ::unsetenv("SSL_CERT_DIR");
  }

 private:
  using Context = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;
  static Context context() { return {SSL_CTX_new(TLS_client_method()), SSL_CTX_free}; }
  static int roots(const Context& context) {
    return sk_X509_OBJECT_num(X509_STORE_get0_objects(SSL_CTX_get_cert_store(context.get())));
  }

  void others_get_the_roots_they_ask_for() {
    const Context made = context();
    CPPUNIT_ASSERT_EQUAL(1, SSL_CTX_set_default_verify_paths(made.get()));
    CPPUNIT_ASSERT_EQUAL(1, roots(made));
  }

  void we_get_none_unless_we_want_them() {
    const Context made = context();
    {
      const SystemRootsNotWanted not_wanted;
      CPPUNIT_ASSERT_EQUAL(1, SSL_CTX_set_default_verify_paths(made.get()));
    }
    CPPUNIT_ASSERT_EQUAL(0, roots(made));
    CPPUNIT_ASSERT_EQUAL(1, SSL_CTX_set_default_verify_paths(made.get()));
    CPPUNIT_ASSERT_EQUAL(1, roots(made));
  }

  test::TemporaryFolder folder_;
};

CPPUNIT_TEST_SUITE_REGISTRATION(SystemRootsTest);

}  // namespace system_roots_test
}  // namespace sluice::kube
