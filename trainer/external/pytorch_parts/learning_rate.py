"""The learning-rate schedules of trainer/training/learning_rate.hh."""
import math


def share(schedule: dict, iteration: int, iterations: int, per_epoch: int) -> float:
    """Returns the share of the optimiser's learning rate that applies in an iteration, counted from 0."""
    warmup = schedule["warmup_iterations"]
    if iteration < warmup:
        return (iteration + 1) / warmup
    if schedule["shape"] == "step":
        return schedule["step_factor"] ** sum(iteration / per_epoch >= at for at in schedule["step_epochs"])
    if schedule["shape"] == "cosine":
        wave = (1 + math.cos(math.pi * (iteration - warmup) / (iterations - warmup))) / 2
        return schedule["final_share"] + (1 - schedule["final_share"]) * wave
    return 1.0
