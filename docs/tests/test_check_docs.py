# SPDX-License-Identifier: Apache-2.0
"""Tests check_docs.py with pages of a few lines. THINPIPE_PROGRAMS is the folder of the programs that it runs."""

import contextlib
import io
import os
import re
import tempfile
import textwrap
import threading
import unittest
from pathlib import Path
from unittest import mock

import check_docs
import page_prose
from check_docs import judge_page, unused_entries
from judge import LEFT_TO_FULL, Judge, Programs
from page_commands import EXECUTED_WITH_FULL, NOT_EXECUTED, excuse_of

BUILD = Path(os.environ["THINPIPE_PROGRAMS"]).resolve()
LARGE = '{"base": {"dataset": {"name": "synthetic"}, "model": {"name": "resnet152"}%s}}'


def block(info: str, text: str) -> str:
    return f"```{info}\n{text}\n```\n"


def judged(text: str, full: bool = False) -> Judge:
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.md"
        page.write_text(text, encoding="utf-8")
        return judge_page(Programs(BUILD, full), page)


class PageTest(unittest.TestCase):
    def assert_blamed(self, text: str, *complaints: str) -> None:
        """Asserts that the page has exactly these complaints, one per problem."""
        problems = judged(text).problems
        self.assertEqual(len(problems), len(complaints), problems)
        for problem, complaint in zip(problems, complaints, strict=True):
            self.assertIn(complaint, problem)


