#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs every test there is, from a fresh clone on: installs what tests need, builds with
# warnings as errors, and adds up what the parts report. The last line is
#   N passed, N failed[, N skipped]
# and the exit status is 0 only when nothing failed. A part that dies, prints no plan or
# runs out of time is a failure. Needs root: the system tests make network namespaces.
#   --part NAME     only this part; repeatable
#   --list          name the parts and end
#   --builddir DIR  where to build (default: build-test); logs go to DIR/logs
#   --no-build      take the build tree as it is
# SLUICE_LONG=1 runs the long form of every part; SLUICE_JOBS=N limits the compiler.
set -u
src=$(cd "$(dirname "$0")/.." && pwd)
build=$src/build-test
long=${SLUICE_LONG:-0}
parts="lint check apiserver kernel system swap kit vm demo bench asan fuzz tsan package kubernetes dist"
chosen=
with_build=1

usage() { sed -n '/^#   --/s/^#   //p; /^# SLUICE_/s/^# //p' "$0" >&2; exit 2; }
while [ $# -gt 0 ]; do
  case $1 in
    --part)
      case " $parts " in *" ${2:-} "*) ;; *) echo "run.sh: no part '${2:-}'; parts: $parts" >&2; exit 2 ;; esac
      chosen="$chosen $2"
      shift 2
      ;;
    --list) echo "$parts" | tr ' ' '\n'; exit 0 ;;
    --builddir) build=${2:?}; shift 2 ;;
    --no-build) with_build=0; shift ;;
    *) usage ;;
  esac
done
chosen=${chosen:-$parts}
mkdir -p "$build/logs" || exit 1
build=$(cd "$build" && pwd)
logs=$build/logs

# What a make that called us told its children is not meant for ours.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
export LC_ALL=C PYTHONDONTWRITEBYTECODE=1
: "${SLUICE_JOBS:=$(nproc)}"
export SLUICE_JOBS

passed=0
failed=0
skipped=0
part=
label=  # names a program within the part
part_begun=0
before=
failures=$logs/failures
: >"$failures"
rm -f "$build/packages/done"

# add STATUS TAP-FILE: counts one stream of results.
add() {
  counted=$(awk -v part="${label:-$part}" -v status="$1" -f "$src/test/tap_count.awk" <"$2")
  # shellcheck disable=SC2046
  set -- $(printf '%s\n' "$counted" | sed -n 's/^count //p')
  passed=$((passed + $1))
  failed=$((failed + $2))
  skipped=$((skipped + $3))
  printf '%s\n' "$counted" | sed -n 's/^failed //p; s/^why /    /p' >>"$failures"
}

# limited LIMIT COMMAND…: in the background, so that an interrupt reaches us and, through us, the command.
child=
ahead=
limited() {
  timeout --kill-after=30 "$@" </dev/null &
  child=$!
  wait "$child"
  set -- $?
  child=
  return "$1"
}
interrupted() {
  [ -z "$ahead" ] || kill "$ahead"
  [ -z "$child" ] || { kill "$child"; wait "$child"; }
  exit 130
}
trap interrupted INT TERM HUP

# tap NAME LIMIT COMMAND…: a program that prints TAP.
tap() {
  log=$logs/$part-$1
  limit=$2
  shift 2
  limited "$limit" "$@" >"$log.tap" 2>"$log.err"
  add $? "$log.tap"
}

# one TITLE LIMIT COMMAND…: a program that passes when its status is 0; one test.
one() {
  title=$1
  limit=$2
  shift 2
  limited "$limit" "$@" >"$logs/$part.log" 2>&1
  status=$?
  case $status in
    0) echo "ok 1 - $title" ;;
    124 | 137) echo "not ok 1 - $title: its time limit of $limit s passed" ;;
    *) echo "not ok 1 - $title: status $status, see $logs/$part.log" ;;
  esac >"$logs/$part.tap"
  echo 1..1 >>"$logs/$part.tap"
  add 0 "$logs/$part.tap"
  return $status
}

begin() {
  part=$1
  part_begun=$(date +%s)
  before="$passed $failed $skipped"
}

