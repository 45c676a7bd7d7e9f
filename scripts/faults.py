# SPDX-License-Identifier: Apache-2.0
"""The faults that planted_faults.py plants: edits, and the tests that should catch them."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    name: str
    file: str
    old: str  # occurs exactly once in the file
    new: str
    program: str  # the target to build
    tests: str  # expected to catch the fault: a GoogleTest filter of the program, or the name of a test of CTest's
    is_ctest: bool = False

    @property
    def room(self) -> str:
        return os.path.dirname(self.file)


FAULTS = [
    Fault(
        name="dropped residual",
        file="trainer/synchronisers/methods/topk.cc",
        old="applied ? residual_.commit() : residual_.discard();",
        new="if (!applied) residual_.discard();",
        program="synchroniser_tests",
        tests="TopK.*",
    ),
    Fault(
        name="lost rounding of a lossy code",
        file="trainer/synchronisers/sparse/sparsifier.cc",
        old="""\
  if (code_->is_lossless()) {
    for (const std::uint32_t index : indices) values[index] = 0;
    store_residual(bucket, indices);
  } else {
    store_residual(bucket, subtract_decoded(message, header, own, values));
  }
""",
        new="""\
  for (const std::uint32_t index : indices) values[index] = 0;
  store_residual(bucket, indices);
