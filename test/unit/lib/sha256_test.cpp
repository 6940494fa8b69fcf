// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "lib/sha256.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace sluice::lib {
namespace sha256_test {

class Sha256Test : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(Sha256Test);
  CPPUNIT_TEST(known_sums);
  CPPUNIT_TEST(files_have_the_hash_of_their_content);
  CPPUNIT_TEST(other_file_types_are_rejected_without_blocking);
  CPPUNIT_TEST_SUITE_END();

  std::filesystem::path folder_;

 public:
  void setUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "sluice-test-XXXXXX").string();
    CPPUNIT_ASSERT(::mkdtemp(name.data()) != nullptr);
    folder_ = name;
  }
  void tearDown() override { std::filesystem::remove_all(folder_); }

  void known_sums() {  // FIPS 180-2
    CPPUNIT_ASSERT_EQUAL(std::string("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"), sha256(""));
    CPPUNIT_ASSERT_EQUAL(std::string("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"), sha256("abc"));
    CPPUNIT_ASSERT_EQUAL(std::string("cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
                         sha256(std::string(1'000'000, 'a')));
  }

  void files_have_the_hash_of_their_content() {
    for (const std::size_t size : {0u, 1u, 65535u, 65536u, 65537u, 300'000u}) {
      const std::string text(size, 'x');
      std::ofstream(folder_ / "f", std::ios::trunc) << text;
      const auto sum = file_sha256((folder_ / "f").string());
      CPPUNIT_ASSERT(sum.ok());
      CPPUNIT_ASSERT_EQUAL(sha256(text), *sum);
    }
  }

  void other_file_types_are_rejected_without_blocking() {
    const std::string missing = (folder_ / "no").string();
    CPPUNIT_ASSERT_EQUAL("cannot read " + missing + ": No such file or directory", file_sha256(missing).status().message());
    CPPUNIT_ASSERT(file_sha256(folder_.string()).status().message().ends_with("it is not a regular file"));
    const std::string fifo = (folder_ / "fifo").string();
    CPPUNIT_ASSERT_EQUAL(0, ::mkfifo(fifo.c_str(), 0600));
    CPPUNIT_ASSERT(!file_sha256(fifo).ok());  // without a writer
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(Sha256Test);

}  // namespace sha256_test
}  // namespace sluice::lib
