#!/usr/bin/env bash
# ci/s3/build.sh PROGRAM builds versitygw, an S3 server that keeps its data on the disk, from the
# module in this folder. The first build takes some minutes, later ones seconds. The exit code is 3
# if it cannot be built here.
set -euo pipefail

program=$(realpath -m "$1")
cd "$(dirname "$0")"
if ! go build -o "$program" github.com/versity/versitygw/cmd/versitygw; then
  echo "s3: versitygw cannot be built here; its modules come from the Go module proxy" >&2
  exit 3
fi