end() {
  # shellcheck disable=SC2086
  set -- $before
  word=ok
  [ "$failed" -eq "$2" ] || word=FAILED
  printf '%-7s%-11s%5d passed, %d failed, %d skipped, %d s\n' "$word" "$part" $((passed - $1)) $((failed - $2)) \
    $((skipped - $3)) $(($(date +%s) - part_begun))
}

finish() {
  if [ -s "$failures" ]; then
    # The names by themselves first: what was said of them may be long.
    echo "Failed:"
    sed -n 's/^\([^ ].\{0,199\}\).*/  \1/p' "$failures"
    echo "What was said of them:"
    sed 's/^/  /' "$failures"
    echo "Logs: $logs"
  fi
  if [ "$skipped" -gt 0 ]; then echo "$passed passed, $failed failed, $skipped skipped"
  else echo "$passed passed, $failed failed"; fi
  if [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]; then exit 0; fi
  exit 1
}

part_lint() {
  for script in includes.py headers.py links.py versions.py; do tap "$script" 60 python3 "$src/test/lint/$script"; done
  for script in shell.sh tap_count.sh; do tap "$script" 60 "$src/test/lint/$script"; done
}

# Every program of `make check` leaves its TAP in NAME.log and its verdict in NAME.trs. What they test is built, as it
# is installed; the tests themselves need no optimiser, which would take as long as they run.
part_check() {
  find "$build" -name '*.trs' -not -path '*/sluice-*' -delete
  limited 900 make -C "$build" -k -j "$SLUICE_JOBS" check CXXFLAGS='-g1 -O0' >"$logs/check.log" 2>&1
  status=$?
  known_failures=$failed
  find "$build" -name '*.trs' -not -path '*/sluice-*' | sort >"$logs/check.list"
  while read -r trs; do
    verdict=0
    grep -Eq '^:global-test-result: (PASS|SKIP)' "$trs" || verdict=1
    label="check: $(basename "${trs%.trs}")"
    add "$verdict" "${trs%.trs}.log"
  done <"$logs/check.list"
  label=
  if [ ! -s "$logs/check.list" ] || { [ "$status" -ne 0 ] && [ "$failed" -eq "$known_failures" ]; }; then
    why=$(grep -m1 -E ' \*\*\* .*[Nn]o rule|error:|Error [0-9]' "$logs/check.log")
    printf 'not ok 1 - make check: status %d: %s, see %s\n1..1\n' "$status" "$why" "$logs/check.log" >"$logs/check.tap"
    add 0 "$logs/check.tap"
  fi
}

part_apiserver() {
  build_ahead
  tap test 300 python3 "$src/test/apiserver/test_apiserver.py"
}

# A backend without the daemon, against a real kernel.
part_kernel() {
  make -C "$build" -j "$SLUICE_JOBS" test/system/iptables_roundtrip test/system/userspace_roundtrip \
    test/system/ipset_roundtrip test/system/ipvs_rules_roundtrip test/system/nftables_layout \
    test/system/nftables_random test/system/nftables_roundtrip test/system/nftables_crowd >"$logs/kernel.log" 2>&1
  SLUICE_BUILDDIR=$build
  export SLUICE_BUILDDIR
  tap iptables 300 "$src/test/system/iptables_kernel_test.sh" "$build/test/system/iptables_roundtrip"
  tap userspace 120 "$src/test/system/iptables_kernel_test.sh" "$build/test/system/userspace_roundtrip"
  tap ipset 120 "$src/test/system/ipset_kernel_test.sh" "$build/test/system/ipset_roundtrip"
  tap ipvs-rules 180 "$src/test/system/iptables_kernel_test.sh" "$build/test/system/ipvs_rules_roundtrip"
  tap nftables 120 "$src/test/system/nftables_kernel_test.sh" "$build/test/system/nftables_roundtrip"
  tap nftables-crowd 120 "$build/test/system/nftables_crowd"
  tap nftables-listing 300 python3 "$src/test/system/nftables_listing_test.py" "$build/test/system/nftables_layout"
  steps=300
  [ "$long" = 0 ] || steps=10000
  tap nftables-random 1800 "$build/test/system/nftables_random" --steps "$steps"
}

