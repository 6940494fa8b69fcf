// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char** environ;

// ---- the program --------------------------------------------------------------------------------------------------

static int failed(struct kernel* kernel, const char* what, int saved) {
  kernel->os_errno = saved;
  snprintf(kernel->problem, sizeof kernel->problem, "%s: %s", what, strerror(saved));
  return -1;
}

static int write_all(int fd, const struct text* text) {
  for (size_t done = 0; done < text->size;) {
    const ssize_t size = write(fd, text->data + done, text->size - done);
    if (size < 0 && errno != EINTR) return -1;
    if (size > 0) done += (size_t)size;
  }
  return lseek(fd, 0, SEEK_SET) < 0 ? -1 : 0;
}

static int read_all(int fd, struct text* text) {
  char part[16384];
  ssize_t size;
  if (lseek(fd, 0, SEEK_SET) < 0) return -1;
  while ((size = read(fd, part, sizeof part - 1)) != 0) {
    if (size < 0 && errno != EINTR) return -1;
    if (size <= 0) continue;
    part[size] = '\0';
    text_add(text, "%s", part);
  }
  return 0;
}

// A process of the daemon has threads, so the child must not run code of this plugin: posix_spawn() does all between
// fork and exec. The child must not inherit blocked signals, nor that SIGPIPE is ignored.
static int spawn(pid_t* pid, char* const* arguments, const int* fds) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t signals;
  int result = posix_spawn_file_actions_init(&actions);
  if (result != 0) return result;
  result = posix_spawnattr_init(&attributes);
  if (result != 0) {
    posix_spawn_file_actions_destroy(&actions);
    return result;
  }
  for (int i = 0; i < 3 && result == 0; ++i) result = posix_spawn_file_actions_adddup2(&actions, fds[i], i);
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&attributes, &signals);
  sigaddset(&signals, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &signals);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  if (result == 0) result = posix_spawnp(pid, "nft", &actions, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return result;
}

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

// Runs nft with files in memory instead of pipes, which would need a loop to avoid a deadlock. Standard output and
// standard error are fds[1] and fds[2].
static int run_with(struct kernel* kernel, char* const* arguments, const struct text* input, struct text* output,
                    const int* fds) {
  struct text message = {0};
  const uint64_t begun = now();
  pid_t pid;
  int status, result;
  if (write_all(fds[0], input) != 0) return failed(kernel, "write the input of nft", errno);
  result = spawn(&pid, arguments, fds);
  if (result != 0) return failed(kernel, "run nft (package nftables)", result);
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return failed(kernel, "wait for nft", errno);
  }
  kernel->nanoseconds += now() - begun;
  if (read_all(fds[1], output) != 0 || read_all(fds[2], &message) != 0) {
    text_clear(&message);
    return failed(kernel, "read the output of nft", errno);
  }
  if (output->failed) {
    text_clear(&message);
    return failed(kernel, "read the output of nft", ENOMEM);
  }
  kernel->os_errno = 0;
  snprintf(kernel->problem, sizeof kernel->problem, "nft: %s", message.size == 0 ? "no message" : text_of(&message));
  text_clear(&message);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

static int run(struct kernel* kernel, char* const* arguments, const struct text* input, struct text* output) {
  int fds[3], result = 0, count;
  if (input->failed) return failed(kernel, "make the input of nft", ENOMEM);
  for (count = 0; count < 3; ++count) {
    fds[count] = memfd_create("nft", MFD_CLOEXEC);
    if (fds[count] < 0) {
      result = failed(kernel, "make a file in memory", errno);
      break;
    }
  }
  if (result == 0) result = run_with(kernel, arguments, input, output, fds);
  while (count > 0) close(fds[--count]);
  return result;
}

static int run_commands(struct kernel* kernel, char* const* arguments, const struct text* commands) {
  struct text output = {0};
  const int result = run(kernel, arguments, commands, &output);
  text_clear(&output);
  return result;
}

int kernel_load(struct kernel* kernel, const struct text* commands) {
  return run_commands(kernel, (char*[]){"nft", "-f", "-", NULL}, commands);
}

int kernel_check(struct kernel* kernel, const struct text* commands) {
  return run_commands(kernel, (char*[]){"nft", "--check", "-f", "-", NULL}, commands);
}

int kernel_delete_table(struct kernel* kernel) {
  struct text commands = {0};
  int result;
  // "add", so that it works if there is no table.
  text_add(&commands, "add table %s " TABLE "\ndelete table %s " TABLE "\n", ruleset_family(kernel->family),
           ruleset_family(kernel->family));
  result = kernel_load(kernel, &commands);
  text_clear(&commands);
  return result;
}

