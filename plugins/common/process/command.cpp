// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/process/command.hpp"

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
#include <cstring>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>

extern char** environ;

namespace sluice::process {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kErrorOutputLimit = 64 * 1024;

[[noreturn]] void fail(int error, const std::string& what) {
  throw std::system_error(error, std::system_category(), what);
}

class Descriptor {
 public:
  explicit Descriptor(int number = -1) noexcept : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { reset(); }
  void reset() noexcept {
    if (number_ >= 0) close(std::exchange(number_, -1));
  }
  int get() const noexcept { return number_; }

 private:
  int number_;
};

struct Pipe {
  Descriptor reader;
  Descriptor writer;
};

Pipe make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail(errno, "pipe");
  Pipe made{Descriptor(ends[0]), Descriptor(ends[1])};
  return made;
}

// The input as a file in memory, so that a program that does not read cannot block the daemon.
Descriptor make_input(std::string_view input) {
  Descriptor file(input.empty() ? open("/dev/null", O_RDONLY | O_CLOEXEC) : memfd_create("input", MFD_CLOEXEC));
  if (file.get() < 0) fail(errno, "create the input of a program");
  std::size_t written = 0;
  while (written < input.size()) {
    const ssize_t now = write(file.get(), input.data() + written, input.size() - written);
    if (now < 0 && errno == EINTR) continue;
    if (now < 0) fail(errno, "write the input of a program");
    written += static_cast<std::size_t>(now);
  }
  if (lseek(file.get(), 0, SEEK_SET) < 0 && errno != ESPIPE) fail(errno, "rewind the input of a program");
  return file;
}

// The daemon's environment with the locale C, because error messages are parsed.
std::vector<std::string> make_environment() {
  std::vector<std::string> made;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view variable(*entry);
    if (variable.starts_with("LC_") || variable.starts_with("LANG")) continue;
    made.emplace_back(variable);
  }
  made.emplace_back("LC_ALL=C");
  return made;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> made;
  for (const std::string& text : texts) made.push_back(const_cast<char*>(text.c_str()));
  made.push_back(nullptr);
  return made;
}

class SpawnActions {
 public:
  SpawnActions() { posix_spawn_file_actions_init(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions_); }
  void set(const Descriptor& from, int to) {
    if (const int error = posix_spawn_file_actions_adddup2(&actions_, from.get(), to)) fail(error, "prepare a program");
  }
  // Redundant with O_CLOEXEC, but frees the daemon's ports sooner if it is killed before the exec.
  void close_others() {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
    if (const int error = posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1)) fail(error, "prepare a program");
#endif
  }
  const posix_spawn_file_actions_t* get() const noexcept { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

// No blocked or ignored signals, and a separate process group, so that Ctrl-C for the daemon
// does not interrupt a write to the kernel.
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
  const posix_spawnattr_t* get() const noexcept { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

pid_t spawn(const Command& command, const Descriptor& input, const Descriptor& output, const Descriptor& errors) {
  SpawnActions actions;
  actions.set(input, STDIN_FILENO);
  actions.set(output, STDOUT_FILENO);
  actions.set(errors, STDERR_FILENO);
  actions.close_others();
  const SpawnAttributes attributes;
  const std::vector<std::string> environment = make_environment();
  pid_t child = -1;
  const int error = posix_spawn(&child, command.arguments.at(0).c_str(), actions.get(), attributes.get(),
                                pointers(command.arguments).data(), pointers(environment).data());
  if (error != 0) fail(error, "start " + command.arguments.at(0));
  return child;
}

// A temporary thread creates the namespace and the child inherits it, so the other threads of
// the daemon keep theirs.
pid_t spawn_in_scratch_network(const Command& command, const Descriptor& input, const Descriptor& output,
                               const Descriptor& errors) {
  pid_t child = -1;
  std::exception_ptr failure;
  std::thread starter([&] {
    try {
      if (unshare(CLONE_NEWNET) != 0) fail(errno, "make a network namespace");
      child = spawn(command, input, output, errors);
    } catch (...) {
      failure = std::current_exception();
    }
  });
  starter.join();
  if (failure) std::rethrow_exception(failure);
  return child;
}

int left(Clock::time_point end) {
  const auto rest = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
  return rest < 0 ? 0 : static_cast<int>(std::min<long long>(rest, 60000));
}

// Reads both streams until both are closed; false after a timeout.
bool collect(const Command& command, Descriptor& output, Descriptor& errors, Clock::time_point end, Outcome& outcome) {
  std::array<char, 65536> buffer;
  while (output.get() >= 0 || errors.get() >= 0) {
    std::array<pollfd, 2> waiting{{{output.get(), POLLIN, 0}, {errors.get(), POLLIN, 0}}};
    const int ready = poll(waiting.data(), waiting.size(), left(end));
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) fail(errno, "wait for " + command.arguments.at(0));
    if (ready == 0 && Clock::now() >= end) return false;
    for (Descriptor* stream : {&output, &errors}) {
      if (waiting[stream == &output ? 0 : 1].revents == 0) continue;
      const ssize_t size = read(stream->get(), buffer.data(), buffer.size());
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) {
        stream->reset();
        continue;
      }
      const std::string_view piece(buffer.data(), static_cast<std::size_t>(size));
      if (stream == &errors) {
        outcome.error_output.append(piece.substr(0, kErrorOutputLimit - outcome.error_output.size()));
      } else if (command.on_output) {
        command.on_output(piece);
      } else {
        outcome.output.append(piece);
      }
    }
  }
  return true;
}

// A program that closed its streams is about to exit: poll often first, then less often.
bool reap(pid_t child, Clock::time_point end, Outcome& outcome) {
  std::chrono::microseconds pause(50);
  for (;;) {
    int status = 0;
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended < 0 && errno != EINTR) fail(errno, "wait for a program");
    if (ended == child) {
      if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
      if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
      return true;
    }
    if (Clock::now() >= end) return false;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(5000));
  }
}

// Kills the child on every exit path.
class Child {
 public:
  explicit Child(pid_t number) noexcept : number_(number) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (number_ <= 0) return;
    kill(-number_, SIGKILL);
    int status = 0;
    while (waitpid(number_, &status, 0) < 0 && errno == EINTR) {
    }
  }
  pid_t number() const noexcept { return number_; }
  void ended() noexcept { number_ = 0; }

 private:
  pid_t number_;
};

}  // namespace

Outcome run(const Command& command) {
  Outcome outcome;
  const Clock::time_point end = Clock::now() + command.timeout;
  const Descriptor input = make_input(command.input);
  Pipe output = make_pipe();
  Pipe errors = make_pipe();
  const auto start = command.scratch_network ? spawn_in_scratch_network : spawn;
  Child child(start(command, input, output.writer, errors.writer));
  output.writer.reset();
  errors.writer.reset();
  if (collect(command, output.reader, errors.reader, end, outcome) && reap(child.number(), end, outcome)) {
    child.ended();
  } else {
    outcome.timed_out = true;
  }
  return outcome;
}

std::string find_program(std::string_view name) {
  const char* path = std::getenv("PATH");
  const std::string folders = std::string(path == nullptr ? "" : path) + ":/usr/sbin:/usr/bin:/sbin:/bin";
  std::size_t begin = 0;
  while (begin <= folders.size()) {
    const std::size_t end = std::min(folders.find(':', begin), folders.size());
    const std::string_view folder(folders.data() + begin, end - begin);
    begin = end + 1;
    if (!folder.starts_with('/')) continue;  // relative entries of PATH are unsafe
    std::string candidate = std::string(folder).append("/").append(name);
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return {};
}

}  // namespace sluice::process
