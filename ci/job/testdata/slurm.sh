#!/bin/bash
# Soaks one batch with 8 tasks of a Slurm array, and judges them as one run: nightly-42.
#
#   sbatch SCRIPT          a short job submits the array and the judge, as in: vramsoak ... | sbatch
#   bash SCRIPT            submits them from here, if the nodes must not submit jobs
#   bash SCRIPT --wait     also waits for the judge, and exits with its code:
#                          0 pass, 1 a check failed, 2 trouble, 3 undecided
#
# Submit it again to continue: a shard that is complete does nothing, and the others go on where
# their logs end. Do that only when the jobs of before have ended.
#
# The job that submits. It also decides where the verdict is: nightly-42.out
#SBATCH --job-name=nightly-42-submit
#SBATCH --ntasks=1
#SBATCH --time=5
#SBATCH --output=nightly-42.out
#SBATCH --open-mode=append
#SBATCH --partition=gpu
#SBATCH --account=speech
#SBATCH --partition=cpu
set -euo pipefail

# In a job, sbatch and vramsoak would take the variables of that job for their own.
for name in ${!SLURM_*} ${!SBATCH_*}; do
  [ "$name" = SLURM_CONF ] || unset "$name"
done

# Slurm does not make the folder of a job's output.
mkdir -p '/shared/my runs/nightly-42/slurm'

shards() {
  cat <<'END_OF_SHARDS'
#!/bin/bash
#SBATCH --job-name=nightly-42
# One task for each shard. vramsoak computes the share of a task from its id.
#SBATCH --array=1-8%4
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=4
#SBATCH --mem=32G
#SBATCH --gres=gpu:a100:1
#SBATCH --partition=gpu
#SBATCH --account=speech
#SBATCH --time=4:00:00
# Slurm queues a task again if its node fails or if the task is preempted.
#SBATCH --requeue
# A task that starts again adds to its output. Without this, Slurm overwrites the output.
#SBATCH --open-mode=append
#SBATCH --output="/shared/my runs/nightly-42/slurm/%a-%A.out"
# Before the time limit, Slurm signals this shell and nothing else ("B:"). If the pipeline got the
# signal too, it would end by itself, and that would look like a crash.
#SBATCH --signal=B:USR1@90
#SBATCH --constraint=a100

soak='' over='' ended=''
stop() { if [ "$soak" ]; then kill -TERM "$soak" 2>/dev/null; fi; }
trap 'over=1; stop' USR1
# If Slurm ends the task (scancel, preemption, the time limit), each of its processes gets SIGTERM:
# vramsoak, which stops, and this shell, which only has to wait for vramsoak. Slurm has then decided
# whether the task is queued again.
trap 'ended=1' TERM

set -e
module load cuda
source venv/bin/activate
set +e
echo "$(date -u +%FT%TZ) task $SLURM_ARRAY_TASK_ID on ${SLURMD_NODENAME:-$HOSTNAME}," \
  "start $((${SLURM_RESTART_COUNT:-0} + 1))"

# No srun: the soak is one process on one node, and has the GPUs of the task without it. A step of
# srun would get every signal in all of its processes, and would depend on one more connection.
# For a pipeline on several nodes, put srun into the command after --.
vramsoak soak --shard auto --runs '/shared/my runs' --run nightly-42 --files batch.txt \
  --timeout 10m -- python transcribe.py --list '{list}' &
soak=$!
if [ "$over" ]; then stop; fi # the signal came before the soak
while kill -0 "$soak" 2>/dev/null; do wait "$soak"; done # a signal ends wait, not the soak
wait "$soak"
code=$?

# Exit code 0: the shard is complete, whatever its files show; the judge decides. 2: a mistake, or
# another task has taken the shard; another start would not help. Above 128: a signal ended
# vramsoak, because the time was over, or for example because the node had no memory left; then the
# task starts again. The number of starts is limited, because a file that needs more than the time
# limit would start for ever.
if [ "$code" -gt 128 ] && [ ! "$ended" ]; then
  if [ "${SLURM_RESTART_COUNT:-0}" -lt 20 ]; then
    echo "task $SLURM_ARRAY_TASK_ID: exit code $code; queueing it again"
    scontrol requeue "$SLURM_JOB_ID" && sleep 60 # Slurm ends this shell
  else
    echo "task $SLURM_ARRAY_TASK_ID: exit code $code; it has started too often to be queued again"
  fi
fi
exit "$code"
END_OF_SHARDS
}

judge() {
  cat <<'END_OF_JUDGE'
#!/bin/bash
#SBATCH --job-name=nightly-42-judge
#SBATCH --ntasks=1
#SBATCH --output=nightly-42.out
#SBATCH --open-mode=append
#SBATCH --partition=gpu
#SBATCH --account=speech
#SBATCH --partition=cpu
vramsoak check '/shared/my runs/nightly-42'
code=$?
if [ "$code" -eq 2 ]; then
  echo "if the shards could not begin, the output of the tasks says why:" '/shared/my runs/nightly-42/slurm'
fi
exit "$code"
END_OF_JUDGE
}

array=$(shards | sbatch --parsable)
array=${array%%;*} # with several clusters, sbatch adds ";CLUSTER"

# afterany: the judge also runs after shards that failed, and names them. It needs no GPU. Its exit
# code is the verdict: sacct and scontrol show it as ExitCode.
waiting=''
if [ "${1-}" = --wait ]; then waiting=--wait; fi
judge | sbatch --parsable $waiting --dependency=afterany:"$array" | {
  if ! read -r id; then
    echo "the judge was not submitted (see above); the shards are cancelled" >&2
    scancel "$array"
    exit 2
  fi
  echo "nightly-42: 8 shards are job $array, their judge is job ${id%%;*}"
  echo "the judge prints its verdict to nightly-42.out, the tasks print to" '/shared/my runs/nightly-42/slurm'
}
