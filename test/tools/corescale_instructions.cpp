// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "corescale_instructions.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "test/unit/temporary_folder.hpp"

namespace corescale {
namespace {

// For the process under callgrind: the beginning of the names of the files to which it writes what it has counted.
constexpr const char* kPrefix = "CORESCALE_COUNTS";
constexpr int kNoProgram = 127;  // as a shell's exit status

// Callgrind appends a number to the name of each file, from 1.
std::uint64_t counted_in(const std::string& file) {
  std::ifstream in(file);
  const std::string word = "summary: ";
  for (std::string line; std::getline(in, line);) {
    if (line.compare(0, word.size(), word) == 0) return std::stoull(line.substr(word.size()));
  }
  throw std::runtime_error(file + " has no line \"" + word + "\": callgrind counted nothing");
}

// What was counted since the last call.
std::uint64_t read_counts() {
  static int files = 0;
  CALLGRIND_DUMP_STATS;
  const std::string file = std::getenv(kPrefix) + std::string(".") + std::to_string(++files);
  const std::uint64_t out = counted_in(file);
  std::filesystem::remove(file);
  return out;
}

}  // namespace

bool counts_instructions() { return RUNNING_ON_VALGRIND != 0 && std::getenv(kPrefix) != nullptr; }

int run_counted(char** words) {
  const sluice::test::TemporaryFolder folder;
  const std::string prefix = folder.path("counts");
  std::vector<std::string> command = {"valgrind", "--quiet", "--tool=callgrind", "--instr-atstart=no",
                                      "--callgrind-out-file=" + prefix, std::filesystem::read_symlink("/proc/self/exe")};
  for (++words; *words != nullptr; ++words) command.emplace_back(*words);
  std::vector<char*> pointers;
  for (std::string& word : command) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const pid_t child = fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) {
    setenv(kPrefix, prefix.c_str(), 1);
    execvp(pointers.front(), pointers.data());
    _exit(kNoProgram);
  }
  int status = 0;
  if (waitpid(child, &status, 0) < 0) throw std::system_error(errno, std::generic_category(), "waitpid");
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoProgram) {
    throw std::runtime_error("valgrind cannot run; packaging/install-deps.sh test installs it");
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

void begin_counting() {
  if (!counts_instructions()) return;
  CALLGRIND_START_INSTRUMENTATION;
  read_counts();
}

std::uint64_t end_counting() { return counts_instructions() ? read_counts() : 0; }

}  // namespace corescale