class BlameTest(PageTest):
    def test_a_correct_page_is_not_blamed(self) -> None:
        self.assert_blamed(
            "# A heading\n[a heading](#a-heading) `docs/tests` `thinpipe run x.json --dry-run`\n"
            + block("json base", '"training": {"epochs": 2}')
            + block("sh", "thinpipe list topologies | head -1\nbuild/release/thinpipe doctor  # measures")
            + block("python", "print(1)")
        )

    def test_wrong_options(self) -> None:
        self.assert_blamed(block("sh", "thinpipe list models --jsn"), "page.md:2: 'thinpipe list models --jsn' ended")
        self.assert_blamed(block("sh", "thinpipe verify x --sett a=b"), "'thinpipe verify' has no option --sett")
        self.assert_blamed("`thinpipe run my.json --dry`", "page.md:1: 'thinpipe run' has no option --dry")
        self.assert_blamed("`build/release/thinpipe plan my.json --sets=a=b`", "has no option --sets")

    def test_options_behind_two_dashes_are_another_programs(self) -> None:
        self.assert_blamed(block("sh", "thinpipe shell three-switch --host w0 -- iperf3 --server"))

    def test_unknown_commands(self) -> None:
        self.assert_blamed(block("sh", "thinpipe lsit models"), "'thinpipe lsit models' ended with 2")
        self.assert_blamed(block("sh", "no-such-program"), "'no-such-program' ended with 127")
        self.assert_blamed("`thinpipe lsit`", "there is no command 'thinpipe lsit'")
        self.assert_blamed("`thinpipe-trainer wrok FILE`", "there is no command 'thinpipe-trainer wrok'")

    def test_a_failure_within_a_pipe_counts(self) -> None:
        self.assert_blamed(block("sh", "false | cat"), "ended with 1")

    def test_wrong_json(self) -> None:
        self.assert_blamed(block("json base", '"training": {"epcohs": 2}'), "epcohs")
        self.assert_blamed(block("json", '{"base": {"wrokers": 2}}'), "wrokers")
        self.assert_blamed(block("json", '{"training": {"epochs": 2}}'), "is neither an experiment nor a topology")
        broken = block("json", '{"base": }') + block("sh", "thinpipe plan my.json")
        self.assert_blamed(broken, "is not JSON", "ended with 2")

    def test_blocks_of_lists(self) -> None:
        wrong = "1. Write:\n\n" + textwrap.indent(block("json base", '"training": {"epcohs": 2}'), "    ") + "   `thinpipe lsit`\n"
        self.assert_blamed(wrong, "page.md:3: ", "page.md:6: there is no command 'thinpipe lsit'")

    def test_equal_experiments_are_each_blamed(self) -> None:
        wrong = block("json base", '"training": {"epcohs": 2}')
        self.assert_blamed(wrong + wrong, "page.md:1: ", "page.md:4: ")

    def test_wrong_topologies(self) -> None:
        self.assert_blamed(block("json", '{"hosts": [], "links": []}'), "topology-page-1.json")

    def test_broken_links_and_paths(self) -> None:
        self.assert_blamed("[a](nowhere.md)", "page.md:1: links to nowhere.md, which does not exist")
        self.assert_blamed("# Here\n[a](#there)", "links to #there, but page.md has no such heading")
        self.assert_blamed("`docs/nowhere.md`", "names docs/nowhere.md, which does not exist")

    def test_messages_that_no_source_has(self) -> None:
        self.assert_blamed("> `we never print this`", "quotes a message that is not in the sources: we never print this")

    def test_excerpts(self) -> None:
        page = "harness/tests/no_such_file.cc"
        self.assert_blamed(block(f"cc {page}", "int a;"), "names no source file")
        self.assert_blamed(block("cc", "int a;"), "names no source file")
        source = "trainer/synchronisers/methods/dense.cc"
        self.assert_blamed(block(f"cc {source}", "THINPIPE_REGISTER(Nothing)"), f"is no excerpt of {source}")
        self.assert_blamed(block(f"cc {source}", "struct DenseOptions {"))

    def test_other_blocks(self) -> None:
        self.assert_blamed(block("python", "print("), "is not Python")
        self.assert_blamed(block("ruby", "a: b"), "no rule checks blocks of 'ruby'")
        self.assert_blamed(block("json fragment", '"a": {"b": 1}'))
        self.assert_blamed(block("json fragment", '"a": {"b": 1},'), "is not JSON")

    def test_blocks_without_a_language(self) -> None:
        self.assert_blamed("A text.\n" + block("", "anything"), "page.md:2: has no language")
        self.assert_blamed(block("text", "anything"))
        self.assert_blamed("<!-- table: begin -->\n" + block("", "from a script") + "<!-- table: end -->\n")

    def test_blocks_that_do_not_end(self) -> None:
        self.assert_blamed("```text\na", "page.md:1: the block that begins here has no end")
        both = "```text\na\n\n" + block("json base", '"training": {"epcohs": 2}')
        self.assert_blamed(both, "page.md:1: the block that begins here has no end", "page.md:4: ")

    def test_commands_that_are_only_shown(self) -> None:
        self.assert_blamed(block("console", "podman run x"), "page.md:1: does not say why it is not executed")
        needs = "console needs Podman"
        self.assert_blamed(block(needs, "podman run --rm thinpipe run x.json --dry-run | cat --show-all"))
        self.assert_blamed(block(needs, "cd x\npodman run thinpipe doctor \\\n  --jsno"), "page.md:3: 'thinpipe doctor' has no option --jsno")
        self.assert_blamed(block("yaml", "- run: x/build/release/thinpipe lsit"), "page.md:2: there is no command 'thinpipe lsit'")
        self.assert_blamed(block("text", "/usr/share/thinpipe/plotting/speedup.py\n./docs/examples/ddp.py"))
        self.assert_blamed(block("text", "/usr/share/thinpipe/plotting/slowdown.py"), "page.md:2: names plotting/slowdown.py")

    def test_scripts_in_prose(self) -> None:
        self.assert_blamed("`/usr/bin/python3 plotting/speedup.py results/x`, `./check.sh --full`, `scripts/fuzz.sh 60`")
        self.assert_blamed("`/usr/bin/python3 plotting/slowdown.py results/x`", "page.md:1: names plotting/slowdown.py")
        self.assert_blamed("`scripts/fuzzy.sh 60`", "page.md:1: names scripts/fuzzy.sh")
        self.assert_blamed("`A=1 build/release/thinpipe run x.json --dry`", "'thinpipe run' has no option --dry")

    def test_comments_in_code_are_no_headings(self) -> None:
        self.assert_blamed("[a](#there)\n" + block("text", "# There"), "page.md has no such heading")

    def test_a_command_that_writes_a_method_leaves_the_sources_as_they_are(self) -> None:
        methods = "trainer/synchronisers/methods"
        self.assert_blamed(block("sh", f"cp {methods}/dense.cc {methods}/no_such_method.cc"))
        self.assertFalse((check_docs.ROOT / methods / "no_such_method.cc").exists())


