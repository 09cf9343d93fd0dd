#!/usr/bin/env bash
# Every libFuzzer target of fuzz/ for some seconds each, beginning with its committed corpus.
# usage: scripts/fuzz.sh [SECONDS [TARGET...]]   (10 seconds and all targets; TARGET: json, yaml, ...)
# What a run learns stays in build/fuzz/corpus and is where the next one begins. An input that crashes,
# hangs or eats memory is kept in build/fuzz/findings; then the exit status is 1 and the command that
# repeats it is printed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds="${1:-10}"
[ $# -eq 0 ] || shift
case "$seconds" in
  '' | *[!0-9]* | 0)
    echo "error: not a number of seconds: \"$seconds\"; try scripts/fuzz.sh 20" >&2
    exit 2
    ;;
esac
if [ $# -gt 0 ]; then
  targets=("$@")
else
  targets=()
  for source in fuzz/*_fuzz.cc; do
    targets+=("$(basename "$source" _fuzz.cc)")
  done
fi
for target in "${targets[@]}"; do
  [ -f "fuzz/${target}_fuzz.cc" ] || {
    echo "error: no fuzz target \"$target\": fuzz/${target}_fuzz.cc is not there" >&2
    exit 2
  }
done
if ! command -v clang++-19 >/dev/null; then
  echo "error: clang++-19 is missing; try ./dev setup lint" >&2
  exit 1
fi

[ -f build/asan/build.ninja ] || cmake --preset asan >/dev/null
cmake --build build/asan --parallel 2 -- "${targets[@]/%/_fuzz}"

findings=build/fuzz/findings
mkdir -p "$findings"
found=0
for target in "${targets[@]}"; do
  program="build/asan/fuzz/${target}_fuzz"
  learnt="build/fuzz/corpus/$target"
  log="build/fuzz/$target.log"
  mkdir -p "$learnt"
  status=0
  "$program" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$findings/$target-" "$learnt" "fuzz/corpus/$target" >"$log" 2>&1 || status=$?
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  if [ "$status" -eq 0 ]; then
    printf '%-10s %9s runs in %s s: nothing found\n' "$target" "${runs:-?}" "$seconds"
    continue
  fi
  found=1
  artifact=$(sed -n 's/.*Test unit written to //p' "$log" | tail -1)
  printf '%-10s FOUND something (exit status %s), the whole story is in %s\n' "$target" "$status" "$log"
  grep -m 3 -E 'ERROR: |SUMMARY: |runtime error: |assert' "$log" | sed 's/^/  /' || true
  if [ -n "$artifact" ]; then
    printf '  repeat it: %s %s\n' "$program" "$artifact"
  else # it did not come to fuzzing: the corpus itself, or the program, is what failed
    printf '  repeat it: %s -runs=0 %s\n' "$program" "fuzz/corpus/$target"
  fi
done
exit "$found"
