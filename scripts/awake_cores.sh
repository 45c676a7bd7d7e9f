#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures the gains and costs of keeping idle CPUs awake, with and without it. Nothing else should run.
#
#   scripts/awake_cores.sh            how late sleeping threads wake; goodput at three caps; the time of a training run
#   scripts/awake_cores.sh --runs 5   repeats the training run 5 times each (default 3), alternating; prints medians
set -euo pipefail
cd "$(dirname "$0")/.."

runs=3
if [ "${1:-}" = --runs ]; then runs=${2:?awake_cores: --runs takes a number}; fi
thinpipe=build/release/thinpipe
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

"$thinpipe" doctor | grep 'wake-ups' || true  # its exit status does not matter here

goodput() {
  "$thinpipe" verify three-switch --quick --json --set "bottleneck.rate=$1" "${@:2}" >"$folder/verify.json" || true
  python3 - "$folder/verify.json" <<'PYTHON'
import json, sys
answer = json.load(open(sys.argv[1]))
ratios = [m["measured"] / m["specified"] for m in answer["measurements"] if m["what"] == "goodput of one flow"]
off = [f"{m['subject']} {m['what']}" for m in answer["measurements"] if not m["ok"]]
print(f"{min(ratios):.3f} to {max(ratios):.3f}, {answer['verdict']}" + (f" ({'; '.join(off)})" if off else ""))
PYTHON
}
for rate in '100 Mbit/s' '500 Mbit/s' '1 Gbit/s'; do
  printf 'one flow at %s, as a share of what the cap allows: awake %s\n' "$rate" "$(goodput "$rate" --idle-cores awake)"
  printf 'one flow at %s, as a share of what the cap allows: may sleep %s\n' "$rate" "$(goodput "$rate" --idle-cores may-sleep)"
done

# A training run with much compute and little to exchange.
training() {
  "$thinpipe" run experiments/quickstart.json --only 'topk 0.01' --set 'bottleneck.rate=1 Gbit/s' \
    --results "$folder/$1" --fresh "${@:2}" >/dev/null 2>"$folder/errors" ||
    { cat "$folder/errors" >&2; exit 1; }
  python3 -c 'import glob, json, sys; print(json.load(open(glob.glob(sys.argv[1] + "/*/*/run.json")[0]))["train_time_s"])' "$folder/$1"
}
for ((run = 0; run < runs; ++run)); do
  training awake --idle-cores awake >>"$folder/awake.times"
  training asleep --idle-cores may-sleep >>"$folder/asleep.times"
done
python3 - "$folder" <<'PYTHON'
import statistics, sys
awake, asleep = ([float(line) for line in open(f"{sys.argv[1]}/{name}.times")] for name in ("awake", "asleep"))
print(f"train time, relative to that with CPUs that may sleep: "
      f"{statistics.median(awake) / statistics.median(asleep):.4f} "
      f"(awake {sorted(awake)}, may sleep {sorted(asleep)}, in s)")
PYTHON
