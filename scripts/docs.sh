#!/usr/bin/env bash
# Writes what is generated: docs/connectors/*.md from the option declarations, and in README.md the output below each
# <!-- command --> marker. With --check it changes nothing and fails when something is not current.
set -euo pipefail
cd "$(dirname "$0")/.."
unset SOURCE_URL TARGET_URL
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

generate() {
  mkdir -p "$out/docs/connectors"
  for c in $(bin/syncsql options | awk 'NR > 1 { print $1 }' | sort -u); do
    [ "$c" = memory ] || bin/syncsql options "$c" --markdown > "$out/docs/connectors/$c.md"
  done
  # A marker is followed by a fenced block, or by text up to <!-- end -->; both are replaced.
  while IFS= read -r line; do
    if [[ $line =~ ^'<!-- '(cat|bin/syncsql)\ (.*)' -->'$ ]]; then
      echo "$line"
      local cmd="${BASH_REMATCH[1]} ${BASH_REMATCH[2]}" fence=""
      IFS= read -r fence
      echo "$fence"
      (eval "$cmd" 2>&1 || true) | sed -e 's/[[:space:]]*$//' -e '${/^$/d}' | { [[ $cmd == *"options --markdown" ]] && grep -v '^| memory' || cat; }
      if [[ $fence == '```'* ]]; then
        while IFS= read -r line && [ "$line" != '```' ]; do :; done
      else
        while IFS= read -r line && [ "$line" != '<!-- end -->' ]; do :; done
        echo
      fi
    fi
    echo "$line"
  done < README.md > "$out/README.md"
}

generate
if [ "${1:-}" = --check ]; then
  diff -ru docs/connectors "$out/docs/connectors" && diff -u README.md "$out/README.md" ||
    { echo "the generated docs are not current: run 'make docs'" >&2; exit 1; }
else
  mkdir -p docs/connectors
  rm -f docs/connectors/*.md
  cp "$out"/docs/connectors/*.md docs/connectors/
  cp "$out/README.md" README.md
fi
