# SPDX-License-Identifier: Apache-2.0
"""thinpipe check-method on methods in Python files: sound ones pass, and each broken one gets the right reason.

Usage: check_method_test.py [--every-method] PATH/thinpipe
With --every-method, checks all files of methods/ instead of one of each kind.
"""

import json
import sys

from programs import METHODS, run

CONFORMING = ("topk_residual.py:MyTopK", "compressors.py:TopKCompressor", "compressors.py:HalfCompressor",
              "compressors.py:RowsCompressor", "compressors.py:SignCompressor", "momentum.py:Momentum",
              "awkward_residual.py:Awkward")
# The promises that each method breaks, and what a finding says.
BROKEN = {
    "RankDependent": ({"same_bits"}, "the result differs between workers: worker 1 has "),
    "RemembersNan": ({"skipped_step"}, "step 2 was skipped"),
    "LosesTheRest": ({"nothing_lost"}, "neither in the result nor in a residual"),
    "MovesPruned": ({"pruned"}, "the result is not zero at pruned entries"),
    "ClaimsTooLittle": ({"claimed_bytes"}, "bytes to collectives, but claimed "),
    "Raises": ({"runs"}, "broken.py:"),
    "WaitsForNobody": ({"runs"}, "worker 0 waits in all_reduce"),
    "NeverEnds": ({"runs"}, "worker 0 is in the method's code"),
}
ONE_OF_EACH_KIND = ("topk_residual.py:MyTopK", "compressors.py:RowsCompressor"), ("LosesTheRest", "NeverEnds")
FAST = ("--workers", "1,2", "--backend", "in_process")


def check(thinpipe, method, *more):
    done = run(thinpipe, "check-method", method, "--json", *more, folder=METHODS)
    assert done.returncode in (0, 1), f"{method}: {done.returncode} {done.stdout} {done.stderr}"
    answer = json.loads(done.stdout)
    assert answer["conforms"] == (done.returncode == 0), method
    return answer, done.stderr


def violated(answer):
    return {promise["promise"]: promise for promise in answer["promises"] if promise["verdict"] == "violated"}


def expect_conforming(thinpipe, method, *more):
    answer, errors = check(thinpipe, method, *more)
    assert answer["conforms"], f"{method}: {json.dumps(violated(answer), indent=1)} {errors}"
    verdicts = {promise["promise"]: promise["verdict"] for promise in answer["promises"]}
    assert verdicts["same_bits"] == verdicts["pruned"] == "ok", verdicts
    print(f"{method} keeps its promises")


def expect_broken(thinpipe, name):
    promises, words = BROKEN[name]
    answer, errors = check(thinpipe, f"broken.py:{name}", "--hang-timeout", "3 s", *FAST)
    found = violated(answer)
    assert set(found) == promises, f"{name}: {json.dumps(found, indent=1)} {errors}"
    findings = [finding["what"] for promise in found.values() for finding in promise["findings"]]
    assert any(words in what for what in findings), f"{name}: {findings}"
    assert errors.count("Traceback") <= 1, errors
    print(f"{name}: {findings[0]}")


def expect_wrong_input(thinpipe):
    done = run(thinpipe, "check-method", "topk_residual.py:MyTopK", "--set", "ratio=2", *FAST, folder=METHODS)
    assert done.returncode == 2, done
    assert "/ratio" in done.stderr and "at most 1" in done.stderr, done.stderr
    done = run(thinpipe, "check-method", "topk", "--set", "ratoi=0.1", *FAST)
    assert done.returncode == 2 and "ratio" in done.stderr, done
    done = run(thinpipe, "check-method", "spardl", "--set", "teams=2", "--workers", "3")
    assert done.returncode == 2 and "/workers: one of them must be a multiple of 2" in done.stderr, done


def expect_a_table(thinpipe):
    done = run(thinpipe, "check-method", "broken.py:LosesTheRest", *FAST, folder=METHODS)
    assert done.returncode == 1, done
    for words in ("same result on every worker     ok", "nothing is lost                 violated",
                  "VIOLATED: nothing is lost", "Why it matters: ", "The method breaks 1 promise."):
        assert words in done.stdout, f"{words} is missing from: {done.stdout}"


def main():
    thinpipe = sys.argv[-1]
    every = "--every-method" in sys.argv
    conforming, broken = (CONFORMING, tuple(BROKEN)) if every else ONE_OF_EACH_KIND
    for method in conforming:
        expect_conforming(thinpipe, method, *(() if every else FAST))
    for name in broken:
        expect_broken(thinpipe, name)
    expect_conforming(thinpipe, "summed_codes.py:SummedCodes", "--workers", "3", "--backend", "island")
    if every:
        expect_conforming(thinpipe, "topk", "--set", "ratio=0.1")
        expect_wrong_input(thinpipe)
        expect_a_table(thinpipe)


if __name__ == "__main__":
    main()
