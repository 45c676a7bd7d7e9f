#!/usr/bin/env bash
# Makes a figure or table of the PacTrain paper, or of a peer's, from the runs to the picture. A second call does only
# what is missing.
# Makes a figure or table of a paper, from the runs to the picture. A second call does only what is missing.
# Makes a figure or table of the PacTrain paper, or the tables of another, from the runs to the picture. A second call does only what is missing.
#
#   scripts/reproduce.sh fig3 --small    time to the target relative to dense, by model, cap and method
#   scripts/reproduce.sh fig5 --small    accuracy over time and iterations per second, at 1 Gbit/s
#   scripts/reproduce.sh fig6 --small    accuracy at the end of training, by prune ratio
#   scripts/reproduce.sh table1          the needs of each method, and when it reaches the target
#   scripts/reproduce.sh pactrain-language   a small GPT and an LSTM on Shakespeare's plays
#   scripts/reproduce.sh spardl          SparDL's exchange times next to its peers' (docs/reproducing-spardl.md)
#   scripts/reproduce.sh deepreduce      volumes of DeepReduce's codes, from its Table 2
#   scripts/reproduce.sh sbc             Sparse Binary Compression's bits per weight (docs/reproducing-sbc.md)
#   scripts/reproduce.sh iwp             Importance Weighted Pruning's (docs/reproducing-iwp.md)
#
# Figures and table1 are the PacTrain paper's. Without --small they are at its scale, which needs CIFAR-10 (docs/data.md)
# and a build with CUDA. Further arguments go to thinpipe run: --dry-run shows the plan. docs/reproducing-*.md have the
# results.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ $# -eq 0 ] || [ "$1" = --help ]; then
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
  exit $(($# == 0 ? 2 : 0))
fi
figure=$1
shift
size=
if [ "${1:-}" = --small ]; then
  size=-small
  shift
fi

thinpipe=build/release/thinpipe
if [ ! -x "$thinpipe" ]; then
  echo "reproduce: there is no $thinpipe; ./quickstart.sh builds it" >&2
  exit 2
fi

script=$figure
only=()
selection=()
# Those of a paper whose result is a table of bits for each; empty for figures and Table 1.
experiments=()
case $figure in
  fig3 | fig6) experiment=paper-$figure$size ;;
  # One model and one cap of the grid.
  fig5)
    experiment=paper-fig3$size
    model=ResNet152
    [ -z "$size" ] || model='narrow ResNet'
    only=(--only "$model, *1 Gbit/s*")
    selection=(--where "model=$model" --where 'bottleneck.rate=1 Gbit/s' --output results/$experiment/fig5.png)
    ;;
  table1) experiment=paper-table1 ;;
  pactrain-language)
    experiment=pactrain-language
    scripts/setup.sh text
    scripts/shakespeare.py results/data/roles
    ;;
  spardl)
    scripts/reproduce.sh spardl-latency "$@"
    experiment=spardl
    figure=best_peer_table
    selection=(--of spardl 'spardl, 2 teams')
    ;;
  spardl-latency)
    experiment=spardl-latency
    figure=best_peer_table
    selection=(--of spardl 'spardl, 2 teams' 'spardl, 7 teams')
    ;;
  deepreduce)
    experiment=deepreduce
    script=volume_table
    selection=(--over dense 'topk 0.1')
    ;;
  sbc) experiments=(sbc sbc-language sbc-full-size) ;;
  iwp) experiments=(iwp iwp-full-size) ;;
  *)
    echo "reproduce: unknown figure \"$figure\"; known: fig3, fig5, fig6, table1, pactrain-language, spardl, deepreduce, sbc, iwp" >&2
    exit 2
    ;;
esac

is_dry=
for argument in "$@"; do
  [ "$argument" != --dry-run ] || is_dry=yes
done
case $figure in
  pactrain-language)
    /usr/bin/python3 plotting/time_to_accuracy.py "results/$experiment"
    /usr/bin/python3 plotting/factors_table.py "results/$experiment" --over dense fp16
    ;;
  *) /usr/bin/python3 "plotting/$figure.py" "results/$experiment" "${selection[@]}" ;;
esac
/usr/bin/python3 "plotting/$script.py" "results/$experiment" "${selection[@]}"
for each in "${experiments[@]}"; do
  "$thinpipe" run "experiments/$each.json" "$@"
  bytes_only=()
  [[ $each != *-full-size ]] || bytes_only=(--bytes-only)
  [ -n "$is_dry" ] || /usr/bin/python3 plotting/bits_table.py "results/$each" "${bytes_only[@]}"
  [ -n "$is_dry" ] || [ "$each" != iwp ] ||
    /usr/bin/python3 plotting/layer_traffic.py results/iwp --where model=LeNet-5
done
[ ${#experiments[@]} -eq 0 ] || exit 0

"$thinpipe" run "experiments/$experiment.json" "${only[@]}" "$@"
[ -z "$is_dry" ] || exit 0
/usr/bin/python3 "plotting/$figure.py" "results/$experiment" "${selection[@]}"
