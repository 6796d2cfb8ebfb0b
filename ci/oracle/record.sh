#!/usr/bin/env bash
# record.sh DIR makes a trace in DIR from each memory snapshot that PyTorch wrote on a real card.
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: ci/oracle/record.sh DIR" >&2; exit 2; }
rm -rf "$1"
mkdir -p "$1"
for snapshot in fixtures/logs/torch_snapshot/*.pickle fixtures/h[12]00/*.pickle.gz; do
	bin/vramsoak snapshot "$snapshot" --device 0 --trace "$1/$(basename "${snapshot%.gz}" .pickle).trace" >/dev/null
done
