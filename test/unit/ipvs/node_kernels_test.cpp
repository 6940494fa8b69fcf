// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/node_kernels.hpp"

#include <cppunit/extensions/HelperMacros.h>
#include <sys/resource.h>

#include <cerrno>
#include <optional>

#include "sluice/sdk/error.hpp"

namespace sluice::ipvs {
namespace node_kernels_test {

// No more files or sockets.
class NoFiles {
 public:
  NoFiles() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit none{0, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoFiles() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

class NodeKernelsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(NodeKernelsTest);
  CPPUNIT_TEST(addresses_that_cannot_be_read_are_a_failure);
  CPPUNIT_TEST_SUITE_END();

  void addresses_that_cannot_be_read_are_a_failure() {
    const NodeKernels kernels = node_kernels(abi::Family::kIpv4);
    CPPUNIT_ASSERT_NO_THROW(kernels.local_addresses());
    std::optional<sdk::Failure> failure;
    {
      const NoFiles none;
      try {
        kernels.local_addresses();
      } catch (const sdk::Failure& caught) {
        failure = caught;
      }
    }
    CPPUNIT_ASSERT(failure && failure->code() == abi::Code::kRetry);
    CPPUNIT_ASSERT_EQUAL(EMFILE, failure->os_errno());
    CPPUNIT_ASSERT_EQUAL(std::string("node addresses"), failure->object());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(NodeKernelsTest);

}  // namespace node_kernels_test
}  // namespace sluice::ipvs