# Cases that compare traffic with a twin of it want a machine that is not full: they have a part of their own.
traffic_cases="cases_swap. cases_swapfaults. cases_swapaffinity. cases_restart. cases_reload."
but_traffic=
only_traffic=
for file in $traffic_cases; do
  but_traffic="$but_traffic --except $file"
  only_traffic="$only_traffic --filter $file"
done

# Every case runs in peace with modes iptables and nftables; those that share a daemon again while everything around
# them changes; some, in the long form all, with the old iptables; and what is about the backend with mode userspace.
# The short form takes manifests for mode iptables and the API server for mode nftables. The long form tests mode
# userspace under change, too, and the tests themselves.
part_system() {
  build_ahead
  system="$src/test/system/run.py $but_traffic"
  short=--short
  [ "$long" = 0 ] || short=
  tap fd-holder 120 python3 "$src/test/system/fd_holder_test.py"
  tap asking 120 python3 "$src/test/system/asking_test.py" "$build/test/tools/netecho"
  # shellcheck disable=SC2086
  tap cases 900 python3 $system --builddir "$build" --lanes 4 $short \
    --results "$logs/system-nft.json" --keep-logs "$logs/system"
  # shellcheck disable=SC2086
  tap nftables 900 python3 $system --builddir "$build" --lanes 4 --backend nftables $short \
    --results "$logs/system-nftables.json" --keep-logs "$logs/system-nftables"
  for churned in iptables nftables; do
    # shellcheck disable=SC2086
    tap "$churned-churn" 900 python3 $system --builddir "$build" --backend $churned --churn $short \
      --keep-logs "$logs/system-$churned-churn"
  done
  # shellcheck disable=SC2086
  tap legacy 900 python3 $system --builddir "$build" --lanes 3 --iptables legacy $short \
    --results "$logs/system-legacy.json" --keep-logs "$logs/system-legacy"
  # shellcheck disable=SC2086
  tap userspace 900 python3 $system --builddir "$build" --lanes 4 --backend userspace $short \
    --results "$logs/system-userspace.json" --keep-logs "$logs/system-userspace"
  # shellcheck disable=SC2086
  tap userspace-legacy 900 python3 $system --builddir "$build" --lanes 3 --backend userspace --iptables legacy $short \
    --keep-logs "$logs/system-userspace-legacy"
  if [ "$long" != 0 ]; then
    tap userspace-churn 900 python3 $system --builddir "$build" --backend userspace --churn \
      --keep-logs "$logs/system-userspace-churn"
  fi
  if [ "$long" != 0 ]; then tap selftest 3600 python3 "$src/test/system/selftest.py" --builddir "$build"; fi
}

# The daemon under traffic that must not notice: backends are exchanged, swaps fail, processes are killed, settings change.
# In the long form 1,000 swaps, 200 kills of each mode and 10,000 mutilated files, and connections held for 5 minutes.
part_swap() {
  make -C "$build" -j "$SLUICE_JOBS" test/tools/sluiced-faults test/plugins/faulty.la >"$logs/swap.log" 2>&1
  swap_limit=900
  short=--short
  [ "$long" = 0 ] || { swap_limit=28800 short=; }
  for swap_backend in iptables nftables userspace; do
    # shellcheck disable=SC2086
    tap "$swap_backend" "$swap_limit" python3 "$src/test/system/run.py" --builddir "$build" --lanes 2 \
      --backend "$swap_backend" $short $only_traffic --results "$logs/swap-$swap_backend.json" \
      --keep-logs "$logs/swap-$swap_backend"
  done
}