// ---- the listing --------------------------------------------------------------------------------------------------

// FNV-1a. It detects accidents, not attacks: a process that can change the table can stop the daemon, too.
static uint64_t mix(uint64_t hash, const char* data, size_t size) {
  for (size_t i = 0; i < size; ++i) hash = (hash ^ (unsigned char)data[i]) * 0x100000001b3u;
  return hash;
}
#define MIX_START 0xcbf29ce484222325u

uint64_t checksum(const struct ruleset* ruleset, uint64_t fingerprint) {
  uint64_t hash = mix(MIX_START, text_of(&ruleset->definitions), ruleset->definitions.size);
  hash = mix(hash, text_of(&ruleset->content), ruleset->content.size);
  return mix(hash, (const char*)&fingerprint, sizeof fingerprint);
}

struct reader {
  const struct kernel* kernel;
  const struct names* wanted;
  struct listing* listing;
  struct text* unwanted;
  char name[256];     // of the object that is listed
  uint64_t place;     // a hash of its name
  int has_clients;    // a set of session affinity
  int in_elements;
  uint64_t elements;  // a sum: the kernel lists elements in any order
};

// "\tchain dispatch {"
static void read_header(struct reader* reader, const char* line, size_t size) {
  char sort[16];
  char copy[300];
  snprintf(copy, sizeof copy, "%.*s", (int)size, line);
  if (sscanf(copy, "\t%15s %255s {", sort, reader->name) != 2) return;
  reader->place = mix(MIX_START, line, size);
  reader->has_clients = strncmp(reader->name, "aff-", 4) == 0;
  if (reader->unwanted != NULL && !names_has(reader->wanted, reader->name)) {
    text_add(reader->unwanted, "delete %s %s " TABLE " %s\n", sort, ruleset_family(reader->kernel->family), reader->name);
  }
}

// One or more elements: "10.96.0.80 . tcp . 80 : goto svc-10.96.0.80-tcp-80,". A comma is only between elements.
static void read_elements(struct reader* reader, const char* line, size_t size) {
  const char* const end = line + size;
  while (line < end) {
    const char* stop = memchr(line, ',', (size_t)(end - line));
    if (stop == NULL) stop = end;
    while (line < stop && (*line == '\t' || *line == ' ')) ++line;
    if (stop - line >= 2 && memcmp(stop - 2, " }", 2) == 0) stop -= 2;
    if (line < stop && !reader->has_clients) reader->elements += mix(reader->place, line, (size_t)(stop - line));
    line = stop;
    while (line < end && (*line == ',' || *line == ' ' || *line == '}')) ++line;
  }
}

static void read_line(struct reader* reader, const char* line, size_t size) {
  static const char begin[] = "\t\telements = { ";
  const int begins = size >= sizeof begin - 1 && memcmp(line, begin, sizeof begin - 1) == 0;
  if (size > 1 && line[0] == '\t' && line[1] != '\t' && line[1] != '}') read_header(reader, line, size);
  if (begins || reader->in_elements) {
    reader->in_elements = line[size - 1] != '}';
    read_elements(reader, begins ? line + sizeof begin - 1 : line, begins ? size - (sizeof begin - 1) : size);
  } else {
    reader->listing->fingerprint = mix(reader->listing->fingerprint, line, size);
  }
}

int kernel_read(struct kernel* kernel, const struct names* wanted, struct listing* listing, struct text* unwanted) {
  const struct text input = {0};
  struct text output = {0};
  struct reader reader = {.kernel = kernel, .wanted = wanted, .listing = listing, .unwanted = unwanted};
  const char* const arguments[] = {"nft", "--stateless", "list", "table", ruleset_family(kernel->family), TABLE, NULL};
  const int result = run(kernel, (char* const*)arguments, &input, &output);
  memset(listing, 0, sizeof *listing);
  if (result == 0) {
    const char* line = text_of(&output);
    listing->exists = 1;
    listing->fingerprint = MIX_START;
    for (const char* end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
      if (end != line) read_line(&reader, line, (size_t)(end - line));
    }
    listing->fingerprint = mix(listing->fingerprint, (const char*)&reader.elements, sizeof reader.elements);
  }
  text_clear(&output);
  if (result != 0 && kernel->os_errno == 0 && strstr(kernel->problem, "No such file or directory") != NULL) return 0;
  return result;
}
