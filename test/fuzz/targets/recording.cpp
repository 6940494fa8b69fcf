// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A recording: as a file, like --check and --replay read it, and line by line.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "core/kube/recording/recording_line.hpp"
#include "core/kube/recording/recording_reader.hpp"
#include "lib/fd.hpp"
#include "test/fuzz/target.hpp"

namespace sluice::fuzz {
namespace {

void require_header(kube::RecordingLineParser& parser, std::string_view line) {
  const auto header = parser.parse_header(line);
  if (!header) {
    FUZZ_REQUIRE(!header.status().message().empty(), "a refusal of the header says why");
    return;
  }
  std::string printed = kube::header_line(*header);
  printed.pop_back();
  const auto again = parser.parse_header(printed);
  FUZZ_REQUIRE(again && again->node == header->node && again->program == header->program &&
                   again->started == header->started,
               "a header survives printing");
}

void require_lines(std::string_view text) {
  kube::RecordingLineParser parser;
  lib::Clock::Duration before{};
  for (std::size_t end = 0; !text.empty(); text.remove_prefix(end)) {
    const std::string_view line = text.substr(0, text.find('\n'));
    end = std::min(line.size() + 1, text.size());
    require_header(parser, line);
    const auto read = parser.parse_line(line, before);
    if (!read) continue;
    FUZZ_REQUIRE(read->since_start >= lib::Clock::Duration::zero(), "no event is before the start");
    before = read->since_start;
  }
}

void require_file(std::string_view text) {
  static const lib::Fd file(memfd_create("recording", MFD_CLOEXEC));
  static const std::string path = "/proc/self/fd/" + std::to_string(file.get());
  const bool written = ftruncate(file.get(), 0) == 0 &&
                       pwrite(file.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
  FUZZ_REQUIRE(written, "the file can be written");
  for (const std::string& problem : kube::check_recording(path)) {
    FUZZ_REQUIRE(problem.find(path) != std::string::npos, "a problem names the file");
  }
}

FUZZ_TARGET(recording) {
  require_lines(input);
  require_file(input);
}

}  // namespace
}  // namespace sluice::fuzz