# Every backend of the tree is judged as a plugin of somebody else is, nothing declared and nothing left out. The cases
# themselves part system has run, with the same files; in the short form it is the groups of the kit, and one case.
kit_groups="--only file --only contract --only cost --only kill --only claims --only cleanup --only foreign --only random"
part_kit() {
  make -C "$build" -j "$SLUICE_JOBS" test/tools/conformance-load test/tools/netecho test/plugins/mutant.la >"$logs/kit.log" 2>&1
  kit_limit=300
  kit_extent="--short --family v4 --only 20 $kit_groups"
  [ "$long" = 0 ] || { kit_limit=7200 kit_extent=; }
  for kit_backend in iptables nftables userspace; do
    # shellcheck disable=SC2086
    tap "$kit_backend" "$kit_limit" python3 "$src/test/system/kit.py" --builddir "$build" --lanes 4 \
      --plugin "$build/plugins/$kit_backend/.libs/$kit_backend.so" $kit_extent --json "$logs/kit-$kit_backend.json" \
      --keep-logs "$logs/kit-$kit_backend"
  done
  if [ "$long" = 0 ]; then
    # One mistake that only the model sees; all of them in the long form.
    tap mutants 300 python3 "$src/test/system/kit_mutants.py" --builddir "$build" --only forgets
  else
    tap mutants 3600 python3 "$src/test/system/kit_mutants.py" --builddir "$build"
  fi
}

# in_vm NAME LIMIT KERNEL OPTION…: system tests in a virtual machine with that kernel. There is more patience in it
# than in the limit: what hangs is to be said by the machine, with its console.
in_vm() {
  vm_name=$1
  vm_limit=$2
  vm_kernel=$3
  shift 3
  tap "$vm_name" $((vm_limit + 300)) python3 "$src/test/vm/run" --builddir "$build" --kernel "$vm_kernel" \
    --limit "$vm_limit" --results "$logs/vm-$vm_name" --console "$logs/vm-$vm_name.console" -- \
    /usr/bin/python3 "$src/test/system/run.py" --builddir "$build" --results "$logs/vm-$vm_name/results.json" \
    --keep-logs "$logs/vm-$vm_name" "$@"
  sed -n 's,^test/vm/run: ,    ,p' "$logs/vm-$vm_name.err" >>"$failures"
}

# kit_in_vm KERNEL LIMIT OPTION…: mode ipvs, judged as a plugin on that kernel.
kit_in_vm() {
  kit_kernel=$1
  kit_limit=$2
  shift 2
  make -C "$build" -j "$SLUICE_JOBS" test/tools/conformance-load test/tools/netecho >"$logs/kit.log" 2>&1
  tap "kit-$kit_kernel" $((kit_limit + 300)) python3 "$src/test/vm/run" --builddir "$build" --kernel "$kit_kernel" \
    --limit "$kit_limit" --results "$logs/vm-kit-$kit_kernel" --console "$logs/vm-kit-$kit_kernel.console" -- \
    /usr/bin/python3 "$src/test/system/kit.py" --builddir "$build" --plugin "$build/plugins/ipvs/.libs/ipvs.so" \
    --json "$logs/vm-kit-$kit_kernel/kit.json" --keep-logs "$logs/vm-kit-$kit_kernel" "$@"
}

# backends_in_vm KERNEL: those without the daemon, all in one machine; what each said is counted afterwards.
backends_in_vm() {
  vm_release=$1
  vm_folder=$logs/vm-backends-$vm_release
  rm -rf "$vm_folder"
  mkdir -p "$vm_folder"
  # Part kernel has run the rules where matches of IPVS may be missing.
  # shellcheck disable=SC2016
  tap "backends-$vm_release" 1500 python3 "$src/test/vm/run" --builddir "$build" --kernel "$vm_release" --limit 1200 \
    --results "$vm_folder" --console "$logs/vm-backends-$vm_release.console" -- \
    env SLUICE_BUILDDIR="$build" sh -c '
      system=$1 programs=$2 results=$3
      number=0
      each() {
        name=$1 limit=$2
        shift 2
        number=$((number + 1))
        timeout "$limit" "$@" >"$results/$name.tap" 2>"$results/$name.err"
        echo $? >"$results/$name.status"
        echo "ok $number - $name has run"
      }
      echo 1..5
      each servers 500 "$programs/ipvs_roundtrip"
      each handover 400 /usr/bin/python3 "$system/ipvs_handover_test.py" "$programs/ipvs_handover"
      each rules 500 "$system/iptables_kernel_test.sh" "$programs/ipvs_rules_roundtrip"
      each nftables 300 "$system/nftables_kernel_test.sh" "$programs/nftables_roundtrip"
      each nftables-crowd 300 "$programs/nftables_crowd"' \
    sh "$src/test/system" "$build/test/system" "$vm_folder"
  for vm_name in servers handover rules nftables nftables-crowd; do
    label="vm: $vm_name-$vm_release"
    : >>"$vm_folder/$vm_name.tap"
    add "$(cat "$vm_folder/$vm_name.status" 2>/dev/null || echo 124)" "$vm_folder/$vm_name.tap"
  done
  label=
}

