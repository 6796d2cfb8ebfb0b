#!/usr/bin/env bash
# ci/kubernetes/run.sh runs a Kubernetes cluster without kubelets on this machine: the real etcd,
# kube-apiserver and kube-controller-manager, and an agent that runs the containers of pods as
# processes (see agent/main.go).
#
#   run.sh build   builds all programs into $WORK/bin: 15 minutes of processor time the first time
#   run.sh up      starts the cluster; kubectl finds it with KUBECONFIG=$WORK/run/kubeconfig
#   run.sh test    tests vramsoak job kubernetes on the cluster
#   run.sh down    stops the cluster and deletes its data
#   run.sh         all of these, for make test-kubernetes
#
# If something is missing here, the last form says what and exits with 0.
set -euo pipefail
cd "$(dirname "$0")"
repository=$(cd ../.. && pwd)
WORK=${WORK:-$repository/.build/kubernetes}
export VRAMSOAK=${VRAMSOAK:-$repository/bin/vramsoak}
API=127.0.0.1:${API_PORT:-16443} ETCD=127.0.0.1:${ETCD_PORT:-12379}
PEER=127.0.0.1:${PEER_PORT:-12380}
export AGENT=127.0.0.1:${AGENT_PORT:-18090} AGENT_DIR=$WORK/run/agent
S3=$repository/.build/versitygw
export KUBECTL=$WORK/bin/kubectl KUBECONFIG=$WORK/run/kubeconfig
export CGO_ENABLED=0

# missing prints what the cluster needs and this machine does not have.
missing() {
  local program
  for program in go openssl unshare; do
    command -v $program >/dev/null || { echo "$program is missing" && return; }
  done
  # A container is a process in namespaces of its own. Users other than root need a user namespace.
  unshare -mp --fork $([ "$(id -u)" = 0 ] || echo -Ur) true 2>/dev/null ||
    { echo "this machine allows no mount and PID namespaces" && return; }
  go mod download >/dev/null 2>&1 || echo "the Go modules of Kubernetes cannot be downloaded"
}

build() {
  local p
  mkdir -p "$WORK/bin"
  if [ ! -x "$WORK/bin/controlplane" ]; then
    echo "building Kubernetes: about 15 minutes of processor time, only the first time"
  fi
  for p in controlplane kubectl etcd agent; do
    go build -p "${JOBS:-2}" -trimpath -ldflags="-s -w" -o "$WORK/bin/$p" "./$p"
  done
  env -u CGO_ENABLED ../s3/build.sh "$S3" || echo "no S3 server: TestBucket will not run"
}

start() { # NAME COMMAND...
  local name=$1
  shift
  "$@" >"$WORK/run/$name.log" 2>&1 &
  echo $! >"$WORK/run/$name.pid"
}

wait_for() { # SECONDS NAME COMMAND...
  local end=$((SECONDS + $1)) name=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    if ((SECONDS > end)); then
      echo "$name does not come up" >&2
      tail -n 20 "$WORK"/run/*.log >&2
      return 1
    fi
    sleep 0.2
  done
}

up() {
  local certs=$WORK/run/certs token
  down
  mkdir -p "$certs"
  token=$(openssl rand -hex 16)
  (
    umask 077
    echo "$token,admin,admin,system:masters" >"$WORK/run/tokens.csv"
    openssl genrsa -out "$WORK/run/sa.key" 2048 2>/dev/null
    cat >"$KUBECONFIG" <<END
apiVersion: v1
kind: Config
clusters:
  - name: test
    cluster: {server: "https://$API", certificate-authority: "$certs/apiserver.crt"}
users: [{name: admin, user: {token: "$token"}}]
contexts: [{name: test, context: {cluster: test, user: admin}}]
current-context: test
END
  )
  start etcd "$WORK/bin/etcd" --data-dir "$WORK/run/etcd" --unsafe-no-fsync \
    --listen-client-urls "http://$ETCD" --advertise-client-urls "http://$ETCD" \
    --listen-peer-urls "http://$PEER" --initial-advertise-peer-urls "http://$PEER" \
    --initial-cluster "default=http://$PEER"
  # Without an endpoint reconciler, the server does not publish its address: its own API would
  # refuse a loopback address. By default, pods stay 300 s on a lost node.
  start apiserver "$WORK/bin/controlplane" kube-apiserver --etcd-servers "http://$ETCD" \
    --bind-address 127.0.0.1 --secure-port "${API#*:}" --cert-dir "$certs" \
    --endpoint-reconciler-type none --service-cluster-ip-range 10.96.0.0/24 \
    --authorization-mode RBAC --token-auth-file "$WORK/run/tokens.csv" \
    --service-account-issuer https://kubernetes.default.svc \
    --service-account-key-file "$WORK/run/sa.key" \
    --service-account-signing-key-file "$WORK/run/sa.key" \
    --default-not-ready-toleration-seconds 1 --default-unreachable-toleration-seconds 1
  wait_for 60 kube-apiserver "$KUBECTL" get --raw /readyz
  # The controller manager has no port for its health; its first results show that it works. A node
  # is lost after 4 s instead of 50 s.
  start controllers "$WORK/bin/controlplane" kube-controller-manager --kubeconfig "$KUBECONFIG" \
    --leader-elect=false --secure-port 0 --service-account-private-key-file "$WORK/run/sa.key" \
    --root-ca-file "$certs/apiserver.crt" \
    --node-monitor-period 1s --node-monitor-grace-period 4s --controllers "$(
      tr -d ' \n' <<<"job-controller, pod-garbage-collector-controller, node-lifecycle-controller,
        taint-eviction-controller, serviceaccount-controller, garbage-collector-controller,
        namespace-controller, ttl-after-finished-controller,
        root-ca-certificate-publisher-controller, persistentvolumeclaim-protection-controller"
    )"
  # Containers find vramsoak where an image would have it: on the PATH.
  PATH=$(dirname "$VRAMSOAK"):$PATH start agent "$WORK/bin/agent" --kubeconfig "$KUBECONFIG" \
    --listen "$AGENT" --dir "$AGENT_DIR" --capacity "cpu=8,memory=16Gi,pods=32,nvidia.com/gpu=4"
  wait_for 60 kube-controller-manager "$KUBECTL" get serviceaccount/default \
    configmap/kube-root-ca.crt
  wait_for 30 agent "$KUBECTL" get node/node-a node/node-b
}

tests() {
  if [ -x "$S3" ]; then export VERSITYGW=$S3; fi
  go test -count=1 -timeout 30m -v "$@" ./e2e
}

down() {
  local name pid
  for name in agent controllers apiserver etcd; do
    [ -f "$WORK/run/$name.pid" ] || continue
    pid=$(cat "$WORK/run/$name.pid")
    kill "$pid" 2>/dev/null || continue
    for _ in $(seq 100); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
    kill -9 "$pid" 2>/dev/null || true
  done
  rm -rf "$WORK/run"
}

case ${1:-all} in
build | up | down) "$1" ;;
test) shift && tests "$@" ;;
missing) missing ;;
all)
  why=$(missing)
  if [ "$why" ]; then
    echo "make test-kubernetes: not run: $why"
    exit 0
  fi
  build
  trap down EXIT
  up
  tests
  ;;
*)
  sed -n '2,/^set/s/^# \?//p' "$0" >&2
  exit 2
  ;;
esac
