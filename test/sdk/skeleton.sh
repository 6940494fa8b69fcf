#!/bin/sh
# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs every command of docs/plugin/write-a-backend.md with the SDK in a separate prefix, and loads the resulting plugins
# with the daemon.
. "$(dirname "$0")/scratch.sh"
guide=$SLUICE_SRCDIR/docs/plugin/write-a-backend.md
with_sdk

# Replacements for commands of the guide that need an installed daemon and root.
mkdir "$away/bin" "$away/blocks" "$away/work"
printf '#!/bin/sh\nexec "$@"\n' >"$away/bin/sudo"
printf '#!/bin/sh\nexec "%s" --plugin-dir "%s" "$@"\n' "$SLUICE_BUILDDIR/core/sluiced" "$prefix/lib/sluice/plugins" \
  >"$away/bin/sluiced"
printf '#!/bin/sh\nexec python3 -B "%s/test/system/kit.py" --builddir "%s" "$@"\n' "$SLUICE_SRCDIR" "$SLUICE_BUILDDIR" \
  >"$away/bin/sluice-conformance"
# Instead of 3 seconds: until both families are synced, however slow this machine is. Then the metrics are read.
cat >"$away/bin/timeout" <<END
#!/bin/sh
metrics=$away/metrics
END
cat >>"$away/bin/timeout" <<'END'
shift 2
ip link set lo up
log=$(mktemp)
"$@" >"$log" 2>&1 &
daemon=$!
for _ in $(seq 600); do
  if grep -q '(IPv4): generation' "$log" && grep -q '(IPv6): generation' "$log"; then break; fi
  kill -0 "$daemon" 2>/dev/null || break
  sleep 0.1  # poll interval
done
python3 -c 'import urllib.request as u; print(u.urlopen("http://127.0.0.1:10249/metrics").read().decode())' >"$metrics"
kill "$daemon" 2>/dev/null
wait "$daemon"
status=$?
cat "$log"
rm "$log"
exit "$status"
END
chmod 755 "$away/bin/sudo" "$away/bin/sluiced" "$away/bin/sluice-conformance" "$away/bin/timeout"
PATH=$away/bin:$PATH

# Block N of the guide is in blocks/N.
awk -v to="$away/blocks/" '
  $0 == "```sh" { inside = 1; ++number; next }
  inside && $0 == "```" { inside = 0; close(to number); next }
  inside { print >(to number) }' "$guide"

# walk N: runs the commands of the block, in the last folder of the previous one; their output is in blocks/N.out.
echo "$away/work" >"$away/cwd"
walk() {
  sed "s,/tmp/try-dpu,$away/try,g" "$away/blocks/$1" >"$away/blocks/$1.here"
  (
    cd "$(cat "$away/cwd")" || exit 1
    # A separate shell with -e, so that the first failing command ends it.
    # shellcheck disable=SC2016
    exec sh -ec '. "$1"; pwd >"$2"' sh "$away/blocks/$1.here" "$away/cwd"
  ) >"$away/blocks/$1.out" 2>&1 && return
  cat "$away/blocks/$1.out"
  return 1
}
# begins N COMMAND: fails if the blocks of the guide have changed, so that this test must be adapted.
begins() { grep -q "^$2" "$away/blocks/$1" || { echo "block $1 of the guide has no line that begins with: $2"; return 1; }; }
exports_entry_only() {
  [ "$(nm -D --defined-only "$1" | awk '{ print $NF }')" = sluice_plugin_entry ] || { nm -D --defined-only "$1"; return 1; }
}
as_the_daemon() {
  mkdir -p "$away/state" && "$SLUICE_BUILDDIR/test/abi/load_plugin" "$1" com.example.dpu run "$away/state" && [ -z "$(ls -A "$away/state")" ]
}
# The example of the folder, as block 2 runs it.
runs_with_the_daemon() {
  cp "$1/com.example.dpu.so" "$prefix/lib/sluice/plugins/" || return 1
  unshare --net timeout --preserve-status 3 sluiced --proxy-mode com.example.dpu --manifests "$1/example.yaml" \
    --hostname-override node-1 --state-dir "$1/try" >"$1/log" 2>&1 || { cat "$1/log"; return 1; }
  has_line "$1/try/backends/com.example.dpu/ipv4/"* '^10.96.0.80:80 to 10.1.0.11:8080 10.1.0.12:8080$' || return 1
  has_line "$1/log" '(IPv4): .* 1 kernel writes' || return 1
  unshare --net sluiced --cleanup --state-dir "$1/try" || return 1
  [ -z "$(ls -A "$1/try/backends/com.example.dpu")" ] || { ls -R "$1/try/backends"; return 1; }
}
has_line() { grep -q -e "$2" "$1" || { cat "$1"; return 1; }; }
# The last run with the daemon exported the metric of the skeleton, after one write.
exports_metric() {
  name=com_example_dpu_writes_total
  has_line "$away/metrics" "^# HELP $name Number of entries written or removed\.\$" || return 1
  has_line "$away/metrics" "^# TYPE $name counter\$" || return 1
  has_line "$away/metrics" "^$name{ip_family=\"IPv4\"} 1\$" || return 1
  has_line "$away/metrics" "^$name{ip_family=\"IPv6\"} 0\$"
}

