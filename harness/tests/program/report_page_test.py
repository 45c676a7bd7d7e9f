# SPDX-License-Identifier: Apache-2.0
"""Opens the page that `thinpipe report --html` writes in a headless browser, and checks what its script draws.

With a folder as its argument, keeps the pages and a screenshot of each there, for people to look at.
"""
from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

from browser import BROWSER, Document, Element, browse
from report_program import PROGRAM, RECORDS, reference_record, report, run_tests, skip_all, write_records

keep_in: Path | None = None


def time_to_target(record: dict[str, Any]) -> str:
    return f"{held_s(record):.1f} s"


def held_s(record: dict[str, Any]) -> float:
    return record["targets"][0]["held"]["train_time_s"]


def styles_in_figures(results: Path) -> dict[str, Any]:
    """Returns the styles that plotting/ gives to the curves of these results, by their label."""
    program = (
        "import json, sys; sys.path.insert(0, sys.argv[1]); from shared.comparison import compare; from shared.load import load; "
        "from shared.report import Question; compared = compare(load(sys.argv[2], Question(thinpipe=sys.argv[3]))); "
        "print(json.dumps({label: vars(style) for label, style in compared.styles.items()}))"
    )
    plotting = RECORDS.parents[2] / "plotting"
    ended = subprocess.run(
        ["/usr/bin/python3", "-B", "-c", program, plotting, results, PROGRAM], capture_output=True, text=True, check=False
    )
    if ended.returncode != 0:
        raise AssertionError(f"the styles in figures are unknown: {ended.stderr}")
    return json.loads(ended.stdout)


