// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/http/system_roots.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>
#include <openssl/evp.h>
#include <openssl/opensslv.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#if OPENSSL_VERSION_MAJOR >= 3
#include <openssl/provider.h>
#endif
#include <stdlib.h>

#include <memory>

#include "test/unit/kube/pem.hpp"
#include "test/unit/skip.hpp"
#include "test/unit/temporary_folder.hpp"

namespace sluice::kube {
namespace system_roots_test {

class SystemRootsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(SystemRootsTest);
  CPPUNIT_TEST(other_code_gets_the_system_roots);
  CPPUNIT_TEST(other_code_calls_the_function_of_openssl);
  CPPUNIT_TEST(connections_get_no_roots_unless_requested);
  CPPUNIT_TEST_SUITE_END();

 public:
  // A system with one root CA.
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

  void other_code_gets_the_system_roots() {
    const Context made = context();
    CPPUNIT_ASSERT_EQUAL(1, SSL_CTX_set_default_verify_paths(made.get()));
    CPPUNIT_ASSERT_EQUAL(1, roots(made));
  }

  // Only OpenSSL's own function uses the library context of the SSL_CTX, which a plugin may have for itself: the keys
  // of the root CAs belong to a provider of that context.
  void other_code_calls_the_function_of_openssl() {
#if OPENSSL_VERSION_MAJOR >= 3
    const std::unique_ptr<OSSL_LIB_CTX, decltype(&OSSL_LIB_CTX_free)> library(OSSL_LIB_CTX_new(), OSSL_LIB_CTX_free);
    const std::unique_ptr<OSSL_PROVIDER, decltype(&OSSL_PROVIDER_unload)> provider(
        OSSL_PROVIDER_load(library.get(), "default"), OSSL_PROVIDER_unload);
    CPPUNIT_ASSERT(provider != nullptr);
    const Context made(SSL_CTX_new_ex(library.get(), nullptr, TLS_client_method()), SSL_CTX_free);
    CPPUNIT_ASSERT_EQUAL(1, SSL_CTX_set_default_verify_paths(made.get()));
    CPPUNIT_ASSERT_EQUAL(1, roots(made));
    const auto* const all = X509_STORE_get0_objects(SSL_CTX_get_cert_store(made.get()));
    const EVP_PKEY* const key = X509_get0_pubkey(X509_OBJECT_get0_X509(sk_X509_OBJECT_value(all, 0)));
    CPPUNIT_ASSERT(EVP_PKEY_get0_provider(key) == provider.get());
#else
    test::skip("OpenSSL has no library contexts before version 3");
#endif
  }

  void connections_get_no_roots_unless_requested() {
    const Context made = context();
    {
      const SkipSystemRoots skip_system_roots;
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