class SentencesTest(PageTest):
    def test_a_second_sentence_on_a_line(self) -> None:
        second = "has a second sentence"
        self.assert_blamed("One.\nTwo is here. Three too.\n", f"page.md:2: {second}")
        for line in ("Is it? `x` is.", "- **Lead-in.** One. Two.", "1. It ends in `x`. Two.", "(One.) Two.", "*One.* [Two](#a)."):
            with self.subTest(line):
                self.assert_blamed(f"# A\n{line}\n", second)

    def test_lines_with_one_sentence(self) -> None:
        for line in ("**Lead-in.** One.", "- **Lead-in**: one.", "1. One, e.g. two.", "One: `a. B` and Figs. 3 and 5.", "At 1.5 to 2.0 s.",
                     "Lee et al. (2017) did [it](https://x.org/a. b).", "<!-- = a. B -->One.", "See a ... B."):
            with self.subTest(line):
                self.assert_blamed(f"{line}\n")

    def test_places_without_the_rule(self) -> None:
        self.assert_blamed("# One. Two\n| One. Two. |\n" + block("text", "One. Two."))
        self.assert_blamed("<!-- table: begin -->\nOne. Two.\n<!-- table: end -->\n")

    def test_marks_without_a_counterpart_exempt_nothing(self) -> None:
        self.assert_blamed("a\n<!-- t: begin -->\nOne. Two.\n", "page.md:2: '<!-- t: begin -->' has no counterpart")
        self.assert_blamed("<!-- t: begin -->\n<!-- u: end -->\n", "page.md:2: '<!-- u: end -->' has no counterpart")


class PagesTest(unittest.TestCase):
    def test_all_pages_of_the_tree_are_checked(self) -> None:
        pages = {str(page.relative_to(check_docs.ROOT)) for page in check_docs.all_pages()}
        folders = (path for path in check_docs.ROOT.glob("[a-z]*/") if path.name not in ("build", "results"))
        own = [*check_docs.ROOT.glob("*.md"), *(page for folder in folders for page in folder.rglob("*.md"))]
        self.assertEqual(pages, {str(page.relative_to(check_docs.ROOT)) for page in own})

    def test_generated_pages_name_the_scripts_that_write_them(self) -> None:
        for page, script in page_prose.GENERATED.items():
            self.assertIn(f"`{script}", (check_docs.ROOT / page).read_text(encoding="utf-8"))


class VersionsTest(unittest.TestCase):
    SOURCES = {
        "record": ("harness/records/record_data.hh", "record_schema_version"),
        "communication trace": ("common/protocol/trace.hh", "trace_schema_version"),
        "compute profile": ("common/protocol/compute_profile.hh", "profile_schema_version"),
        "measured machine": ("harness/simulation/machine_file.hh", "machine_schema_version"),
        "device description": ("common/protocol/device.hh", "device_schema_version"),
        "input of a worker": ("common/protocol/worker_file.hh", "worker_file_schema_version"),
        "`thinpipe report --json`": ("harness/commands/report.cc", "json_version"),
        "`thinpipe compare --json`": ("harness/reports/comparison/formats.cc", "comparison_version"),
        "`thinpipe advise --json`": ("harness/commands/advise.cc", "advice_version"),
    }

    def test_the_page_of_versions_has_those_of_the_sources(self) -> None:
        page = (check_docs.ROOT / "docs/reference/versions.md").read_text(encoding="utf-8")
        shown = dict(re.findall(r"^\| \[(.+?)\]\(.*?\).*? \| (\d+) \|", page, re.MULTILINE))
        self.assertEqual(shown.keys(), self.SOURCES.keys())
        for file, (source, constant) in self.SOURCES.items():
            text = (check_docs.ROOT / source).read_text(encoding="utf-8")
            self.assertEqual(re.findall(rf"\b{constant} = (\d+);", text), [shown[file]], file)


