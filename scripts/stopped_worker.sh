#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Replaces thinpipe-trainer, and stops the worker of rank RANK_TO_STOP (default 0) before it begins, so that a debugger
# can attach.
#
#   export THINPIPE_TRAINER=$PWD/scripts/stopped_worker.sh RANK_TO_STOP=1
#   build/dev/thinpipe run EXPERIMENT.json --hang-timeout '1 h' --stall-timeout '1 h'
#
# In another terminal, gdb follows the worker into thinpipe-trainer:
#
#   gdb -p "$(pgrep -f 'work .*worker-1.json')" -ex 'handle SIGSTOP nostop noprint nopass' \
#     -ex 'set breakpoint pending on' -ex 'break thinpipe::trainer::TrainingLoop::run' -ex 'signal SIGCONT'
set -euo pipefail

if [[ "${2:-}" == */worker-${RANK_TO_STOP:-0}.json ]]; then kill -STOP $$; fi
exec "$(dirname "$(realpath "$0")")/../build/dev/thinpipe-trainer" "$@"
