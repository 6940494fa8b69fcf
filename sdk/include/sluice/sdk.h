/* Copyright 2026 The Sluice Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Functions for backends in C11: texts, errors, and structs that grow. They are compiled into the plugin and may change
 * with each release of the SDK; <sluice/abi.h> does not.
 */
#ifndef SLUICE_SDK_H
#define SLUICE_SDK_H

#include <string.h>

#include "sluice/abi.h"

/* A view of a NUL-terminated text, which must outlive it. */
static inline struct sluice_string_view sluice_text(const char* text) {
  struct sluice_string_view view = {text, strlen(text)};
  return view;
}

/* The same of a literal, as an initializer of a static struct: {.key = SLUICE_LITERAL("threads")}. */
#define SLUICE_LITERAL(text) \
  { text, sizeof(text) - 1 }

/* A view of `count` elements of `size` bytes each, which must outlive it. */
static inline struct sluice_array_view sluice_array(const void* data, size_t count, size_t size) {
  struct sluice_array_view view = {data, count, (uint32_t)size, 0};
  return view;
}

static inline int sluice_equal(struct sluice_string_view view, const char* text) {
  size_t size = strlen(text);
  return view.size == size && (size == 0 || memcmp(view.data, text, size) == 0);
}

/* Copies a growing struct that was passed alone to a local one of `size` bytes: sluice_read(&mine, sizeof mine, given).
 * Fields that the writer did not know are zero. */
static inline void sluice_read(void* to, size_t size, const void* from) {
  uint32_t given;
  memcpy(&given, from, sizeof given);
  memset(to, 0, size);
  memcpy(to, from, given < size ? given : size);
}

/* Copies an element of an array likewise: sluice_element(&mine, sizeof mine, &array, place). `place` is below its count. */
static inline void sluice_element(void* to, size_t size, const struct sluice_array_view* array, uint64_t place) {
  memset(to, 0, size);
  memcpy(to, (const char*)array->data + place * array->stride, array->stride < size ? array->stride : size);
}

/* Copies as much of a text as fits, NUL-terminated, without splitting a UTF-8 character. */
static inline void sluice_copy_text(char* to, size_t capacity, const char* from) {
  size_t size = strlen(from);
  if (capacity == 0) return;
  if (size >= capacity) {
    size = capacity - 1;
    while (size > 0 && ((unsigned char)from[size] & 0xC0) == 0x80) --size;
  }
  memcpy(to, from, size);
  to[size] = '\0';
}

/* Fills `error`, which may be null, and returns `code`: return sluice_fail(error, SLUICE_CODE_KERNEL, …). `object` names
 * what failed and may be empty; `os_errno` is 0 if no system call failed. Writes nothing beyond error->struct_size. */
static inline sluice_code sluice_fail(struct sluice_error* error, sluice_code code, const char* object,
                                      const char* message, int os_errno) {
  const size_t object_at = offsetof(struct sluice_error, object);
  const size_t message_at = offsetof(struct sluice_error, message);
  size_t size;
  if (error == NULL || error->struct_size < object_at) return code;
  size = error->struct_size;
  error->os_errno = os_errno;
  sluice_copy_text(error->object, size < message_at ? size - object_at : sizeof error->object, object);
  if (size > message_at) {
    sluice_copy_text(error->message, size - message_at < sizeof error->message ? size - message_at : sizeof error->message,
                     message);
  }
  return code;
}

#endif
