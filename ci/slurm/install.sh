#!/usr/bin/env bash
# ci/slurm/install.sh installs Slurm and munge, if they are missing and this user may install
# packages. It exits with 3 and says why if they are then still missing.
set -uo pipefail
PATH=$PATH:/usr/sbin:/sbin

have() { command -v sbatch slurmctld slurmd munged; } >/dev/null 2>&1
missing() { echo "Slurm: $*" >&2; exit 3; }

have && exit 0
command -v apt-get >/dev/null || missing "slurmctld, slurmd or munged is missing, and there is no apt-get"
[ "$(id -u)" = 0 ] || missing "missing; apt-get install slurm-wlm munge"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
# A package must not start its services: the tests start their own.
install() { RUNLEVEL=1 apt-get install -y --no-install-recommends slurm-wlm munge procps >>"$log" 2>&1; }
install || { apt-get update >>"$log" 2>&1 && install; } || { tail -5 "$log" >&2; missing "it cannot be installed"; }
have || missing "it was installed, and slurmctld, slurmd or munged is still missing"
