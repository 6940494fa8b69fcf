// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "lib/program.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "lib/fd.hpp"

namespace sluice::lib {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

// The interval at which the exit of the program and `stopped` are polled.
constexpr int kPollMilliseconds = 20;

struct Pipe {
  Fd reader;
  Fd writer;
};

std::optional<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  Pipe made{Fd(ends[0]), Fd(ends[1])};
  // A blocking read could exceed the timeout.
  ::fcntl(made.reader.get(), F_SETFL, O_NONBLOCK);
  return made;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const auto& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

class SpawnActions {
 public:
  SpawnActions(int input, int output, int error_output) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_adddup2(&actions_, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, error_output, STDERR_FILENO);
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
    // Descriptors of the daemon are close-on-exec; those of libraries and plugins may not be.
    posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
#endif
  }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions_); }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

// Resets the signal mask and ignored signals, and starts a process group, so that all child processes can be killed.
class SpawnAttributes {
 public:
  SpawnAttributes() {
    posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigemptyset(&none);
    sigset_t usual;
    sigemptyset(&usual);
    for (const int number : {SIGPIPE, SIGHUP, SIGINT, SIGTERM, SIGCHLD, SIGUSR1, SIGUSR2}) sigaddset(&usual, number);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &usual);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;
  ~SpawnAttributes() { posix_spawnattr_destroy(&attributes_); }
  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

// Kills and reaps the process group on destruction, unless the program has ended.
class Child {
 public:
  explicit Child(pid_t number) : number_(number) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (ended_) return;
    ::kill(-number_, SIGKILL);
    while (::waitpid(number_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  // Whether the program has ended. Stores its exit code or signal in `result`.
  bool ended(ProgramResult& result) {
    int status = 0;
    if (ended_ || ::waitpid(number_, &status, WNOHANG) != number_) return ended_;
    ended_ = true;
    if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
    return true;
  }

 private:
  const pid_t number_;
  bool ended_ = false;
};

// Reads the available bytes and keeps `limit` of them. Returns false if there were more. Closes the stream at its end.
bool drain(Fd& stream, std::string& out, std::size_t limit) {
  std::array<char, 16384> buffer;
  bool all_kept = true;
  // At most the capacity of a pipe, so that a fast writer cannot keep this loop running.
  for (int round = 0; stream.valid() && round < 64; ++round) {
    const ssize_t size = ::read(stream.get(), buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) break;
    if (size <= 0) {
      stream.reset();
      break;
    }
    const std::size_t kept = std::min(static_cast<std::size_t>(size), limit - out.size());
    out.append(buffer.data(), kept);
    if (kept < static_cast<std::size_t>(size)) all_kept = false;
  }
  return all_kept;
}

Result<ProgramResult> follow(const Program& program, Child& child, Pipe& output, Pipe& error_output,
                             const std::function<bool()>& stopped) {
  const std::string& name = program.arguments.at(0);
  const SteadyTime end = std::chrono::steady_clock::now() + program.timeout;
  ProgramResult result;
  for (;;) {
    // Checked before reading, so that all output up to the exit is read. Grandchildren that keep the streams open are
    // not waited for.
    const bool ended = child.ended(result);
    if (!drain(output.reader, result.output, program.output_limit)) {
      return invalid(name + " writes more than " + std::to_string(program.output_limit) + " bytes");
    }
    static_cast<void>(drain(error_output.reader, result.error_output, program.error_output_limit));
    if (ended) return result;
    if (stopped && stopped()) return Status(StatusCode::unavailable, "stopped", ECANCELED);
    if (std::chrono::steady_clock::now() >= end) {
      return unavailable(name + " has not ended after " + std::to_string(program.timeout.count() / 1000) + " seconds");
    }
    std::array<pollfd, 2> waiting{{{output.reader.get(), POLLIN, 0}, {error_output.reader.get(), POLLIN, 0}}};
    ::poll(waiting.data(), waiting.size(), kPollMilliseconds);
  }
}

}  // namespace

Result<ProgramResult> run_program(const Program& program, const std::function<bool()>& stopped) {
  const std::string& name = program.arguments.at(0);
  const Fd input(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  auto output = make_pipe();
  auto error_output = make_pipe();
  if (!input.valid() || !output || !error_output) return errno_status("cannot start " + name, errno);
  const SpawnActions actions(input.get(), output->writer.get(), error_output->writer.get());
  const SpawnAttributes attributes;
  pid_t number = -1;
  const int error = ::posix_spawn(&number, name.c_str(), actions.get(), attributes.get(),
                                  pointers(program.arguments).data(), pointers(program.environment).data());
  if (error != 0) return errno_status("cannot start " + name, error);
  Child child(number);
  output->writer.reset();
  error_output->writer.reset();
  return follow(program, child, *output, *error_output, stopped);
}

std::string find_program(std::string_view name, std::string_view search_path) {
  while (!search_path.empty()) {
    const auto colon = search_path.find(':');
    const std::string_view folder = search_path.substr(0, colon);
    search_path.remove_prefix(colon == std::string_view::npos ? search_path.size() : colon + 1);
    if (!folder.starts_with('/')) continue;  // never run a program from the current directory
    std::string candidate = std::string(folder).append("/").append(name);
    std::error_code ignored;
    if (std::filesystem::is_regular_file(candidate, ignored) && ::access(candidate.c_str(), X_OK) == 0) {
      return candidate;
    }
  }
  return {};
}

}  // namespace sluice::lib
