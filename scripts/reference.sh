#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Regenerates the committed results: runs the experiments, exports their records into results/reference, and makes the
# tables and pictures from them. A second call does only what is missing, also after an interruption.
# Let nothing else run beside it: times are measured.
#
#   scripts/reference.sh                    all of them, which takes hours
#   scripts/reference.sh quickstart         one of them
#   scripts/reference.sh --made [NAME]      only tables, pictures and numbers in prose, from the committed records
#   scripts/reference.sh --check [NAME]     compares tables and prose with the committed records, and writes nothing
#   scripts/reference.sh --list             their names
set -euo pipefail
cd "$(dirname "$0")/.."

names=(quickstart bandwidth-by-prune-ratio paper-table1 paper-fig3-small paper-fig6-small convergence
  convergence-language against-pytorch
  replay-against-live full-size peers-at-full-size bucket-sizes merged-entries variable-bandwidth stragglers peers
  learning-rates local-steps against-pytorch-language pactrain-language spardl spardl-latency deepreduce deepreduce-larger sbc sbc-language
  sbc-larger sbc-full-size iwp iwp-full-size gmc language-over-wan wan-by-netem delays-by-netem utilisation sensing filters congestion-control marks)

mode=all
case ${1:-} in
  --help)
    sed -n '3,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
    exit 0
    ;;
  --list)
    printf '%s\n' "${names[@]}"
    exit 0
    ;;
  --made | --check)
    mode=${1#--}
    shift
    ;;
esac
thinpipe=${THINPIPE:-build/release/thinpipe}
if [ ! -x "$thinpipe" ]; then
  echo "reference: there is no $thinpipe; ./quickstart.sh builds it" >&2
  exit 2
fi
if [ "$mode" = all ] && [[ $("$thinpipe" --version) = *uncommitted* ]]; then
  echo "reference: $thinpipe was built with uncommitted changes, so its records name no commit; commit, and build again" >&2
  exit 2
fi

# records NAME [FOLDER [OPTION...]]: of experiments/NAME.json, in results/reference/FOLDER. The options are for the run.
records() {
  local folder=${2:-$1}
  [ "$mode" = all ] || return 0
  local status=0 commit
  commit=$("$thinpipe" --version | sed 's/.*(\([0-9a-f]*\).*/\1/')
  # Not grep -q: it would end at the first match, and the other grep then fails once a pipe is full.
  if grep -hos '"git_commit": "[0-9a-f]*"' "results/reference-runs/$folder/$1"/*/run.json | grep -v "$commit" >/dev/null; then
    echo "reference: $1: runs of an earlier commit stay; remove results/reference-runs/$folder to make all of them again" >&2
  fi
  # shellcheck disable=SC2086  # none or one word
  ${run_by:-} "$thinpipe" run "experiments/$1.json" --results "results/reference-runs/$folder" "${@:3}" || status=$?
  # 1: a run failed, which is a result where runs may diverge.
  [ "$status" = 0 ] || [ "$status-${may_fail:-}" = 1-yes ] || exit "$status"
  mkdir -p "results/reference/$folder"
  "$thinpipe" export "results/reference-runs/$folder/$1" --output "results/reference/$folder/records.jsonl"
}

# also_in NAME: the options to take runs of the same configuration from NAME's, if there are any.
also_in() {
  local others=results/reference-runs/$1/$1
  if [ -d "$others" ]; then echo --reuse "$others"; fi
}

# records_by_netem NAME: the same, but the replays run on a kernel that has sch_netem.
records_by_netem() {
  [ "$mode" = all ] || return 0
  "$thinpipe" run "experiments/$1.json" --results "results/reference-runs/$1" --only '*simulate*'
  run_by=scripts/in_debian_kernel.sh records "$1"
}

# picture NAME SCRIPT [ARGUMENT...]: results/reference/NAME/SCRIPT.png
picture() {
  [ "$mode" != check ] || return 0
  /usr/bin/python3 "plotting/$2.py" "results/reference/$1" --output "results/reference/$1/$2.png" "${@:3}"
}

stale=0

# table PAGE SCRIPT ARGUMENT...: between the page's markers. SCRIPT may be any that has --update.
table() {
  if [ "$mode" != check ]; then
    /usr/bin/python3 "plotting/$2.py" "${@:3}" --update "$1"
    return
  fi
  local copy=$scratch/page.md
  cp "$1" "$copy"
  /usr/bin/python3 "plotting/$2.py" "${@:3}" --update "$copy" 2>"$scratch/messages" || {
    cat "$scratch/messages" >&2
    exit 1
  }
  if ! diff --unified=0 --label "$1" --label "plotting/$2.py ${*:3}" "$1" "$copy"; then stale=1; fi
}

# file_table FILE SCRIPT ARGUMENT...: a table in a file of its own.
file_table() {
  if [ "$mode" != check ]; then
    /usr/bin/python3 "plotting/$2.py" "${@:3}" --output "$1"
    return
  fi
  /usr/bin/python3 "plotting/$2.py" "${@:3}" --output "$scratch/table.md"
  if ! diff --unified=0 --label "$1" --label "plotting/$2.py ${*:3}" "$1" "$scratch/table.md"; then stale=1; fi
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

reference=results/reference

make_quickstart() {
  records quickstart quickstart --repeat 5
  picture quickstart time_to_accuracy
  picture quickstart speedup
  picture quickstart breakdown
  table docs/results/quickstart.md report_block $reference/quickstart
}
make_bandwidth-by-prune-ratio() {
  records bandwidth-by-prune-ratio
  picture bandwidth-by-prune-ratio heat_map
  table docs/results/reproducing-pactrain.md claims_table $reference/bandwidth-by-prune-ratio
}
make_paper-table1() {
  # shellcheck disable=SC2046  # words
  records paper-table1 paper-table1 $(also_in bandwidth-by-prune-ratio)
  file_table $reference/paper-table1/table1.md table1 $reference/paper-table1
}
make_paper-fig3-small() {
  # shellcheck disable=SC2046  # words
  records paper-fig3-small paper-fig3-small $(also_in bandwidth-by-prune-ratio)
  picture paper-fig3-small fig3 --target 0.7
  picture paper-fig3-small fig5 --target 0.7 --hold 3 --where 'model=narrow ResNet' --where 'bottleneck.rate=1 Gbit/s'
}
make_paper-fig6-small() {
  records paper-fig6-small
  picture paper-fig6-small fig6
}
make_convergence() {
  records convergence
  table docs/results/methods.md methods_table $reference/convergence
}
make_convergence-language() {
  records convergence-language
  table docs/results/methods.md methods_table $reference/convergence-language
}
make_against-pytorch() {
  records against-pytorch
  picture against-pytorch waterfall --steps DDP 'dense along the tree' 'PacTrain 0.5' 'PacTrain 0.9' \
    'PacTrain 0.9, ternary' 'PacTrain 0.9, ternary, feedback' 'PowerSGD along the tree' 'DDP, PowerSGD hook'
  table docs/results/against-pytorch.md factors_table $reference/against-pytorch --over DDP 'DDP, fp16 hook' 'DDP, PowerSGD hook'
}
make_replay-against-live() {
  records replay-against-live
  table docs/results/reproducing-pactrain.md replay_table $reference/replay-against-live
  table docs/results/reproducing-pactrain.md predictions_table $reference/replay-against-live
}
make_full-size() {
  records full-size
  file_table $reference/full-size/times.md replay_table $reference/full-size
  table docs/results/reproducing-pactrain.md cost_table $reference/full-size --iterations 19500
}
make_peers-at-full-size() {
  records peers-at-full-size
  table docs/results/performance.md links_table $reference/peers-at-full-size
}
make_bucket-sizes() {
  records bucket-sizes
  table docs/results/performance.md links_table $reference/bucket-sizes --rows buckets.size
}
make_merged-entries() {
  records merged-entries
  table docs/results/performance.md links_table $reference/merged-entries
}
make_variable-bandwidth() {
  records variable-bandwidth
  picture variable-bandwidth time_to_accuracy
  picture variable-bandwidth speedup
}
make_peers() {
  records peers
  file_table $reference/peers/factors.md factors_table $reference/peers --over dense fp16
}
make_learning-rates() {
  may_fail=yes records learning-rates
  table docs/results/methods.md learning_rates_table $reference/learning-rates --experiment experiments/convergence.json
}
make_local-steps() {
  records local-steps
  picture local-steps waterfall --steps 'DDP, PowerSGD hook' 'PowerSGD along the tree' 'PowerSGD along the tree, pruned 0.8' 'PowerSGD, pruned 0.8, 8 local steps' 'PacTrain 0.8, 8 local steps' 'PacTrain 0.8, ternary, 8 local steps'
  table docs/results/against-pytorch.md factors_table $reference/local-steps --over 'dense along the tree' 'PowerSGD along the tree' \
    'DDP, PowerSGD hook'
}
make_against-pytorch-language() {
  records against-pytorch-language
  table docs/results/against-pytorch.md factors_table $reference/against-pytorch-language --over DDP 'DDP, fp16 hook'
}
make_pactrain-language() {
  [ "$mode" != all ] || scripts/plays.sh
  records pactrain-language
  picture pactrain-language time_to_accuracy --target bits_per_byte=3.6
  table docs/results/reproducing-pactrain.md factors_table $reference/pactrain-language --target bits_per_byte=3.6 \
    --over dense fp16
}
make_spardl() {
  records spardl
  table docs/results/reproducing-spardl.md best_peer_table $reference/spardl --of spardl 'spardl, 2 teams'
}
make_spardl-latency() {
  records spardl-latency
  table docs/results/reproducing-spardl.md best_peer_table $reference/spardl-latency \
    --of spardl 'spardl, 2 teams' 'spardl, 7 teams'
}
make_stragglers() {
  records stragglers
  picture stragglers time_to_accuracy
  picture stragglers speedup
}
make_deepreduce() {
  records deepreduce
  table docs/results/reproducing-deepreduce.md volume_table $reference/deepreduce --over dense 'topk 0.1'
}
make_deepreduce-larger() {
  records deepreduce-larger
  table docs/results/reproducing-deepreduce.md volume_table $reference/deepreduce-larger --over dense 'topk 0.1'
}
make_sbc() {
  records sbc
  table docs/results/reproducing-sbc.md bits_table $reference/sbc
}
make_sbc-language() {
  [ "$mode" != all ] || scripts/plays.sh
  records sbc-language
  picture sbc-language level_over_bytes
  table docs/results/reproducing-sbc.md bits_table $reference/sbc-language
}
make_sbc-larger() {
  [ "$mode" != all ] || scripts/plays.sh
  records sbc-larger
  table docs/results/reproducing-sbc.md bits_table $reference/sbc-larger --target 0.15
}
make_sbc-full-size() {
  records sbc-full-size
  table docs/results/reproducing-sbc.md bits_table $reference/sbc-full-size --bytes-only
}
make_language-over-wan() {
  [ "$mode" != all ] || scripts/plays.sh
  records language-over-wan
  picture language-over-wan time_to_accuracy --mode simulate --target bits_per_byte=3.6
  picture language-over-wan level_over_bytes --mode converge --target bits_per_byte=3.6
  table docs/results/wide-area.md factors_table $reference/language-over-wan --target bits_per_byte=3.6 --over dense
}
make_wan-by-netem() {
  records_by_netem wan-by-netem
  table docs/results/wide-area.md replay_table $reference/wan-by-netem
}
make_delays-by-netem() {
  records_by_netem delays-by-netem
  table docs/results/wide-area.md replay_table $reference/delays-by-netem
}
make_filters() {
  records filters
  table docs/explanation/pactrain.md partition_table $reference/filters --columns pruning.ratio
}
make_utilisation() {
  [ "$mode" != all ] || scripts/plays.sh
  records utilisation
  picture utilisation utilisation
  table docs/results/wide-area.md utilisation_table $reference/utilisation
}
make_sensing() {
  records sensing sensing --repeat 3
  picture sensing time_to_accuracy --target 0.83
  table docs/results/wide-area.md factors_table $reference/sensing --target 0.83 --over 'topk 0.03'
}
make_congestion-control() {
  records congestion-control
  table docs/results/congestion.md exchange_table $reference/congestion-control --rows congestion_control \
    --columns bottleneck.queue
}
make_marks() {
  run_by=scripts/in_debian_kernel.sh records marks
  table docs/results/congestion.md exchange_table $reference/marks --rows queue --columns bottleneck.rate
}
make_iwp() {
  records iwp
  picture iwp layer_traffic --where model=LeNet-5 --methods 'iwp 1/64' 'iwp 1/64, no warm-up' 'iwp 1/64 of each layer'
  table docs/results/reproducing-iwp.md bits_table $reference/iwp
}
make_iwp-full-size() {
  records iwp-full-size
  table docs/results/reproducing-iwp.md bits_table $reference/iwp-full-size --bytes-only
}
make_gmc() {
  records gmc
  table docs/results/reproducing-gmc.md partition_table $reference/gmc
}

chosen=("$@")
[ $# -gt 0 ] || chosen=("${names[@]}")
for name in "${chosen[@]}"; do
  if ! declare -F "make_$name" >/dev/null; then
    echo "reference: unknown name \"$name\"; known: ${names[*]}" >&2
    exit 2
  fi
done
for name in "${chosen[@]}"; do
  if [ "$mode" != all ] && [ ! -d "$reference/$name" ]; then
    echo "reference: $name has no committed records yet: scripts/reference.sh $name makes them" >&2
    continue
  fi
  [ "$mode" = check ] || printf '== %s\n' "$name"
  "make_$name"
done
# Of all experiments together.
table docs/results/references.md references_table $reference
table docs/results/predictions.md advice_table $reference/*/records.jsonl
table docs/results/claims.md paper_claims
# From scripts/encode_speed.sh.
table docs/results/methods.md speed_table $reference/encode-decode.json
# From scripts/compute_profiles.py, which needs a GPU.
table docs/reference/records.md profiles_table $reference/compute-profiles
[ "$mode" = check ] || /usr/bin/python3 plotting/advise.py three-switch --parameters 25e6 --compute '120 ms' \
  --output $reference/advise.png
# From scripts/command_times.py, which takes the times of the pages' commands.
if [ "$mode" != check ]; then
  scripts/command_times.py --write
elif ! scripts/command_times.py --check; then
  stale=1
fi
# Marked numbers in the prose of all pages.
if [ "$mode" = check ]; then
  status=0
  /usr/bin/python3 plotting/prose_numbers.py || status=$?
  case $status in
    0) ;;
    1) stale=1 ;;
    *) exit 1 ;;
  esac
else
  /usr/bin/python3 plotting/prose_numbers.py --update
fi
if [ $stale -ne 0 ]; then
  echo "reference: the tables and numbers above differ from the committed records; update them with" \
    "scripts/reference.sh --made" >&2
  exit 1
fi