# Kernels of Debian, with what this machine's may lack: mode ipvs, SCTP, and the old iptables as a kernel of its time has
# it. In the long form everything, on each kernel.
part_vm() {
  make -C "$build" -j "$SLUICE_JOBS" test/system/ipvs_handover test/system/ipvs_roundtrip test/system/ipvs_rules_roundtrip \
    test/system/nftables_roundtrip test/system/nftables_crowd >"$logs/vm.log" 2>&1
  tap selftest 600 python3 "$src/test/vm/selftest.py" --builddir "$build"
  for vm_release in 6.1 6.12; do
    backends_in_vm "$vm_release"
    if [ "$long" = 0 ]; then break; fi
  done
  if [ "$long" = 0 ]; then
    # Mode ipvs under the conformance kit, as small as it can be.
    kit_in_vm 6.1 600 --short --family v4 --lanes 1 --only file --only contract --only cleanup
    in_vm ipvs 1300 6.1 --backend ipvs --short --lanes 3
    # Every pair with ipvs in one family; kill -9.
    in_vm ipvs-swap 900 6.1 --backend ipvs --lanes 1 --family v4 --source manifests \
      --filter cases_swap. --filter cases_restart.
    in_vm sctp 300 6.1 --protocol sctp --source manifests
    # Each set and each kind of chain once, on a kernel that lists and removes otherwise than a new one; SCTP.
    in_vm nftables 900 6.1 --backend nftables --short --once --filter 8 --filter 13 --filter 22 --filter 56 --filter 63 \
      --filter 74 --filter 125 --filter 126 --filter stale_after_restart --filter cases_nftables.counters
    # Each way of the rules once: cluster IP, nobody there, policies, ranges, node ports, memory, repair.
    in_vm legacy 900 6.1 --iptables legacy --short --family v4 --protocol tcp \
      --filter 2 --filter 13 --filter 22 --filter 56 --filter 63 --filter 74 --filter 100
    return
  fi
  for vm_release in 6.1 6.12; do
    kit_in_vm "$vm_release" 14400
    # shellcheck disable=SC2086
    for backend in iptables ipvs nftables userspace; do
      in_vm "$backend-$vm_release" 14400 "$vm_release" --backend "$backend" $but_traffic
    done
    # shellcheck disable=SC2086
    for backend in iptables ipvs; do
      in_vm "$backend-legacy-$vm_release" 14400 "$vm_release" --backend "$backend" --iptables legacy $but_traffic
    done
    # shellcheck disable=SC2086
    in_vm "ipvs-swap-$vm_release" 36000 "$vm_release" --backend ipvs --lanes 1 $only_traffic
  done
}

part_demo() { one "the demo answers as it says" 300 "$src/packaging/demo/demo.sh" --build-dir "$build"; }

part_bench() {
  if [ "$long" = 0 ]; then
    tap smoke 300 python3 "$src/test/bench/bench.py" --builddir "$build" --smoke
    tap scale 300 python3 "$src/test/bench/scale.py" --builddir "$build" --smoke
    tap swap 300 python3 "$src/test/bench/swap.py" --builddir "$build" --smoke
  else
    one "the benchmark" 3600 python3 "$src/test/bench/bench.py" --builddir "$build" --json "$logs/bench.json"
    one "the benchmark of mode nftables" 5400 python3 "$src/test/bench/scale.py" --builddir "$build" --json "$logs/scale.json"
    one "the benchmark of swaps" 3600 python3 "$src/test/bench/swap.py" --builddir "$build" --json "$logs/swap.json"
  fi
}