class ReportPageTest(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def page(self, results: Path, *arguments: str, then: str = "") -> Path:
        """Writes the page; `then` is a script that runs after the page's own and acts as a reader."""
        page = self.folder / f"{self._testMethodName}.html"
        report(results, "--html", page, *arguments)
        if then:
            page.write_text(page.read_text().replace("</body>", f"<script>{then}</script></body>"))
        return page

    def open(self, page: Path, fragment: str = "") -> Element:
        if keep_in:
            shutil.copy(page, keep_in)
            browse(page, f"--screenshot={keep_in / page.stem}.png", fragment=fragment)
        dom = Document(browse(page, "--dump-dom", fragment=fragment)).root
        error = dom.one("p", id="error")
        self.assertTrue(error.hidden, error.text)
        return dom

    def records(self, *records: dict[str, Any]) -> Path:
        return write_records(self.folder / "results", list(records))

    def curves(self, dom: Element) -> list[str]:
        """Returns the names of the curves that stand out."""
        return [curve.one("title").text for curve in dom.all("g", class_="curve") if curve not in dom.all("g", class_="faint")]

    def legend(self, dom: Element) -> list[Element]:
        return [button for button in dom.one("ul", id="legend").all("button") if not button.hidden]

    def test_draws_a_curve_a_run_and_has_a_row_for_each(self) -> None:
        dom = self.open(self.page(RECORDS / "quickstart"), "#log=1")
        methods = ["dense", "fp16", "topk 0.1", "topk 0.01", "pactrain", "pactrain ternary"]
        self.assertEqual(self.curves(dom), methods)
        self.assertEqual([row.one("th").text for row in dom.one("table", id="runs").one("tbody").all("tr")], methods)
        # The network of one run was degraded.
        marked = ["dense", "fp16", "topk 0.1", "topk 0.01", "pactrain", "pactrain ternary †"]
        self.assertEqual([button.one("span").text for button in self.legend(dom)], marked)
        self.assertEqual(self.legend(dom)[0].one("small").text, time_to_target(reference_record("dense")))
        self.assertEqual(len(dom.all("circle", class_="reached")), 6)
        self.assertEqual([text.text for text in dom.all("text", class_="target-text")], ["target 0.82"])
        self.assertEqual(len(dom.all("g", class_="bar")), 6)
        path = dom.all("g", class_="curve")[0].one("path").attributes["d"]
        self.assertEqual(path.count("L") + 1, 16, "evaluations after the start, which has no logarithm")
        self.assertNotIn("NaN", path)

    def write_series(self, results: Path, run: int, *samples: dict[str, Any]) -> None:
        head = {"directions": ["left->middle", "middle->left"], "period_s": 0.5}
        lines = [head, {"at_s": 0.2, "iteration": 1}, *samples]
        (results / f"{run:016x}" / "links.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    def test_series_of_the_links_are_below_the_curves(self) -> None:
        dense, fp16, topk = (reference_record(label) for label in ("dense", "fp16", "topk 0.1"))
        results = self.records(dense, fp16, topk)
        self.write_series(results, 1, {
            "from_s": 0.0, "at_s": 0.5, "bytes": [6_000_000, 0], "max_queue_bytes": [90_000, 0], "drops": [1, 0]})
        self.write_series(results, 2, {
            "from_s": 0.0, "at_s": 1.0, "bytes": [1_000, 0], "max_queue_bytes": [0, 0], "drops": [0, 0]})
        dom = self.open(self.page(results))
        self.assertFalse(dom.one("section", id="links").hidden)
        self.assertEqual([option.text for option in dom.one("select", id="links-run").all("option")], ["fp16", "topk 0.1"])
        directions = dom.all("g", class_="direction")
        self.assertEqual([each.one("text", class_="label").text for each in directions], ["left->middle", "middle->left"])
        self.assertEqual([len(each.all("path", class_="lost")) for each in directions], [1, 0])
        self.assertEqual(len(directions[0].all("path", class_="cap")), 1, "from the record's checks")
        (rate,) = directions[0].all("path", class_="rate")
        self.assertNotIn("NaN", rate.attributes["d"])
        self.assertEqual([each.text for each in dom.one("figcaption", id="links-note").all("span")],
                         ["rate (Mbit/s, left)", "cap", "longest queue (kB, right)", "lost frames"])
        (without,) = (results / f"{0:016x}").glob("*")
        self.assertEqual(without.name, "run.json")
        other = self.open(self.page(results), "#links=topk+0.1")
        self.assertEqual(other.all("path", class_="lost"), [])

    def test_without_series_of_links_there_is_no_section_for_them(self) -> None:
        self.assertTrue(self.open(self.page(RECORDS / "quickstart")).one("section", id="links").hidden)

    def test_a_broken_series_is_left_out_of_the_page_and_named(self) -> None:
        results = self.records(reference_record("dense"))
        (results / f"{0:016x}" / "links.jsonl").write_text('{"something": "else"}\n')
        page = self.folder / "page.html"
        ended = subprocess.run([PROGRAM, "report", results, "--html", page], capture_output=True, text=True, check=False)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertIn("left out of the page: ", ended.stderr)
        self.assertIn("links.jsonl", ended.stderr)

    def test_a_series_that_cannot_be_read_is_left_out_of_the_page_and_named(self) -> None:
        results = self.records(reference_record("dense"))
        (results / f"{0:016x}" / "links.jsonl").mkdir()
        page = self.folder / "page.html"
        ended = subprocess.run([PROGRAM, "report", results, "--html", page], capture_output=True, text=True, check=False)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertIn("left out of the page: ", ended.stderr)
        self.assertIn("links.jsonl", ended.stderr)

    def test_the_address_says_what_is_shown(self) -> None:
        page = self.page(RECORDS / "quickstart")
        dom = self.open(page, "#y=test_loss&x=sent&log=0&hide=dense&hide=fp16")
        self.assertEqual(len(self.curves(dom)), 4)
        labels = [text.text for text in dom.all("text", class_="label")]
        self.assertEqual(labels, ["Sent by a worker", "Test loss"])
        self.assertEqual([button.attributes["aria-pressed"] for button in self.legend(dom)], ["false"] * 2 + ["true"] * 4)
        self.assertEqual(dom.all("circle", class_="reached"), [], "the target is an accuracy")
        path = dom.all("g", class_="curve")[0].one("path").attributes["d"]
        self.assertEqual(path.count("L") + 1, 17, "the start is on a linear axis")
        self.assertIn("equal parts", dom.one("p", id="legend-note").text)

    def test_controls_legend_and_readout_follow_the_hand(self) -> None:
        dom = self.open(self.page(RECORDS / "quickstart", then="""
            const choose = (id, value) => { byId(id).value = value; byId(id).dispatchEvent(new Event("change")); };
            choose("x", "iteration");
            byId("log").click();
            byId("legend").querySelectorAll("button")[1].click();
            byId("runs").querySelectorAll("thead button")[2].click();
            byId("chart").dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight"}));
            byId("chart").dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight"}));
        """), "#log=1")
        self.assertEqual(dom.all("text", class_="label")[0].text, "Iterations")
        self.assertNotIn("fp16", self.curves(dom))
        first, *lines = [row.text for row in dom.one("div", id="readout").all("tr")]
        self.assertEqual(first, "test accuracyiterations")
        (at_10,) = (each for each in reference_record("pactrain")["curve"] if each["iteration"] == 10)
        self.assertEqual(lines[0], f"pactrain{at_10['test_accuracy']:.4f}10", "the best at iteration 10 comes first")
        self.assertEqual(len(lines), 5)
        sorted_rows = [row.one("th").text for row in dom.one("table", id="runs").one("tbody").all("tr")]
        by_time = sorted(sorted_rows, key=lambda method: held_s(reference_record(method)))
        self.assertEqual(sorted_rows, by_time)

    def test_labels_are_text(self) -> None:
        record = reference_record("dense")
        label = '</script><script>window.broken = 1</script><b>&amp;"\'<!--'
        record["experiment"] = record["label"] = record["labels"]["method"] = label
        then = 'if (window.broken) throw new Error("a label was run")'
        dom = self.open(self.page(self.records(record, reference_record("fp16")), then=then))
        self.assertEqual(dom.all("b"), [])
        self.assertEqual(len(self.curves(dom)), 2)
        self.assertEqual(self.legend(dom)[0].one("span").text, f"{label}: {label}")
        self.assertIn(label, dom.one("table", id="runs").text)

    def test_seeds_share_a_legend_entry_and_axes_are_filters(self) -> None:
        records = []
        for rate in ("100 Mbit/s", "1 Gbit/s"):
            for method in ("dense", "fp16"):
                for seed in (1, 2, 3):
                    record = reference_record(method)
                    record["config"]["seed"] = seed
                    record["config"]["bottleneck"]["rate"] = rate
                    record["labels"] = {"bottleneck.rate": rate, "method": method, "seed": f"seed {seed}"}
                    record["label"] = f"{method}, {rate}, seed {seed}"
                    records.append(record)
        page = self.page(self.records(*records))
        dom = self.open(page)
        self.assertEqual(len(dom.all("g", class_="faint")), 12)
        self.assertEqual(len(self.curves(dom)), 4)
        self.assertEqual(len(self.legend(dom)), 4)
        self.assertEqual(self.legend(dom)[0].one("small").text, f"3 seeds, mean {time_to_target(reference_record('dense'))}")
        self.assertEqual(len(dom.one("table", id="over-seeds").one("tbody").all("tr")), 4)
        self.assertEqual(len(dom.one("span", id="filters").all("select")), 2)
        dom = self.open(page, "#only.bottleneck.rate=1+Gbit/s")
        self.assertEqual(len(dom.all("g", class_="faint")), 6)
        self.assertEqual(self.curves(dom), [f"{method}, 1 Gbit/s, mean of 3 seeds" for method in ("dense", "fp16")])
        self.assertEqual(len(self.legend(dom)), 2)

    def test_the_legends_mean_is_that_of_the_table(self) -> None:
        records = []
        for seed in (1, 2, 3):
            record = reference_record("dense")
            record["config"]["seed"] = seed
            record["labels"]["seed"] = f"seed {seed}"
            record["label"] = f"dense, seed {seed}"
            records.append(record)
        for point in records[1]["curve"]:
            point["test_accuracy"] = 0.1
        records[2].update(status="failed", curve=[], iteration_time_s=None, fidelity=None)
        records[2]["error"] = {"kind": "hang", "rank": 1, "message": "worker 1 hangs"}
        dom = self.open(self.page(self.records(*records)))
        words = self.legend(dom)[0].one("small").text
        mean_s = (held_s(records[0]) + records[1]["train_time_s"]) / 2
        self.assertEqual(words, f"3 seeds, mean ≥ {mean_s:.1f} s, 1 of 3 reached, 1 failed")
        self.assertIn(f"≥ {mean_s:.3g} s", dom.one("table", id="over-seeds").text)

    def test_series_with_equal_labels_are_hidden_one_by_one(self) -> None:
        before, after = reference_record("dense"), reference_record("dense")
        after["config"]["workers"] = 4
        dom = self.open(self.page(self.records(before, after), then="""
            byId("legend").querySelectorAll("button")[1].click();
        """))
        self.assertEqual(len({button.one("span").text for button in self.legend(dom)}), 2)
        self.assertEqual([button.attributes["aria-pressed"] for button in self.legend(dom)], ["true", "false"])

    def test_long_names_of_bars_are_cut_at_their_ends(self) -> None:
        record = reference_record("dense")
        record["label"] = record["labels"]["method"] = f"dense {'x' * 200}"
        bar = self.open(self.page(self.records(record))).one("g", class_="bar")
        name = bar.all("text")[0]
        self.assertTrue(str(name.children[0]).startswith("dense x") and str(name.children[0]).endswith("…"))
        self.assertEqual(name.one("title").text, record["label"])

    def test_runs_of_several_seeds_are_faint_behind_their_mean(self) -> None:
        records = []
        for seed, level in ((1, 0.1), (2, 0.2), (3, 0.6), (4, 0.9)):
            record = reference_record("dense")
            record["config"]["seed"] = seed
            record["labels"] = {"seed": f"seed {seed}"}
            record["label"] = f"seed {seed}"
            for point in record["curve"]:
                point.update(test_accuracy=level, train_time_s=(1 + seed) * point["iteration"])
            records.append(record)
        records[1]["curve"][5]["test_accuracy"] = None  # a gap of the mean as well
        del records[2]["curve"][8:]  # the mean ends where the first run does
        records[3].update(status="interrupted")  # not in the mean
        dom = self.open(self.page(self.records(*records), then="""
            for (const key of ["ArrowRight", "ArrowRight"]) byId("chart").dispatchEvent(new KeyboardEvent("keydown", {key}));
        """), "#log=0&x=train_time")
        self.assertEqual(len(dom.all("g", class_="faint")), 4)
        (mean,) = (curve for curve in dom.all("g", class_="curve") if "mean of 3 seeds" in curve.one("title").text)
        path = mean.one("path").attributes["d"]
        self.assertEqual((path.count("M"), path.count("L")), (2, 5), path)
        self.assertEqual(len(mean.all("use")), 7)
        for faint in dom.all("g", class_="faint"):
            self.assertEqual(faint.all("use"), [])
        second = records[0]["curve"][1]["iteration"]
        (reading,) = dom.one("div", id="readout").one("tbody").all("tr")
        self.assertEqual([cell.text for cell in reading.all("td")], ["0.3", str(3 * second)])

    def test_a_method_keeps_its_colour_in_every_experiment(self) -> None:
        records = [reference_record(method) for method in ("dense", "fp16", "dense", "fp16")]
        for record in records[2:]:
            record["experiment"] = "another"
        dom = self.open(self.page(self.records(*records)))
        self.assertEqual(self.curves(dom)[0], "quickstart: dense")
        styles = [curve.attributes["style"].split(";") for curve in dom.all("g", class_="curve")]
        colours, dashes = [style[0] for style in styles], [style[2] for style in styles]
        self.assertEqual([colours[0], colours[1]], [colours[2], colours[3]])
        self.assertNotEqual(colours[0], colours[1])
        self.assertEqual([dashes[0], dashes[2]], [dashes[1], dashes[3]])
        self.assertNotEqual(dashes[0], dashes[2])

    def test_a_method_looks_as_in_the_figures(self) -> None:
        records = [reference_record(method) for method in ("dense", "fp16", "topk 0.1", "topk 0.01", "pactrain")]
        for place in range(7):
            record = reference_record("dense")
            record["label"] = record["labels"]["method"] = f"hook {place}, a free name"
            hook = {"name": f"/mine.py:sketch_{place}", "hash": "0" * 16}
            record["config"]["trainer"] = {"program": "pytorch-ddp", "hook": hook, "method": f"sketch_{place}"}
            records.append(record)
        results = self.records(*records)
        dom = self.open(self.page(results), "#log=0")
        on_page = {
            curve.one("title").text: {
                **dict(part.split(": ") for part in curve.attributes["style"].split("; ")),
                "marker": curve.all("use")[0].attributes["data-marker"],
            }
            for curve in dom.all("g", class_="curve")
        }
        in_figures = styles_in_figures(results)
        self.assertEqual(sorted(on_page), sorted(in_figures))
        for label, style in in_figures.items():
            drawn = on_page[label]
            self.assertEqual((drawn["--light"], drawn["marker"]), (style["colour"], style["marker"]), label)
            self.assertEqual(drawn["--fill"], f"var({'--colour' if style['filled'] else '--page'})", label)
            self.assertEqual(drawn["--dash"], " ".join(f"{2 * length:g}" for length in style["dash"]) or "none", label)
        self.assertEqual(len({(each["--light"], each["marker"], each["--dash"]) for each in on_page.values()}), 12)

    def test_runs_without_points_and_losses_without_end_do_no_harm(self) -> None:
        failed, diverged = reference_record("fp16"), reference_record("topk 0.1")
        failed.update(status="failed", curve=[], iteration_time_s=None, fidelity=None)
        failed["error"] = {"kind": "hang", "rank": 1, "message": "worker 1 hangs"}
        for place, point in enumerate(diverged["curve"]):
            point["test_loss"] = None if place > 10 else point["test_loss"] * 10**place
        page = self.page(self.records(reference_record("dense"), failed, diverged))
        dom = self.open(page, "#y=test_loss&x=train_time")
        self.assertEqual(len(self.curves(dom)), 3)
        self.assertEqual(self.legend(dom)[1].one("small").text, "failed")
        self.assertIn("fp16: failed: worker 1 hangs", dom.one("ul", id="incomplete").text)
        for curve in dom.all("g", class_="curve"):
            self.assertNotIn("NaN", curve.one("path").attributes["d"])
        ticks = [text.text for text in dom.one("svg", id="chart").all("text", text_anchor="end")]
        self.assertLess(max(map(float, ticks)), 3, "the diverging run flattens the others")

    def test_a_text_s_curves_are_of_bits_per_byte(self) -> None:
        record = reference_record("dense")
        record["config"]["targets"] = [{"bits_per_byte": 1.0}]
        dom = self.open(self.page(self.records(record)))
        labels = [text.text for text in dom.all("text", class_="label")]
        self.assertEqual(labels, ["Train time (s)", "Bits per byte of the test text"])
        self.assertEqual([text.text for text in dom.all("text", class_="target-text")], ["target 1"])
        reached = dom.one("circle", class_="reached").attributes
        after = [point["test_loss"] / math.log(2) <= 1.0 for point in record["curve"]].index(True)
        self.assertEqual(dom.one("g", class_="curve").all("use")[after].attributes["x"], reached["cx"])

    def test_a_target_in_perplexity_chooses_its_curve(self) -> None:
        record = reference_record("dense")
        record["config"]["targets"] = [{"perplexity": 2.0}]
        dom = self.open(self.page(self.records(record)))
        labels = [text.text for text in dom.all("text", class_="label")]
        self.assertEqual(labels, ["Train time (s)", "Perplexity of the test text"])
        self.assertEqual([text.text for text in dom.all("text", class_="target-text")], ["target 2"])

    def test_a_prediction_is_marked(self) -> None:
        record = reference_record("dense")
        record["predicted"] = {"exchange_time_s": 0.4, "iteration_time_s": 0.45}
        dom = self.open(self.page(self.records(record)))
        self.assertEqual(dom.one("line", class_="predicted").one("title").text, "predicted 450.0 ms")
        self.assertIn(f"{record['iteration_time_s']['mean'] / 0.45:.2f}", dom.one("table", id="runs").text)

    def test_many_runs_have_their_curves_beside_the_page_and_are_chosen_by_name(self) -> None:
        records = []
        for place in range(1400):
            record = reference_record("dense")
            record["config"]["bottleneck"] = {"rate": f"{place + 1} Mbit/s"}
            record["label"] = record["labels"]["bottleneck.rate"] = f"{place + 1} Mbit/s"
            records.append(record)
        page = self.page(self.records(*records))
        beside = page.with_suffix(".curves")
        self.assertEqual(len(list(beside.glob("*.js"))), 28)
        dom = self.open(page)
        self.assertEqual(len(self.curves(dom)), 40)
        self.assertEqual(len(self.legend(dom)), 40)
        for curve in dom.all("g", class_="curve"):
            self.assertGreater(curve.one("path").attributes["d"].count("L"), 10, "its curve is loaded")
        self.assertIn("40 of 1400 names are shown", dom.one("p", id="legend-note").text)
        self.assertEqual(len(dom.one("table", id="runs").one("tbody").all("tr")), 1400)
        dom = self.open(page, "#find=890+mbit")
        self.assertEqual(self.curves(dom), ["890 Mbit/s"])
        self.assertGreater(dom.one("g", class_="curve").one("path").attributes["d"].count("L"), 10)
        # A page that has lost its curves reports it. Another page of that name removes the curves of this one.
        for file in beside.iterdir():
            file.unlink()
        note = self.open(page).one("p", id="legend-note").text
        self.assertIn(f"Some curves are missing from the folder {beside.name} beside this page", note)
        (beside / f"{0:016x}.js").touch()
        report(RECORDS / "quickstart", "--html", page)
        self.assertFalse(beside.exists())

    def test_a_page_of_failed_runs_alone_says_so(self) -> None:
        failed = reference_record("fp16")
        failed.update(status="interrupted", curve=[], iteration_time_s=None, fidelity=None)
        dom = self.open(self.page(self.records(failed)))
        self.assertEqual(self.curves(dom), [])
        self.assertIn("No run has a point to draw", dom.one("p", id="legend-note").text)


if __name__ == "__main__":
    if BROWSER is None:
        skip_all("no chromium (or google-chrome) is installed; scripts/setup.sh check installs it")
    if len(sys.argv) > 1 and Path(sys.argv[-1]).is_dir():
        keep_in = Path(sys.argv.pop())
    run_tests()
