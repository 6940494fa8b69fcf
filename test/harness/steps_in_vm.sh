#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Steps of the harness, one after the other in one virtual machine. Output of each goes to RESULTS/NAME.out and NAME.err, its
# exit status to NAME.status. A step that hangs ends the machine, and later steps do not run. Usage:
#   steps_in_vm.sh RESULTS (NAME SECONDS COMMAND)…
set -u
results=$1
shift
root=${SLUICE_VM_ROOT-}  # folder with dev and proc in the self-test, which has no machine

# note WORDS: on the kernel's console, in order with its own messages, as vm_result.py reads it.
note() {
  echo "<4>steps_in_vm: $*" >>"$root/dev/kmsg"
}

# watch NAME SECONDS PROCESS: after that time lists processes on the console, and ends the process and this script.
watch() {
  sleep "$2" &  # fixed time: the limit
  # shellcheck disable=SC2064 # the process is known now
  trap "kill $!; exit" TERM
  wait $!
  {
    echo "--- the limit of $1 has passed; processes:"
    ps -eo pid,ppid,stat,wchan:20,time,args
  } >>"$root/dev/console"
  echo w >"$root/proc/sysrq-trigger"
  echo 124 >"$results/$1.status"
  echo "the limit of $1, $2 s, passed" >&2
  kill $$ "$3"  # this script first: it must not see the end of the process, and go on
}

echo "1..$(($# / 3))"
number=0
while [ $# -gt 0 ]; do
  name=$1 seconds=$2 command=$3
  shift 3
  number=$((number + 1))
  note "$name begins"
  sh -c "$command" >"$results/$name.out" 2>"$results/$name.err" &
  step=$!
  watch "$name" "$seconds" $step &
  watchdog=$!
  wait $step
  status=$?
  kill $watchdog
  note "$name has ended"
  echo $status >"$results/$name.status"
  echo "ok $number - $name has run"
done
