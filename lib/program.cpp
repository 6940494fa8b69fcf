// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "lib/program.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <thread>

#include "lib/fd.hpp"
#include "lib/files.hpp"
#include "lib/mutex.hpp"

extern char** environ;

namespace sluice::lib {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

// The interval at which the exit of the program and `stopped` are polled.
constexpr int kPollMilliseconds = 20;

constexpr std::chrono::seconds kStartLimit{1};

struct Starting {
  Mutex mutex;
  ConditionVariable changed;
  int count SLUICE_GUARDED_BY(mutex) = 0;
};

Starting& starting() {
  static Starting out;
  return out;
}

struct Pipe {
  Fd reader;
  Fd writer;
};

// The input as a file in memory, so that a program that does not read cannot block the daemon. Not valid after an
// error.
Fd make_input(std::string_view input) {
  if (input.empty()) return Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  Fd file(::memfd_create("input", MFD_CLOEXEC));
  if (file.valid() && (write_all(file.get(), input) < input.size() || ::lseek(file.get(), 0, SEEK_SET) < 0)) return {};
  return file;
}

std::vector<std::string> environment_in_locale_c() {
  std::vector<std::string> out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view variable(*entry);
    if (!variable.starts_with("LC_") && !variable.starts_with("LANG")) out.emplace_back(variable);
  }
  out.emplace_back("LC_ALL=C");
  return out;
}

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
    // Descriptors of the daemon are close-on-exec; those of libraries and plugins may not be. The others are closed as
    // well: this frees the daemon's ports sooner if it is killed before the exec.
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
  // Whether the program has ended; stores its exit code or signal in `result`.
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

// Reads what is there and passes it to `keep`, until that returns false. Closes the stream at its end.
template <class Keep>
bool drain(Fd& stream, const Keep& keep) {
  std::array<char, 65536> buffer;
  // At most the capacity of a pipe, so that a fast writer cannot keep this loop running.
  for (int round = 0; stream.valid() && round < 16; ++round) {
    const ssize_t size = ::read(stream.get(), buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) break;
    if (size <= 0) {
      stream.reset();
    } else if (!keep(std::string_view(buffer.data(), static_cast<std::size_t>(size)))) {
      return false;
    }
  }
  return true;
}

Result<ProgramResult> follow(const Program& program, Child& child, Fd& output, Fd& error_output,
                             const std::function<bool()>& stopped) {
  const SteadyTime end = std::chrono::steady_clock::now() + program.timeout;
  ProgramResult result;
  const auto keep_output = [&](std::string_view piece) {
    if (program.on_output) {
      program.on_output(piece);
    } else if (piece.size() > program.output_limit - result.output.size()) {
      return false;
    } else {
      result.output.append(piece);
    }
    return true;
  };
  const auto keep_error_output = [&](std::string_view piece) {
    result.error_output.append(piece.substr(0, program.error_output_limit - result.error_output.size()));
    return true;
  };
  std::chrono::microseconds pause(50);
  for (;;) {
    // Checked before reading, so that all output up to the exit is read. Grandchildren that keep the streams open are
    // not waited for.
    const bool ended = child.ended(result);
    if (!drain(output, keep_output)) {
      return invalid(program.arguments[0] + " writes more than " + std::to_string(program.output_limit) + " bytes");
    }
    static_cast<void>(drain(error_output, keep_error_output));
    if (ended) return result;
    if (stopped && stopped()) return Status(StatusCode::unavailable, "stopped", ECANCELED);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
    if (left <= 0) {
      result.timed_out = true;
      return result;
    }
    if (output.valid() || error_output.valid()) {
      std::array<pollfd, 2> waiting{{{output.get(), POLLIN, 0}, {error_output.get(), POLLIN, 0}}};
      ::poll(waiting.data(), waiting.size(), static_cast<int>(std::min<long long>(left, kPollMilliseconds)));
    } else {
      // A program that closed its streams is about to exit: check often first, then less often.
      std::this_thread::sleep_for(pause);
      pause = std::min(pause * 2, std::chrono::microseconds(5000));
    }
  }
}

}  // namespace

Result<ProgramResult> run_program(const Program& program, const std::function<bool()>& stopped) {
  const std::string action = "cannot start " + program.arguments.at(0);
  const Fd input = make_input(program.input);
  if (!input.valid()) return errno_status(action, errno);
  auto output = make_pipe();
  auto error_output = make_pipe();
  if (!output || !error_output) return errno_status(action, errno);
  const SpawnActions actions(input.get(), output->writer.get(), error_output->writer.get());
  const SpawnAttributes attributes;
  const auto environment = program.environment ? *program.environment : environment_in_locale_c();
  pid_t number = -1;
  const auto spawn = [&] {
    const StartingProgram starting;
    return ::posix_spawn(&number, program.arguments[0].c_str(), actions.get(), attributes.get(),
                         pointers(program.arguments).data(), pointers(environment).data());
  };
  int error = 0;
  if (program.scratch_network) {
    // The thread creates the namespace and the program inherits it, so the other threads keep theirs.
    std::thread([&] { error = ::unshare(CLONE_NEWNET) != 0 ? errno : spawn(); }).join();
  } else {
    error = spawn();
  }
  if (error != 0) return errno_status(action, error);
  Child child(number);
  output->writer.reset();
  error_output->writer.reset();
  return follow(program, child, output->reader, error_output->reader, stopped);
}

StartingProgram::StartingProgram() {
  const Lock lock(starting().mutex);
  ++starting().count;
}

StartingProgram::~StartingProgram() {
  const Lock lock(starting().mutex);
  --starting().count;
  starting().changed.notify_all();
}

void await_starting_programs() {
  const auto end = std::chrono::steady_clock::now() + kStartLimit;
  const Lock lock(starting().mutex);
  while (starting().count > 0 && starting().changed.wait_until(starting().mutex, end)) {
  }
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

std::string find_program(std::string_view name) {
  const char* path = std::getenv("PATH");
  return find_program(name, std::string(path == nullptr ? "" : path) + ":/usr/sbin:/usr/bin:/sbin:/bin");
}

}  // namespace sluice::lib
