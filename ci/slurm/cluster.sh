#!/usr/bin/env bash
# ci/slurm/cluster.sh runs a Slurm cluster of two nodes on this machine, for tests. It needs Slurm
# and munge (install.sh), and no systemd, no cgroups and no configuration in /etc.
#
#     cluster.sh start            starts it and prints its nodes
#     cluster.sh stop             cancels all jobs and stops it
#     cluster.sh kill-node N      kills node N with all that it runs, as a power failure does
#     cluster.sh silence N        kills only the slurmd of node N: Slurm takes the node for dead, and
#                                 its tasks go on
#     cluster.sh start-node N     starts node N again
#     cluster.sh status
#
# The cluster lives in CLUSTER, a folder with a short path, because it has sockets. A client needs
# SLURM_CONF=CLUSTER/etc/slurm.conf. The ports are PORT (16817), PORT+1 and PORT+2.
set -euo pipefail

cluster=${CLUSTER:?expected the folder of the cluster, such as /tmp/slurm}
port=${PORT:-16817}
host=$(hostname -s)
user=$(id -un)
export SLURM_CONF=$cluster/etc/slurm.conf PATH=$PATH:/usr/sbin:/sbin

# up PID: is there such a process, and is it no zombie?
up() {
  case "$(sed 's/.*) //; s/ .*//' "/proc/$1/stat" 2>/dev/null)" in
    '' | Z | X) return 1 ;;
  esac
}

alive() { [ -s "$1" ] && up "$(cat "$1")"; } # PIDFILE

# stop_daemon PIDFILE: SIGTERM, and SIGKILL after 10 seconds.
stop_daemon() {
  local pid
  alive "$1" || return 0
  pid=$(cat "$1")
  kill "$pid"
  for _ in {1..100}; do
    up "$pid" || return 0
    sleep 0.1
  done
  kill -9 "$pid"
}

# Without accounting, jobs that ended are in jobcomp.log. GPUs are any device files that exist.
# cred_expire is how long Slurm waits before it starts a requeued job, and SlurmdTimeout is when it
# gives up a node that does not answer; both are minutes by default. CR_LLN gives each task to the
# node that has the least to do.
configure() {
  umask 022
  mkdir -p "$cluster"/{etc,run,state,log,spool-n1,spool-n2}
  cat >"$cluster/etc/slurm.conf" <<-CONF
	ClusterName=test
	SlurmctldHost=$host(127.0.0.1)
	SlurmctldPort=$port
	SlurmUser=$user
	SlurmdUser=$user
	AuthType=auth/munge
	CredType=cred/munge
	AuthInfo=socket=$cluster/run/munge.sock,cred_expire=5
	SlurmctldPidFile=$cluster/run/slurmctld.pid
	SlurmdPidFile=$cluster/run/slurmd-%n.pid
	StateSaveLocation=$cluster/state
	SlurmdSpoolDir=$cluster/spool-%n
	SlurmctldLogFile=$cluster/log/slurmctld.log
	SlurmdLogFile=$cluster/log/slurmd-%n.log
	ProctrackType=proctrack/linuxproc
	TaskPlugin=task/none
	JobAcctGatherType=jobacct_gather/none
	AccountingStorageType=accounting_storage/none
	JobCompType=jobcomp/filetxt
	JobCompLoc=$cluster/log/jobcomp.log
	MpiDefault=none
	SelectType=select/cons_tres
	SelectTypeParameters=CR_CPU,CR_LLN
	SchedulerType=sched/backfill
	SchedulerParameters=batch_sched_delay=0,sched_interval=2,sched_min_interval=0,bf_interval=2
	SlurmdParameters=config_overrides
	ReturnToService=2
	SlurmdTimeout=10
	KillWait=5
	MinJobAge=3600
	JobRequeue=1
	PreemptType=preempt/partition_prio
	PreemptMode=REQUEUE
	GresTypes=gpu
	NodeName=n[1-2] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$((port + 1))-$((port + 2))] CPUs=8 RealMemory=2000 Gres=gpu:4 State=UNKNOWN
	PartitionName=main Nodes=n[1-2] Default=YES MaxTime=INFINITE State=UP PriorityTier=1 GraceTime=5
	PartitionName=urgent Nodes=n[1-2] MaxTime=INFINITE State=UP PriorityTier=10 PreemptMode=OFF
	CONF
  {
    echo AutoDetect=off
    for device in null zero full random; do echo "NodeName=n[1-2] Name=gpu File=/dev/$device"; done
  } >"$cluster/etc/gres.conf"
  echo CgroupPlugin=cgroup/v1 >"$cluster/etc/cgroup.conf"
}

start_node() { alive "$cluster/run/slurmd-$1.pid" || slurmd -N "$1"; }

start() {
  configure
  if ! alive "$cluster/run/munged.pid"; then
    [ -s "$cluster/etc/munge.key" ] ||
      (umask 077 && head -c 1024 /dev/urandom >"$cluster/etc/munge.key")
    munged --key-file="$cluster/etc/munge.key" --socket="$cluster/run/munge.sock" \
      --pid-file="$cluster/run/munged.pid" --log-file="$cluster/log/munged.log" \
      --seed-file="$cluster/run/munged.seed"
  fi
  alive "$cluster/run/slurmctld.pid" || slurmctld
  start_node n1
  start_node n2
  for _ in {1..150}; do
    if [ "$(sinfo -h -N -p main -o %T 2>/dev/null | grep -cE '^(idle|mixed|allocated)$')" = 2 ]; then
      sinfo -N -p main -o '%N %T %c CPUs %G'
      return
    fi
    sleep 0.2
  done
  echo "cluster.sh: the nodes are not idle after 30 s" >&2
  sinfo -N -l >&2
  tail "$cluster"/log/*.log >&2
  return 1
}

stop() {
  if alive "$cluster/run/slurmctld.pid"; then
    scancel -u "$user" 2>/dev/null || true
    for _ in {1..75}; do
      [ "$(squeue -h 2>/dev/null)" ] || break
      sleep 0.2
    done
  fi
  for daemon in slurmd-n1 slurmd-n2 slurmctld munged; do stop_daemon "$cluster/run/$daemon.pid"; done
}

# tree PID prints the process and all below it.
tree() {
  echo "$1"
  local child
  for child in $(pgrep -P "$1"); do tree "$child"; done
}

# The batch shells of a node run scripts in its spool folder. Their parents are slurmstepds, which
# are not children of slurmd: they outlive it.
kill_node() {
  local shell parent
  kill -9 "$(cat "$cluster/run/slurmd-$1.pid")" 2>/dev/null || true
  for shell in $(pgrep -f "^/bin/[a-z]*sh $cluster/spool-$1/job"); do
    parent=$(ps -o ppid= -p "$shell" | tr -d ' ')
    case $parent in
      '' | 1) parent=$shell ;; # its slurmstepd has died already
    esac
    # shellcheck disable=SC2046
    kill -9 $(tree "$parent") 2>/dev/null || true
  done
}

case ${1:-} in
  start) start ;;
  stop) stop ;;
  kill-node) kill_node "${2:?expected a node, n1 or n2}" ;;
  silence) kill -9 "$(cat "$cluster/run/slurmd-${2:?expected a node, n1 or n2}.pid")" ;;
  start-node) start_node "${2:?expected a node, n1 or n2}" ;;
  status) sinfo -N -o '%N %T %c %G %E'; squeue ;;
  *)
    sed -n '2,14s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
