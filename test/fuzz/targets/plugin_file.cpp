// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The content of a plugin file, which is checked before it is mapped.
#include <sys/mman.h>
#include <unistd.h>

#include "core/plugin/file_checks.hpp"
#include "lib/fd.hpp"
#include "test/fuzz/target.hpp"

namespace sluice::fuzz {
namespace {

FUZZ_TARGET(plugin_file) {
  static const lib::Fd file(memfd_create("plugin", MFD_CLOEXEC));
  static const std::string path = "/proc/self/fd/" + std::to_string(file.get());
  const bool written = ftruncate(file.get(), 0) == 0 && pwrite(file.get(), input.data(), input.size(), 0) ==
                                                            static_cast<ssize_t>(input.size());
  FUZZ_REQUIRE(written, "the file can be written");
  const lib::Status status = plugin::check_content(path);
  FUZZ_REQUIRE(status.ok() || status.message().starts_with("plugin " + path + ": "), "a refusal names the file");
}

}  // namespace
}  // namespace sluice::fuzz
