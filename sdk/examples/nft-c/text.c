// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "text.h"

#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Makes room for `more` bytes and a NUL. Returns 0 if memory is exhausted.
static int reserve(struct text* text, size_t more) {
  size_t capacity = text->capacity == 0 ? 256 : text->capacity;
  char* data;
  if (text->failed) return 0;
  while (capacity <= text->size + more) capacity *= 2;
  if (capacity == text->capacity) return 1;
  data = realloc(text->data, capacity);
  text->failed = data == NULL;
  if (data == NULL) return 0;
  text->data = data;
  text->capacity = capacity;
  return 1;
}

void text_add(struct text* text, const char* format, ...) {
  va_list values;
  int size;
  va_start(values, format);
  size = vsnprintf(NULL, 0, format, values);
  va_end(values);
  if (size < 0) text->failed = 1;
  if (size < 0 || !reserve(text, (size_t)size)) return;
  va_start(values, format);
  vsnprintf(text->data + text->size, (size_t)size + 1, format, values);
  va_end(values);
  text->size += (size_t)size;
}

void text_append(struct text* text, const struct text* other) {
  text->failed |= other->failed;
  if (other->size == 0 || !reserve(text, other->size)) return;
  memcpy(text->data + text->size, other->data, other->size + 1);
  text->size += other->size;
}

void text_clear(struct text* text) {
  free(text->data);
  memset(text, 0, sizeof *text);
}

const char* text_of(const struct text* text) { return text->data == NULL ? "" : text->data; }

static int compare(const void* one, const void* other) { return strcmp(one, other); }

int names_add(struct names* names, const char* name) {
  char* copy = strdup(name);
  char** place = copy == NULL ? NULL : tsearch(copy, &names->root, compare);
  if (place != NULL && *place == copy) return 1;
  names->failed |= place == NULL;
  free(copy);
  return 0;
}

int names_has(const struct names* names, const char* name) { return tfind(name, &names->root, compare) != NULL; }

void names_clear(struct names* names) {
  tdestroy(names->root, free);
  memset(names, 0, sizeof *names);
}
