#!/usr/bin/env bash
# Installs what the tests need and this machine lacks: a Postgres server with its client
# programs, and a C compiler for the race detector. It starts nothing and
# leaves alone what is there; the tests start throwaway servers of their own.
set -euo pipefail
mkdir -p .cache
need=()
# The race detector needs a C compiler.
command -v gcc >/dev/null || need+=(gcc libc6-dev)
if [ -z "${SYNCSQL_PG_BIN:-}" ] && ! compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null && ! command -v postgres >/dev/null; then
  need+=(postgresql postgresql-contrib)
fi
[ ${#need[@]} -gt 0 ] || exit 0
if ! command -v apt-get >/dev/null; then
  echo "setup: this machine lacks ${need[*]} and has no apt-get; install them, or set SYNCSQL_PG_BIN to the directory of initdb and postgres" >&2
  exit 1
fi
sudo=""
[ "$(id -u)" = 0 ] || sudo=sudo
echo "setup: installing ${need[*]} from Debian's packages"
$sudo apt-get update -q
# Debian's package would start a cluster of its own, which nothing here needs.
$sudo mkdir -p /etc/postgresql-common
[ -f /etc/postgresql-common/createcluster.conf ] || echo 'create_main_cluster = false' | $sudo tee /etc/postgresql-common/createcluster.conf >/dev/null
DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -q --no-install-recommends "${need[@]}"
