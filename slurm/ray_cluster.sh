#!/usr/bin/env bash
# One Ray node of a Slurm job. pipeline.sbatch has srun start it once on every node: task 0 is the head, the others join.
# It stays until it gets SIGUSR1 or SIGTERM, ends its own Ray processes only (never `ray stop`: other jobs of the same user may have
# a Ray on this node too), and then removes the temporary folder that it made.
set -euo pipefail

: "${SLURM_PROCID:?start it by srun inside a Slurm job, as slurm/pipeline.sbatch does}"
: "${LIFELOOP_HEAD_IP:?the address of the first node, as slurm/pipeline.sbatch finds it}"
: "${LIFELOOP_FIRST_PORT:?the first port of this job, as slurm/pipeline.sbatch finds it}"
: "${RAY_AUTH_TOKEN_PATH:?the file with the token of this cluster}"
ray=${LIFELOOP_RAY:-.venv/bin/ray}
wait_s=${LIFELOOP_WAIT_S:-600}
# Nodes of one job use the same ports, since each is a machine of its own. A stride keeps them apart where Slurm nodes
# share one machine, as in a test.
stride=${LIFELOOP_PORT_STRIDE:-0}
first=$((LIFELOOP_FIRST_PORT + SLURM_NODEID * stride))
last=$((first + (stride > 0 ? stride : 1000) - 1))
# Short, since Ray puts sockets below it whose paths may have 107 characters; on the node's own disk, never on a network.
temp=${LIFELOOP_TMP:-/tmp}/ll-$SLURM_JOB_ID-${SLURM_RESTART_COUNT:-0}-$SLURM_NODEID

say() { echo "ray on $(hostname -s), node $SLURM_NODEID: $*" >&2; }
answers() { (exec 3<>"/dev/tcp/$1/$2") 2>/dev/null; }

for port in $(seq "$first" $((first + 8))); do
  if answers 127.0.0.1 "$port"; then
    say "port $port is taken; this job uses $first-$last. Set LIFELOOP_FIRST_PORT to a free block of 1000 and submit again"
    exit 1
  fi
done

options=(
  --block
  --num-cpus="${SLURM_CPUS_PER_TASK:-$(nproc)}"
  --num-gpus="${SLURM_GPUS_ON_NODE:-0}"
  --temp-dir="$temp"
  --node-manager-port=$((first + 3))
  --object-manager-port=$((first + 4))
  --dashboard-agent-listen-port=$((first + 5))
  --dashboard-agent-grpc-port=$((first + 6))
  --runtime-env-agent-port=$((first + 7))
  --metrics-export-port=$((first + 8))
  --min-worker-port=$((first + 10))
  --max-worker-port="$last"
)
if [[ $SLURM_PROCID -eq 0 ]]; then
  options+=(
    --head
    --node-ip-address="$LIFELOOP_HEAD_IP"
    --port="$LIFELOOP_FIRST_PORT"
    --dashboard-port=$((first + 1))
    --ray-client-server-port=$((first + 2))
    --disable-usage-stats
  )
else
  until_s=$((SECONDS + wait_s))
  until answers "$LIFELOOP_HEAD_IP" "$LIFELOOP_FIRST_PORT"; do
    if ((SECONDS >= until_s)); then
      say "the head $LIFELOOP_HEAD_IP:$LIFELOOP_FIRST_PORT did not answer within $wait_s s; look at its lines above"
      exit 1
    fi
    sleep 1
  done
  options+=(--address="$LIFELOOP_HEAD_IP:$LIFELOOP_FIRST_PORT")
fi

if ! mkdir "$temp"; then
  say "$temp can't be made; set LIFELOOP_TMP to a short path on the node's own disk"
  exit 1
fi
stopping=
"$ray" start "${options[@]}" >"$temp/start.log" 2>&1 &
node=$!
trap 'stopping=yes; kill -TERM "$node" 2>/dev/null || true' USR1 TERM INT
status=0
# A trapped signal ends `wait` early: wait again until the node is gone.
while kill -0 "$node" 2>/dev/null; do
  status=0
  wait "$node" || status=$?
done
if [[ -z $stopping ]]; then
  say "ended by itself with status $status; its logs stay in $temp, the last lines are:"
  tail -n 20 "$temp/start.log" >&2
  exit 1
fi
rm -rf "$temp"
