// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0
//
// The first process of a pod: keeps its namespaces, collects ended processes, and ends on request.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void end(int number) {
  (void)number;
  _exit(0);
}

static void reap(int number) {
  (void)number;
  while (waitpid(-1, 0, WNOHANG) > 0) {
  }
}

int main(void) {
  signal(SIGINT, end);
  signal(SIGTERM, end);
  signal(SIGCHLD, reap);
  for (;;) {
    pause();
  }
}