# skip_part WHY: the part as one test that could not run.
skip_part() {
  printf 'ok 1 - %s # SKIP %s\n1..1\n' "$part" "$1" >"$logs/$part.tap"
  add 0 "$logs/$part.tap"
}

# build_… COMMAND…: runs the command that makes that build. asan and fuzz share clang's,
# which alone has libFuzzer and reports of both sanitizers in one place.
build_clang() {
  "$@" "$src/test/sanitizers/build.sh" "$build/clang" clang++ "" --enable-sanitizers=address,undefined --enable-fuzzing
}
build_thread() {
  "$@" "$src/test/sanitizers/build.sh" "$build/thread" g++ \
    "test/unit/unit_tests test/unit/userspace_tests test/unit/nftables_tests test/unit/ipvs_tests" --enable-sanitizers=thread
}
build_packages() {
  "$@" sh -c '[ -e "$2/done" ] || { "$1" "$2" "$3" && : >"$2/done"; }' \
    packages "$src/packaging/debian/build.sh" "$build/packages" "$build"
}
has_libfuzzer() {
  echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' >"$logs/libfuzzer.cpp"
  clang++ -fsanitize=fuzzer "$logs/libfuzzer.cpp" -o "$logs/libfuzzer" >"$logs/libfuzzer.log" 2>&1
}

# These builds begin, at low priority, beside tests that mostly wait. What comes of them
# the parts they are for look at.
build_ahead() {
  [ -z "$ahead" ] || return 0
  case " $chosen " in *" asan "* | *" fuzz "* | *" tsan "* | *" package "*) ;; *) return ;; esac
  rm -f "$logs"/ahead-*
  (
    trap interrupted INT TERM HUP
    case " $chosen " in *" asan "* | *" fuzz "*) ! has_libfuzzer || build_clang limited 2400 nice -n 10 ;; esac
    : >"$logs/ahead-clang"
    case " $chosen " in *" tsan "*) build_thread limited 2400 nice -n 10 ;; esac
    : >"$logs/ahead-thread"
    case " $chosen " in *" package "*) build_packages limited 2400 nice -n 10 ;; esac
    : >"$logs/ahead-packages"
  ) >"$logs/ahead.log" 2>&1 &
  ahead=$!
}
# wait_for_build NAME: those after it go on.
wait_for_build() {
  waited=0
  while [ -n "$ahead" ] && [ ! -e "$logs/ahead-$1" ] && [ "$waited" -lt 7200 ]; do
    sleep 1
    waited=$((waited + 1))
  done
}

# instrumented NAME TITLE: that build, of which parts of tests are made.
instrumented() {
  wait_for_build "$1"
  instrumented=$build/$1
  "build_$1" one "$2" 1800
}
clang_build() {
  if has_libfuzzer; then instrumented clang "the build for address and undefined behaviour"
  else
    skip_part "clang++ with libFuzzer is missing; install clang and libclang-rt-dev"
    return 1
  fi
}

# watched NAME LIMIT COMMAND…: prints TAP, and leaves what sanitizers say in $reports.
watched() {
  watched_name=$1
  watched_limit=$2
  shift 2
  tap "$watched_name" "$watched_limit" "$src/test/sanitizers/watched.sh" "$reports" "$@"
}

unit_tests() {
  for tests in "$@"; do
    watched "$tests" 1200 env SLUICE_TEST_DATA="$src/test" SLUICE_SRCDIR="$src" SLUICE_BUILDDIR="$instrumented" \
      "$instrumented/test/unit/$tests"
  done
}

begin_reports() {
  reports=$logs/$part-reports
  rm -rf "$reports"
  mkdir -p "$reports"
  tap detection 300 "$src/test/sanitizers/detection_test.sh" "$instrumented" "$1"
}
end_reports() { tap reports 60 "$src/test/sanitizers/reports.sh" "$reports"; }