check "the guide has the blocks that this test runs" sh -c "[ \"\$(ls '$away/blocks' | wc -l)\" = 7 ]"
made=$away/work/com.example.dpu
if have cmake; then
  check "block 1 makes a backend" begins 1 sluice-plugin-new
  check "it builds with CMake and passes its tests" walk 1
  check "there are tests" has_line "$made/build/Testing/Temporary/LastTest.log" '^ok 25 - '
  check "it exports its entry only" exports_entry_only "$made/build/com.example.dpu.so"
  check "the loader of the daemon loads and calls it" as_the_daemon "$made/build/com.example.dpu.so"
  check "block 2 runs it with the daemon" begins 2 'sudo unshare'
  if [ "$(id -u)" = 0 ] && unshare --net true 2>/dev/null; then
    check "the daemon runs it" walk 2
    check "it has read the Service of the example" has_line "$away/blocks/2.out" '^10.96.0.80:80 to 10.1.0.11:8080 10.1.0.12:8080$'
    check "a new entry is written" has_line "$away/blocks/2.out" '(IPv4): .* 1 kernel writes'
    check "/metrics has the metric that it declares" exports_metric
    check "a second run" walk 2
    check "writes nothing" has_line "$away/blocks/2.out" '(IPv4): .* 0 kernel writes'
    sed -i '/10\.1\.0\.12/,+1d' "$made/example.yaml"
    check "a third run, without one endpoint" walk 2
    check "writes one entry" has_line "$away/blocks/2.out" '(IPv4): .* 1 kernel writes'
    check "without the endpoint" has_line "$away/blocks/2.out" '^10.96.0.80:80 to 10.1.0.11:8080$'
    check "the daemon runs its clean-up" walk 3
    check "no leftover state" sh -c "cd '$away/try/backends/com.example.dpu' && [ -z \"\$(ls -A)\" ]"
    check "block 4 runs the conformance kit" begins 4 'sudo sluice-conformance'
    check "it passes" walk 4
    check "in each of the three groups" has_line "$away/blocks/4.out" '^# 5 passed, 0 failed, 0 skipped$'
  else
    skip "the daemon runs it" "needs root and a network namespace"
  fi
else
  skip "the skeleton with CMake" "cmake is not installed"
fi

# Even if the tests with CMake failed.
mkdir -p "$made"
echo "$made" >"$away/cwd"
check "block 5 makes a backend for the Autotools" begins 5 'sluice-plugin-new --build autotools'
made=$away/work/dpu-autotools
check "it builds with the Autotools and passes its tests" walk 5
check "they are the same tests" has_line "$made/test_plugin.log" '^ok 25 - '
check "the plugin built with the Autotools exports its entry only" exports_entry_only "$made/.libs/com.example.dpu.so"
check "the loader of the daemon loads and calls the plugin built with the Autotools" as_the_daemon "$made/.libs/com.example.dpu.so"
check "make install" make -C "$made" install DESTDIR="$away/dest"
check "installs the plugin and nothing else" sh -c "[ \"\$(find '$away/dest' -type f)\" = '$away/dest$prefix/lib/sluice/plugins/com.example.dpu.so' ]"
check "make uninstall" make -C "$made" uninstall DESTDIR="$away/dest"
check "removes it" sh -c "cd '$away/dest' && [ -z \"\$(find . -type f)\" ]"
if have git; then
  # .gitignore has all generated files; build/ is the folder of CMake.
  not_ignored() {
    git -C "$1" init -q && git -C "$1" ls-files --others --exclude-standard | LC_ALL=C sort >"$away/kept"
    (cd "$away/fresh" && find . -type f | sed 's,^\./,,' | LC_ALL=C sort) | diff "$away/kept" -
  }
  sluice-plugin-new --build autotools --directory "$away/fresh" com.example.dpu >/dev/null
  check "git ignores all generated files" not_ignored "$made"
else
  skip "git ignores all generated files" "git is not installed"
fi
# The blocks of C and Rust begin in the folder of the one before, and end with the conformance kit.
echo "$made" >"$away/cwd"
for language in c rust; do
  case $language in c) number=6 compiler=gcc ;; rust) number=7 compiler=${RUSTC:-rustc} ;; esac
  made=$away/work/dpu-$language
  check "block $number makes a backend in $language" begins $number "sluice-plugin-new --language $language"
  if ! have $compiler; then
    skip "a backend in $language" "$compiler is not installed"
    continue
  fi
  if [ "$(id -u)" != 0 ] || ! unshare --net true 2>/dev/null; then
    skip "a backend in $language" "the kit needs root and a network namespace"
    continue
  fi
  check "it builds, passes its tests and those of the kit, $language" walk $number
  check "they are the same tests as in C++, $language" has_line "$away/blocks/$number.out" '^ok 25 - '
  check "in each of the three groups of the kit, $language" has_line "$away/blocks/$number.out" '^# 5 passed, 0 failed, 0 skipped$'
  check "it exports its entry only, $language" exports_entry_only "$made/com.example.dpu.so"
  check "the loader of the daemon loads and calls it, $language" as_the_daemon "$made/com.example.dpu.so"
  check "the daemon runs it, $language" runs_with_the_daemon "$made"
  check "/metrics has the metric that it declares, $language" exports_metric
done
if [ "${SLUICE_LONG:-0}" != 0 ]; then
  check "make distcheck" make -C "$made" distcheck
else
  skip "make distcheck" "long form only"
fi
finish
