#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs a command with the sanitizer options of the tests: the first report ends the program
# and is written to a file in a folder, because the log of a daemon is not checked for
# reports. Usage: watched.sh FOLDER|- COMMAND… ("-": to standard error)
set -eu
src=$(cd "$(dirname "$0")/../.." && pwd)
reports=$1
shift

common=halt_on_error=1:handle_abort=1:print_suppressions=0
if [ "$reports" != - ]; then
  mkdir -p "$reports"
  common=$common:log_path=$(cd "$reports" && pwd)/report
fi
# A report shows the last eight calls before an allocation: each allocation records them.
ASAN_OPTIONS=$common:malloc_context_size=8:detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1
ASAN_OPTIONS=$ASAN_OPTIONS:check_initialization_order=1:strict_init_order=1
# Clang has one runtime for address and undefined. GCC has two, and its second one ignores
# log_path, so unattended runs need clang.
UBSAN_OPTIONS=$common:print_stacktrace=1
LSAN_OPTIONS=$common:suppressions=$src/test/sanitizers/lsan.supp
TSAN_OPTIONS=$common:second_deadlock_stack=1:history_size=4:suppressions=$src/test/sanitizers/tsan.supp
# Makes tests skip their measurements, which the sanitizer would distort.
SLUICE_WATCHED=1
export ASAN_OPTIONS UBSAN_OPTIONS LSAN_OPTIONS TSAN_OPTIONS SLUICE_WATCHED

# Programs built by GCC 12 and clang 14 fail to start if the kernel randomizes more address bits
# than their runtimes support. Containers may forbid to change that.
fixed="setarch $(uname -m) -R"
$fixed true 2>/dev/null || fixed=
exec $fixed "$@"
