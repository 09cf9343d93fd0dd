#!/usr/bin/env bash
# The style guide's rules that a machine can check. Prints every finding; exit 1 if there is one.
# usage: scripts/lint.sh [--all]   (--all: clang-tidy on every source, not only on what changed since main's parent)
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

marker=$(mktemp)
trap 'rm -f "$marker"' EXIT
report() { # report TITLE: findings on stdin
  local text
  text=$(cat)
  [ -n "$text" ] || return 0
  printf '%s\n%s\n\n' "$1" "$(printf '%s' "$text" | sed 's/^/  /')"
  echo "$1" >>"$marker"
}

mapfile -t sources < <(git ls-files 'src/*.h' 'src/*.cc' 'fuzz/*.cc')
mapfile -t product < <(printf '%s\n' "${sources[@]}" | grep -vE '_(test|bench)\.cc$')

clang-format-14 --dry-run "${sources[@]}" 2>&1 | grep -E 'warning:' | report 'not formatted (./dev format):'

wc -l "${sources[@]}" | awk '$2 != "total" && $1 > 800 { print $2 ": " $1 " lines" }' | report 'files over 800 lines:'

printf '%s\n' "${sources[@]}" | grep -iE '/[a-z_]*(utils?|helpers?|common|manager|types)\.(h|cc)$' |
  grep -vE 'device_manager|topology_manager' | report 'file names that hide what is inside:'

# The deciding wing: values in, decisions out.
deciding=$(printf '%s\n' "${product[@]}" | grep -E '^src/berth/(api|model|hardware|sched|gang|quota|dra|explain|topology)/' | grep -v '^src/berth/api/manifest_path.cc$') # reads files for its callers
grep -nE '#include <(thread|mutex|shared_mutex|condition_variable|future|atomic|chrono|random|fstream|iostream|filesystem|cstdio|unistd.h|sys/.*|boost/asio.*|boost/beast.*|sqlite3.*|grpc.*|spdlog.*)>|#include "berth/base/(log|loop|virtual_loop)\.h"' $deciding /dev/null |
  report 'I/O, thread, clock or log headers in the deciding wing:'

grep -nE 'co_await.*[{?[]' "${product[@]}" | report 'co_await with { ? [ on its line (g++ 12 miscompiles these):'
grep -nE '\b(friend|FRIEND_TEST)\b' "${product[@]}" | grep -vE 'friend (constexpr )?[A-Za-z_:]+ operator|//|friend class (Undo|ClusterState);' | # a guard and what it guards
  report 'friends:'
grep -nE '\brand\(|random_device|system_clock::now|steady_clock::now' "${sources[@]}" | grep -vE '^src/berth/(base|net)/' | report 'clocks or randomness outside base and net:'
grep -nE 'TODO|FIXME|XXX' "${sources[@]}" | report 'unfinished marks:'
grep -nE 'using namespace' "${sources[@]}" | grep -E '\.h:' | report 'using namespace in a header:'
grep -nE 'sleep_for|sleep_until|usleep\(' "${sources[@]}" | report 'sleeps:'
grep -LE '^#pragma once' $(printf '%s\n' "${sources[@]}" | grep '\.h$') /dev/null | grep -v /dev/null | report 'headers without #pragma once:'
for header in $(printf '%s\n' "${product[@]}" | grep '\.h$'); do
  [ "$(head -c 2 "$header")" = "//" ] || echo "$header"
done | report 'headers that do not open with what they are for:'

# The rooms of CMakeLists.txt and of the table in docs/architecture.md are one list.
diff <(sed -nE 's/^berth_library\(([a-z]+)( DEPS ([a-z ]+[a-z]))?.*$/\1: \3/p' CMakeLists.txt | sed 's/ *EXTERNAL.*//' | sort) \
  <(sed -nE 's/^\| `([a-z]+)\/` \|.*\| ([a-z, ]*|-) \|$/\1: \2/p' docs/architecture.md | sed 's/,//g; s/: -$/: /' | sort) |
  grep '^[<>]' | report 'rooms: CMakeLists.txt (<) and docs/architecture.md (>) differ:'

if command -v clang-tidy-19 >/dev/null && [ -f build/asan/compile_commands.json ]; then
  if [ "${1:-}" = --all ]; then
    mapfile -t tidy < <(printf '%s\n' "${product[@]}" | grep '\.cc$')
  else
    mapfile -t tidy < <(git diff --name-only HEAD~1 -- 'src/*.cc' 2>/dev/null | grep -vE '_(test|bench)\.cc$' | while read -r f; do [ -f "$f" ] && echo "$f"; done | head -20)
  fi
  if [ ${#tidy[@]} -gt 0 ]; then
    printf '%s\n' "${tidy[@]}" | xargs -P 2 -n 4 clang-tidy-19 -p build/asan --quiet 2>/dev/null | grep -E '(error|warning):' | sort -u | report 'clang-tidy:'
  fi
fi

[ -s "$marker" ] && exit 1
echo "lint: clean"