class SetUpTest(unittest.TestCase):
    """Assumptions of the pages about the scripts that they name."""

    def test_programs_that_examples_run_in_a_host_are_installed_by_set_up(self) -> None:
        packages = {"ping": "iputils-ping", "ip": "iproute2", "ss": "iproute2"}  # other packages have their program's name
        texts = [*check_docs.all_pages(), check_docs.ROOT / "harness" / "commands" / "shell.cc"]
        programs = set()
        for text in texts:
            for line in text.read_text(encoding="utf-8").splitlines():
                if "thinpipe shell" in line:
                    programs |= set(re.findall(r"(?:-- |\b)(ping|iperf3|tcpdump)\b|-- ([a-z]\w+)", line))
        names = {name for pair in programs for name in pair if name} - {"sh"}  # part of every Debian
        self.assertLessEqual({"ping", "iperf3"}, names)
        setup = (check_docs.ROOT / "scripts" / "setup.sh").read_text(encoding="utf-8")
        needed_by_all = re.search(r"^tools=\((.*?)\)$", setup, re.MULTILINE)[1].split()
        self.assertEqual(setup.count('"${tools[@]}"'), 2)  # for those who build, and for the container
        for name in sorted(names):
            self.assertIn(packages.get(name, name), needed_by_all)

    def test_no_build_of_type_release_is_less_than_optimised(self) -> None:
        files = [*(check_docs.ROOT / "scripts").glob("*.sh"), *check_docs.ROOT.glob("*.sh")]
        for file in [*files, check_docs.ROOT / "CMakePresets.json"]:
            text = file.read_text(encoding="utf-8")
            self.assertIsNone(re.search(r'CMAKE_CXX_FLAGS_RELEASE"?[:=]', text), file.name)


class ExcuseTest(unittest.TestCase):
    def test_entries_excuse_the_commands_that_begin_with_them(self) -> None:
        for entry in NOT_EXECUTED | EXECUTED_WITH_FULL:
            self.assertEqual(excuse_of([*entry.split(), "--option"]), entry)
        self.assertEqual(excuse_of(["build/release/thinpipe", "doctor"]), "thinpipe doctor")

    def test_nothing_else_is_excused(self) -> None:
        for command in (
            *("thinpipe", "thinpipe report results/my", "thinpipe run doctor", "build/release/thinpipe plan verify"),
            *("thinpipe-trainer check", "thinpipe-trainer pretraining", "thinpipe pretrain", "thinpipe-trainer doctor"),
            *("echo tar", "bash ./check.sh", "check.sh", "./curl", "scripts/reproduce", "scripts/lint.sh", "tarry"),
        ):
            self.assertEqual(excuse_of(command.split()), "", command)

    def test_programs_without_a_folder_and_scripts_are_executed(self) -> None:
        for command in ("thinpipe report results/nowhere", "./nowhere.sh", "scripts/nowhere.sh"):
            with self.subTest(command):
                self.assertRegex("\n".join(judged(block("sh", command)).problems), "ended with")

    def test_an_excuse_does_not_extend_to_the_rest_of_a_line(self) -> None:
        for command in ("curl -O x | thinpipe plan", "thinpipe doctor && thinpipe plan my.json", "tar xf x ; false"):
            with self.subTest(command):
                problems = judged(block("sh", command)).problems
                self.assertRegex("\n".join(problems), "put each command on its own line")

    def test_unused_entries_are_named(self) -> None:
        judge = judged(block("sh", "tar xf x") + block("json", LARGE % ""))
        named = "\n".join(unused_entries([judge]))
        entries = NOT_EXECUTED.keys() | EXECUTED_WITH_FULL.keys() | LEFT_TO_FULL.keys()
        for entry in entries - {"tar", "resnet152"}:
            self.assertIn(f"'{entry}'", named)
        self.assertNotIn("'tar'", named)
        self.assertNotIn("'resnet152'", named)


