#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes a figure or table of a paper, from the runs to the picture. A second call does only what is missing.
#
#   scripts/reproduce.sh fig3 --small         time to the target relative to dense, by model, cap and method
#   scripts/reproduce.sh fig5 --small         accuracy over time and iterations per second, at 1 Gbit/s
#   scripts/reproduce.sh fig6 --small         accuracy at the end of training, by prune ratio
#   scripts/reproduce.sh table1               the needs of each method, and when it reaches the target
#   scripts/reproduce.sh pactrain-language    a small GPT and an LSTM on Shakespeare's plays
#   scripts/reproduce.sh iwp                  Importance Weighted Pruning: accuracy and bytes (docs/results/reproducing-iwp.md)
#   scripts/reproduce.sh sbc                  Sparse Binary Compression: accuracy and bits (docs/results/reproducing-sbc.md)
#   scripts/reproduce.sh gmc                  Global Momentum Compression: accuracy by partition of the data
#   scripts/reproduce.sh spardl               SparDL's exchange times next to its peers' (docs/results/reproducing-spardl.md)
#   scripts/reproduce.sh deepreduce           volumes of DeepReduce's codes (docs/results/reproducing-deepreduce.md)
#
# The first five are the PacTrain paper's. Without --small, figures are at its scale, which needs CIFAR-10 (docs/reference/data.md)
# and a build with CUDA. Each point runs with one seed; the committed records (scripts/reference.sh) have more. Further
# arguments go to thinpipe run: --repeat 3 trains with three seeds, --dry-run shows the plan.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ $# -eq 0 ] || [ "$1" = --help ]; then
  sed -n '3,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
  exit $(($# == 0 ? 2 : 0))
fi
figure=$1
shift
size=
if [ "${1:-}" = --small ]; then
  size=-small
  shift
fi
further=("$@")
is_dry=
seeds=(--repeat 1)
for argument in "$@"; do
  case $argument in
    --dry-run) is_dry=yes ;;
    --repeat | --repeat=*) seeds=() ;;
  esac
done

thinpipe=build/release/thinpipe
if [ ! -x "$thinpipe" ]; then
  echo "reproduce: there is no $thinpipe; ./quickstart.sh builds it" >&2
  exit 2
fi

# run EXPERIMENT [OPTION...]: the missing runs.
run() {
  "$thinpipe" run "experiments/$1.json" "${@:2}" "${seeds[@]}" "${further[@]}"
}

# show SCRIPT EXPERIMENT [OPTION...]: a picture or table of its results.
show() {
  [ -n "$is_dry" ] || /usr/bin/python3 "plotting/$1.py" "results/$2" "${@:3}"
}

case $figure in
  fig3)
    run "paper-fig3$size"
    show fig3 "paper-fig3$size" ${size:+--target 0.7}
    ;;
  fig6)
    run "paper-fig6$size"
    show fig6 "paper-fig6$size"
    ;;
  # One model and one cap of the grid.
  fig5)
    model=ResNet152
    [ -z "$size" ] || model='narrow ResNet'
    run "paper-fig3$size" --only "$model, *1 Gbit/s*"
    show fig5 "paper-fig3$size" --where "model=$model" --where 'bottleneck.rate=1 Gbit/s' ${size:+--target 0.7} \
      --output "results/paper-fig3$size/fig5.png"
    ;;
  table1)
    run paper-table1
    show table1 paper-table1
    ;;
  pactrain-language)
    scripts/plays.sh
    run pactrain-language
    show time_to_accuracy pactrain-language --target bits_per_byte=3.6
    show factors_table pactrain-language --target bits_per_byte=3.6 --over dense fp16
    ;;
  iwp)
    run iwp
    show bits_table iwp
    show layer_traffic iwp --where model=LeNet-5
    run iwp-full-size
    show bits_table iwp-full-size --bytes-only
    ;;
  sbc)
    scripts/plays.sh
    for each in sbc sbc-language; do
      run "$each"
      show bits_table "$each"
    done
    show level_over_bytes sbc-language
    run sbc-larger
    show bits_table sbc-larger --target 0.15
    run sbc-full-size
    show bits_table sbc-full-size --bytes-only
    ;;
  gmc)
    run gmc
    show partition_table gmc
    ;;
  spardl)
    run spardl-latency
    show best_peer_table spardl-latency --of spardl 'spardl, 2 teams' 'spardl, 7 teams'
    # The papers' least and usual numbers of workers; all of the experiment takes hours.
    run spardl --only 'vgg16, 6, *'
    run spardl --only 'vgg16, 14, *'
    show best_peer_table spardl --of spardl 'spardl, 2 teams' 'spardl, u16' 'spardl, 2 teams, u16'
    ;;
  deepreduce)
    run deepreduce
    show volume_table deepreduce --over dense 'topk 0.1'
    run deepreduce-larger
    show volume_table deepreduce-larger --over dense 'topk 0.1'
    ;;
  *)
    echo "reproduce: unknown figure \"$figure\"; known: fig3, fig5, fig6, table1, pactrain-language, iwp, sbc, gmc, spardl," \
      "deepreduce" >&2
    exit 2
    ;;
esac
[ -n "$is_dry" ] || echo "reproduce: $figure took $((SECONDS / 60)) min $((SECONDS % 60)) s" >&2