# Memory and undefined behaviour: all unit tests, and the daemon with real packets.
part_asan() {
  clang_build || return
  begin_reports address
  unit_tests unit_tests iptables_tests ipvs_tests nftables_tests userspace_tests
  system="$src/test/system/run.py --builddir $instrumented $but_traffic"
  # The short form takes each source once, and both families and protocols; the configurations of the
  # daemon differ in rules, which the part system looks at.
  # shellcheck disable=SC2086
  if [ "$long" != 0 ]; then
    for backend in iptables nftables userspace; do watched "system-$backend" 3600 python3 $system --backend "$backend"; done
  else
    watched system-manifests 600 python3 $system --source manifests --family v6 --protocol udp --lanes 3
    watched system-apiserver 600 python3 $system --backend nftables --source apiserver --family v4 --protocol tcp --lanes 3
    watched system-nftables-manifests 600 python3 $system --backend nftables --source manifests --once \
      --filter 'cases_nftables.*' --filter 'cases_nftablesdrift.*'
    # All of it together: a relay goes on while programs are started and everything else happens.
    watched system-userspace 600 python3 $system --backend userspace --short --family v4 --lanes 4
  fi
  # Libraries come and go while everything runs.
  watched system-swap 600 python3 "$src/test/system/run.py" --builddir "$instrumented" --family v4 \
    --filter cases_swap.every_pair
  end_reports
}

part_fuzz() {
  clang_build || return
  if [ "$long" != 0 ]; then fuzz_seconds=600; else fuzz_seconds=5; fi
  tap targets 36000 "$src/test/fuzz/fuzz.sh" --builddir "$instrumented" --seconds "$fuzz_seconds" --jobs "$SLUICE_JOBS"
}

# Threads: unit tests of the core and of the backends that have some, and the daemon with the print example while
# everything changes; in the long form with real packets too.
part_tsan() {
  instrumented thread "the build for threads" || return
  begin_reports thread
  unit_tests unit_tests
  # Where the backend has threads. GCC 12's sanitizer does not know how std::timed_mutex, which guards the writing of
  # rules, waits, and takes it for unlocked.
  for threaded in Balancer EventLoop MetricsReporter Tcp Udp; do
    watched "userspace-$threaded" 600 env SLUICE_TEST_DATA="$src/test" SLUICE_SRCDIR="$src" \
      SLUICE_BUILDDIR="$instrumented" "$instrumented/test/unit/userspace_tests" "$threaded"
  done
  for threaded in TableWatch OwnSenders NetlinkTable NftablesBackend; do
    watched "nftables-$threaded" 300 env SLUICE_TEST_DATA="$src/test" SLUICE_SRCDIR="$src" \
      SLUICE_BUILDDIR="$instrumented" "$instrumented/test/unit/nftables_tests" "$threaded"
  done
  for threaded in FlowKeeper; do
    watched "ipvs-$threaded" 300 env SLUICE_TEST_DATA="$src/test" SLUICE_SRCDIR="$src" \
      SLUICE_BUILDDIR="$instrumented" "$instrumented/test/unit/ipvs_tests" "$threaded"
  done
  if [ "$long" != 0 ]; then change_seconds=300; else change_seconds=20; fi
  watched change 1200 python3 "$src/test/sanitizers/daemon_under_change.py" --builddir "$instrumented" \
    --seconds "$change_seconds"
  if [ "$long" != 0 ]; then
    for backend in iptables nftables userspace; do
      # shellcheck disable=SC2086
      watched "system-$backend" 3600 python3 "$src/test/system/run.py" --builddir "$instrumented" --backend "$backend" $but_traffic
    done
  fi
  end_reports
}

