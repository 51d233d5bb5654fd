"""Scores of Assay in pytest: copy this file beside your tests, and put into the conftest.py at their top

    pytest_plugins = ["pytest_assay"]

A test says what it has to score, and what the score should be at least (or at_most):

    def test_opening_hours(assay):
        passages, answer = ask("When is the museum open?")
        assay(question="When is the museum open?", contexts=passages, answer=answer,
              at_least={"faithfulness/encoder": 0.8})

The rows of all tests are gathered and scored together by one `assay run` at the end of the session, so models are loaded
once and asked side by side. Each score is then reported as a test of its own, with what it rests on. Every row is scored
by every metric that some test names. Which models are asked says an assay.yaml in the folder, or the setting assay_flags:

    [pytest]
    assay_flags = --encoder-model encoder-judge
"""

import json
import os
import shlex
import subprocess

import pytest

GATHERED = pytest.StashKey[list]()  # what the tests of the session have to score
FIELDS = ("question", "answer", "contexts", "reference_answers", "reference_contexts", "history", "tool_calls", "group")


def pytest_addoption(parser):
    parser.addoption("--assay", default="assay", metavar="PROGRAM", help="the assay program (default: the one on the path)")
    parser.addini("assay_flags", "further flags of assay run", default="")


def pytest_configure(config):
    config.stash[GATHERED] = []


@pytest.fixture
def assay(request):
    """Takes the columns of a row, and the limits of its scores by metric."""

    def gather(*, at_least=None, at_most=None, **row):
        if unknown := sorted(set(row) - set(FIELDS)):
            raise TypeError(f"assay() takes no {unknown[0]}: its columns are {', '.join(FIELDS)}")
        limits = [(m, v, False) for m, v in (at_least or {}).items()] + [(m, v, True) for m, v in (at_most or {}).items()]
        if not limits:
            raise TypeError('assay() needs a limit, such as at_least={"faithfulness/encoder": 0.8}')
        gathered = request.config.stash[GATHERED]
        row["id"] = f"{request.node.nodeid} #{len(gathered) + 1}"
        gathered.append((request.node, row, limits))

    return gather


@pytest.hookimpl(hookwrapper=True)
def pytest_runtestloop(session):
    outcome = yield
    gathered = session.config.stash[GATHERED]
    if not gathered or outcome.excinfo and issubclass(outcome.excinfo[0], KeyboardInterrupt):
        return
    session.testscollected += sum(len(limits) for _, _, limits in gathered)
    results, trouble = score(session.config, [row for _, row, _ in gathered],
                             sorted({metric for _, _, limits in gathered for metric, _, _ in limits}))
    for item, row, limits in gathered:
        for metric, limit, ceiling in limits:
            of_row = results.get(row["id"], {})
            found = [r for name, r in of_row.items() if name == metric or name.startswith(metric + "/")]
            told, failed, value = tell(found[0] if found else None, metric, limit, ceiling,
                                       trouble or f"the run has no such metric, but {', '.join(of_row) or 'none'}")
            properties = [] if value is None else [("score", value)]
            for when, outcome in (("call", "failed" if failed else "passed"), ("teardown", "passed")):
                report = pytest.TestReport(f"{item.nodeid}[{metric}]", item.location, {}, outcome,
                                           told if outcome == "failed" else None, when, sections=[("assay", told)],
                                           user_properties=properties)
                item.ihook.pytest_runtest_logreport(report=report)


def score(config, rows, metrics):
    """Runs assay once. Returns the results by row and metric, and what went wrong if there are none."""
    folder = config.cache.mkdir("assay") / os.environ.get("PYTEST_XDIST_WORKER", "run")
    data = folder.with_suffix(".jsonl")
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    command = [config.getoption("--assay"), "run", "--data", str(data), "--metrics", ",".join(metrics), "-o", str(folder),
               "--overwrite", *shlex.split(config.getini("assay_flags"))]
    try:
        ran = subprocess.run(command, cwd=config.rootpath, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, text=True, encoding="utf-8", errors="replace", check=False)
    except OSError as err:
        return {}, f"{command[0]} cannot be run: {err}"
    results = {}
    if ran.returncode in (0, 1, 3) and (folder / "results.jsonl").exists():
        with open(folder / "results.jsonl", encoding="utf-8") as lines:
            for r in map(json.loads, lines):
                results.setdefault(r["sample"], {})[r["metric"]] = r
    return results, "" if results else f"{shlex.join(command)} ended with {ran.returncode}:\n{ran.stderr[-2000:]}"


def tell(result, metric, limit, ceiling, trouble):
    """What is said of a score, whether it fails, and its value."""
    if result is None:
        return printable(f"{metric} has no score: {trouble}"), True, None
    if "score" not in result:
        return printable(f"{result['metric']} has no score, {result['kind']}: {result['error']}"), True, None
    value = result["score"]["value"]
    failed = value > limit if ceiling else value < limit
    lines = [f"{result['metric']} is {value:.3f}, and should be at {'most' if ceiling else 'least'} {limit}"]
    for f in result["score"].get("because", [])[:20]:
        verdict = {True: ", yes", False: ", no"}.get(f.get("verdict"), "")
        number = f", {f['value']:.3f}" if "value" in f else ""
        lines.append(f"  {f['kind']}{verdict}{number}: {f['text'][:300]}")
        if f.get("reason"):
            lines.append(f"      {f['reason'][:300]}")
    return printable("\n".join(lines)), failed, value


def printable(text):
    """Datasets and models are not trusted with the terminal."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)


def pytest_terminal_summary(terminalreporter):
    scored = [(dict(r.user_properties), r) for kind in ("passed", "failed") for r in terminalreporter.stats.get(kind, [])]
    scored = [(properties["score"], r) for properties, r in scored if "score" in properties]
    if scored:
        terminalreporter.section("scores of assay")
    for value, r in sorted(scored, key=lambda s: s[1].nodeid):
        terminalreporter.write_line(f"{value:.3f}  {r.outcome}  {r.nodeid}")
