// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Runs nft(8) to read and write the table. A call of nft is one transaction of the kernel.
#ifndef KERNEL_H
#define KERNEL_H

#include <stdint.h>

#include "ruleset.h"

struct kernel {
  sluice_family family;
  uint64_t nanoseconds;  // time spent waiting for nft
  int os_errno;          // of the last failure; 0: nft reported an error
  char problem[400];     // of the last failure
};

struct listing {
  int exists;            // whether there is a table
  uint64_t fingerprint;  // of its content, without clients of session affinity; 0 if there is no table
};

// All return 0, or -1 with `problem`.
// Lists the table. `unwanted` (may be null) receives commands that delete objects which are not in `wanted`.
int kernel_read(struct kernel* kernel, const struct names* wanted, struct listing* listing, struct text* unwanted);
int kernel_load(struct kernel* kernel, const struct text* commands);
// Tries the commands without applying them.
int kernel_check(struct kernel* kernel, const struct text* commands);
int kernel_delete_table(struct kernel* kernel);

// A checksum of both.
uint64_t checksum(const struct ruleset* ruleset, uint64_t fingerprint);

#endif