""",
        program="synchroniser_tests",
        tests="All/DeepReduce.*",
    ),
    Fault(
        name="lost sign",
        file="trainer/synchronisers/quantised/sign_compressor.cc",
        old="per_group_ == 2 ? numbers[i + 1] : -numbers[i]",
        new="per_group_ == 2 ? numbers[i + 1] : numbers[i]",
        program="synchroniser_tests",
        tests="ScaledSign.*",
    ),
    Fault(
        name="pattern taken for stable",
        file="trainer/synchronisers/packed/mask_tracker.cc",
        old="confirmed ? staged_->count + 1 : 0;",
        new="confirmed ? staged_->count + 1 : staged_->count;",
        program="synchroniser_tests",
        tests="MaskTracker.*",
    ),
    Fault(
        name="last entries not rotated",
        file="trainer/synchronisers/transforms/block_rotation.cc",
        old="  if (whole < signs_.size()) flip_signs(signs_[whole], rotated.subspan(whole * signs_per_word));\n",
        new="",
        program="core_tests",
        tests="BlockRotation.*",
    ),
    Fault(
        name="wrong byte count",
        file="trainer/collectives/metered.cc",
        old="(input.numel() - send_counts[rank()]) * element_size",
        new="input.numel() * element_size",
        program="collective_tests",
        tests="MeteredCollective.*",
    ),
    Fault(
        name="swapped rank",
        file="trainer/collectives/backends/in_process.cc",
        old="std::accumulate(counts.begin(), counts.begin() + rank_, std::int64_t{0})",
        new="std::accumulate(counts.begin(), counts.begin() + r, std::int64_t{0})",
        program="collective_tests",
        tests="Worlds/CollectiveTest.AllToAllGivesEveryoneItsPart/*-*/gloo_of_1:*/gloo_of_5:*/gloo_of_8",
    ),
    Fault(
        name="unhandled NaN",
        file="trainer/exchange/gradient_exchange.cc",
        old="finite_ = finite_ && std::isfinite(bucket.gradient.sum().item<float>());",
        new="finite_ = finite_ && !std::isinf(bucket.gradient.sum().item<float>());",
        program="trainer_tests",
        tests="TrainingLoop.AllSkipTheStepInWhichOneWorkerMeetsNaN",
    ),
    Fault(
        name="momentum lost on resume",
        file="trainer/training/training_loop.cc",
        old='  restore_optimiser(*optimiser_, state.at("optimiser"));\n',
        new="",
        program="trainer_tests",
        tests="All/EveryMethod.GoesOnFromACheckpointAsIfNothingHadHappened/dense",
    ),
    Fault(
        name="option that never arrives",
        file="trainer/optimisers/adamw.cc",
        old=".weight_decay(options.weight_decay)",
        new="",
        program="trainer_tests",
        tests="All/OptimiserEquation.*",
    ),
    Fault(
        name="momentum of pruned weights",
        file="trainer/pruning/enforcement.cc",
        old="buffer.masked_fill_(pruned, 0);",
        new="buffer.masked_fill(pruned, 0);",
        program="pruning_tests",
        tests="*EveryOptimiser.*",
    ),
    Fault(
        name="overlapping batches",
        file="trainer/datasets/batch_sampler.cc",
        old="(iteration * options_.world_size + options_.rank) * options_.batch_size_per_worker",
        new="(iteration + options_.rank) * options_.batch_size_per_worker",
        program="dataset_tests",
        tests="BatchSampler.*",
    ),
    Fault(
        name="rectifier before the shortcut",
        file="trainer/models/residual_network.cc",
        old="return torch::relu(bn2_(conv2_(torch::relu(bn1_(conv1_(x))))) + shortcut);",
        new="return torch::relu(bn2_(conv2_(torch::relu(bn1_(conv1_(x)))))) + shortcut;",
        program="thinpipe-trainer",
        tests="forward_test",
        is_ctest=True,
    ),
    Fault(
        name="buckets replayed too early",
        file="trainer/replay/replayer.cc",
        old="compute_.reach(times_.load_s + layout[b].ready_s);",
        new="compute_.reach(layout[b].ready_s);",
        program="replayer_tests",
        tests="Replayer.WaitsWhereTheTrainingComputes",
    ),
    Fault(
        name="bucket that does not wait for all",
        file="common/protocol/timed_layout.cc",
        old="timed.ready_s = std::max(timed.ready_s, times.ready_s[p]);",
        new="timed.ready_s = times.ready_s[p];",
        program="protocol_tests",
        tests="TimedLayout.*",
    ),
    Fault(
        name="record written in place",
        file="common/support/atomic_file.cc",
        old="temporary_(temporary_name(path_))",
        new="temporary_(path_)",
        program="harness_tests",
        tests="WriteAtomically.*",
    ),
    Fault(
        name="seed not in the identity",
        file="harness/plan/run_id.cc",
        old="  Json decisive = std::move(normalised_config);\n",
        new='  Json decisive = std::move(normalised_config);\n  decisive.erase("seed");\n',
        program="harness_tests",
        tests="FindRecord.*:PlanRuns.*",
    ),
    Fault(
        name="delay that is ignored",
        file="harness/simulation/fluid_network.cc",
        old="      pair.latency_s += direction.impairments.delay_s;\n",
        new="",
        program="harness_tests",
        tests="FluidNetwork.*",
    ),
    Fault(
        name="speed-up over another seed's baseline",
        file="harness/reports/digest.cc",
        old='{"synchroniser", "pruning"}',
        new='{"synchroniser", "pruning", "seed"}',
        program="harness_tests",
        tests="ReportBaselines.*:ReportRows.*",
    ),
    Fault(
        name="method that encodes in no time",
        file="harness/advice/advice.cc",
        old=".encode_s = codec.encode_s, ",
        new="",
        program="harness_tests",
        tests="Advise.*",
    ),
    Fault(
        name="ignored exit status",
        file="harness/executors/local.cc",
        old="return (finished || saved_after || is_script()) && process.exit_status() && process.exit_status()->ok();",
        new="return (finished || saved_after || is_script()) && process.exit_status().has_value();",
        program="harness_program_tests",
        tests="RunCommand/Faults.*",
    ),
    Fault(
        name="failure that exits with 0",
        file="harness/commands/run.cc",
        old="return result.all_well ? 0 : 1;",
        new="return 0;",
        program="harness_program_tests",
        tests="RunCommand/Faults.*",
    ),
    Fault(
        name="cap off by 5 %",
        file="netem/topology/link_shape.cc",
        old="return {.rate_bit_per_s = *direction.rate_bit_per_s,",
        new="return {.rate_bit_per_s = 1.05 * *direction.rate_bit_per_s,",
        program="netem_network_tests",
        tests="NetworkTest.TheKernelHoldsTheShapeThatWasAsked",
    ),
]