class TiersTest(unittest.TestCase):
    def test_the_short_tier_names_the_plans_that_it_leaves_out(self) -> None:
        judge = judged(block("json", LARGE % "") + block("sh", "thinpipe run my.json --jobs 2\nthinpipe plan my.json"))
        self.assertEqual(judge.problems, [])
        self.assertEqual(
            judge.left_out,
            [
                "page.md:1: thinpipe plan without --no-measuring (resnet152)",
                "page.md:5: thinpipe run my.json --jobs 2 --dry-run (resnet152)",
                "page.md:6: thinpipe plan my.json (resnet152)",
            ],
        )

    def test_keys_and_options_are_checked_in_the_short_tier(self) -> None:
        wrong = block("json", LARGE % ', "wrokers": 2') + block("sh", "thinpipe run my.json --jbos 2")
        problems = judged(wrong).problems
        self.assertEqual(len(problems), 2, problems)
        self.assertIn("wrokers", problems[0])
        self.assertIn("has no option --jbos", problems[1])

    def test_commands_that_take_long_are_executed_only_in_the_full_tier(self) -> None:
        page = block("sh", "thinpipe exec loopback -- true")  # which has no network to run in
        self.assertEqual(judged(page).problems, [])
        self.assertRegex("\n".join(judged(page, full=True).problems), "ended with 2")

    def test_models_are_found_in_bases_and_axes(self) -> None:
        for experiment in (
            {"base": {"model": {"name": "vgg19"}}},
            {"sweep": {"model.name": ["mlp", "vgg19"]}},
            {"sweep": {"model": {"large": {"model": {"name": "vgg19"}}}}},
        ):
            for full in (False, True):
                judge = Judge(Programs(BUILD, full), Path("page.md"), Path())
                self.assertEqual(judge.leaves_out(1, experiment, "plan"), not full)
                self.assertEqual(len(judge.left_out), 0 if full else 1)
                self.assertEqual(judge.used, {"vgg19"})

    def test_other_models_are_not_left_out(self) -> None:
        judge = Judge(Programs(BUILD), Path("page.md"), Path())
        self.assertFalse(judge.leaves_out(1, {"name": "like vgg19", "base": {"model": {"name": "resnet"}}}, "plan"))
        self.assertFalse(judge.leaves_out(1, None, "list"))


class OnceTest(unittest.TestCase):
    def test_what_several_ask_for_is_computed_once(self) -> None:
        programs, computed, answers = Programs(BUILD), [], []
        both_asked = threading.Barrier(2)

        def compute() -> str:
            computed.append(1)
            return "answer"

        def ask() -> None:
            both_asked.wait()
            answers.append(programs.once("key", compute))

        askers = [threading.Thread(target=ask) for _ in range(2)]
        for asker in askers:
            asker.start()
        for asker in askers:
            asker.join()
        self.assertEqual((computed, answers), ([1], ["answer", "answer"]))
        self.assertEqual(programs.once("other key", lambda: "other"), "other")

    def test_failures_reach_everyone_who_asks(self) -> None:
        programs = Programs(BUILD)
        for _ in range(2):
            with self.assertRaises(ZeroDivisionError):
                programs.once("key", lambda: 1 // 0)

    def test_equal_experiments_are_planned_once(self) -> None:
        small = block("json", '{"base": {"model": {"name": "mlp"}, "dataset": {"name": "synthetic"}}}')
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "page.md"
            page.write_text(small + small, encoding="utf-8")
            programs = Programs(BUILD)
            judge_page(programs, page)
        self.assertEqual([command for _, command in programs.times], ["page.md:1: thinpipe plan block.json"])


class OutputTest(unittest.TestCase):
    def output_of(self, text: str) -> tuple[int, str]:
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as output:
            page = Path(folder) / "page.md"
            page.write_text(text, encoding="utf-8")
            status = check_docs.main([str(BUILD), str(page)])
        return status, output.getvalue()

    def test_the_slowest_commands_are_listed(self) -> None:
        status, output = self.output_of(block("sh", "sleep 0.3\ntrue"))
        self.assertEqual(status, 0)
        slowest = output.partition("slowest:\n")[2].splitlines()
        self.assertRegex(slowest[0], r"^ +\d+\.\d s  page.md:2: sleep 0.3$")
        self.assertRegex(slowest[1], "page.md:3: true$")

    def test_problems_decide_the_exit_status(self) -> None:
        status, output = self.output_of("[a](nowhere.md)")
        self.assertEqual(status, 1)
        self.assertIn("page.md:1: links to nowhere.md", output)

    def test_left_out_plans_are_printed(self) -> None:
        with mock.patch.object(Judge, "plan", lambda *_: mock.Mock(returncode=0)):
            _, output = self.output_of(block("json", LARGE % ""))
        self.assertIn("left to --full: page.md:1: ", output)


if __name__ == "__main__":
    unittest.main()