# The Debian packages, in a clean Debian with a systemd of its own, and built again; the machine of an author of backends;
# the RPM packages in a folder. In the long form upgrades in each mode on another kernel as well.
part_package() {
  wait_for_build packages
  build_packages one "the Debian packages are built" 2400 || return
  tap install 900 python3 "$src/test/package/package_test.py" --builddir "$build" --debs "$build/packages"
  tap author 900 python3 "$src/test/package/author_test.py" --builddir "$build" --debs "$build/packages"
  # The long form compiles everything once more for each of these.
  if [ "$long" = 0 ]; then
    one "packages built again are the same" 600 "$src/test/package/again.sh" "$build/packages" "$build"
    tap rpm 600 python3 "$src/test/package/rpm_test.py" --builddir "$build" --built "$build/packages/sluice-$(version)"
  else
    one "packages built again are the same" 7200 "$src/test/package/again.sh" "$build/packages" "$build" all
    tap rpm 7200 python3 "$src/test/package/rpm_test.py" --builddir "$build"
    tap upgrade 16000 python3 "$src/test/package/upgrade_test.py" --builddir "$build" --debs "$build/packages"
  fi
}
version() { sed -n 's/^PACKAGE_VERSION = //p' "$build/Makefile"; }

# The image, the manifests, and what the manifests describe at work. From the packages where they were built, else from
# what is installed; in the long form from both, and mode ipvs on a kernel that has it.
part_kubernetes() {
  kubernetes=$src/test/kubernetes
  tap manifests 60 /usr/bin/python3 "$kubernetes/manifests_test.py"
  if [ "$long" != 0 ] && [ -e "$build/packages/done" ]; then
    tap image-tree 300 /usr/bin/python3 "$src/test/package/image_test.py" --builddir "$build"
  fi
  image_from=
  [ ! -e "$build/packages/done" ] || image_from="--debs $build/packages"
  # shellcheck disable=SC2086
  tap image 300 /usr/bin/python3 "$src/test/package/image_test.py" --builddir "$build" $image_from
  short=--short
  [ "$long" = 0 ] || short=
  # shellcheck disable=SC2086
  tap pods 1200 /usr/bin/python3 "$kubernetes/pod_test.py" --builddir "$build" --image "$build/image-test/root" $short
  [ "$long" != 0 ] || return 0
  tap pods-ipvs 1800 /usr/bin/python3 "$src/test/vm/run" --builddir "$build" --kernel 6.1 --limit 1500 -- \
    /usr/bin/python3 "$kubernetes/pod_test.py" --builddir "$build" --image "$build/image-test/root" --overlay overlays/ipvs
}

# The short form looks whether the tarball has everything, the long one builds, tests and
# installs from it: at another level of optimisation than above, as one more proof.
part_dist() {
  if [ ! -e "$src/.git" ]; then skip_part "there is no clone to compare the tarball with"
  else one "the tarball has every file of the clone" 300 "$src/test/lint/tarball.sh" "$build"; fi
  [ "$long" != 0 ] || return 0
  one "make distcheck" 1200 env CXX="$(sed -n 's/^CXX = //p' "$build/Makefile")" \
    make -C "$build" -j "$SLUICE_JOBS" distcheck DISTCHECK_CONFIGURE_FLAGS="--enable-werror CXXFLAGS=-O0"
}

if [ "$(id -u)" != 0 ] && [ "$chosen" != " lint" ]; then
  begin run.sh
  echo "run.sh: network namespaces and packages need root; run it with sudo" >&2
  echo "not rooted: needs root" >>"$failures"
  failed=1
  finish
fi

if [ "$with_build" = 1 ] && [ "$chosen" != " lint" ]; then
  begin install
  "$src/packaging/install-deps.sh" build test >"$logs/install.log" 2>&1 ||
    { one "packaging/install-deps.sh build test" 10 sh -c "cat '$logs/install.log'; false"; tail -20 "$logs/install.log"; finish; }
  begin build
  # Lines for backtraces and no more: types for debuggers are a third of the time a compiler takes.
  one "the build, warnings being errors" 1500 env CXXFLAGS="${CXXFLAGS:--g1 -O2}" \
    "$src/packaging/build.sh" "$build" --enable-werror ||
    { end; tail -30 "$logs/build.log"; finish; }
  end
fi
for name in $chosen; do
  begin "$name"
  "part_$name"
  end
done
finish
