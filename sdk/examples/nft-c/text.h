// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A text that grows, and a set of names. When memory is exhausted, they are marked as failed and ignore further calls,
// so that only the last of many calls needs a check.
#ifndef TEXT_H
#define TEXT_H

#include <stddef.h>

struct text {
  char* data;  // NUL-terminated, or NULL if nothing was added
  size_t size;
  size_t capacity;
  int failed;
};

__attribute__((format(printf, 2, 3))) void text_add(struct text* text, const char* format, ...);
void text_append(struct text* text, const struct text* other);
void text_clear(struct text* text);
// The text, never NULL.
const char* text_of(const struct text* text);

struct names {
  void* root;  // of tsearch(3)
  int failed;
};

// Returns 0 if the name is already in the set.
int names_add(struct names* names, const char* name);
int names_has(const struct names* names, const char* name);
void names_clear(struct names* names);

#endif
