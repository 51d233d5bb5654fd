"""Writes docs/agreement.md of what agreement.sh measured: table.py OUT."""

import json
import os
import random
import sys
from collections import defaultdict
from glob import glob

from rows import SETS, TESTS, WITHIN

HEAD = """# Agreement with people

How far each metric that needs no language model agrees with people's labels, set by set. AUC where labels are true and
false, else Spearman's correlation with the raters' mean; 95% intervals by bootstrap over groups. Made by
`scripts/agreement/agreement.sh`, which says where everything comes from.

The blends are fitted to the sources of the first tables, each source counting as much as any other. What stands there for
a blend was predicted by one that was fitted *without that source*, and what stands for the encoder was said by the encoder
before its last stage of training, when it had seen none of these sources. So these figures are about data of another kind
than a judge was made from. The sets of the last tables had no part in anything, but for EVOUNA's other questions, which are trained on: they are scored by what
ships. How many windows a sentence is read with (at most 2, the second below 0.7) was chosen on the sources for faithfulness: 3 and 0.9 gave the same.

Three ways to draw weights together were tried on these sources, and the last was kept: towards zero, the strength chosen by log loss (means over
the sources .603 for faithfulness, .463 for answer relevance, .819 for answer correctness); towards their mean, by log loss (.598, .460, .819; context
relevance .771); towards their mean, by concordance within sources. They differ by less than their intervals. For context relevance and answer
correctness, of three and four unlike sources, what ships weighs all features alike, and the mean of the features is the better guide
to what it is worth than the blend that two or three sources make.
"""


DEFINITIONS = {"answer_relevance": """By RAGAS' definition: whether an answer addresses its question, be it true or not. ares-databricks below has ARES' labels: right by the
passage, too, as `answer_relevance/ares` and `answer_relevance/ares_encoder` ask.
"""}


def main(out):
    print(HEAD)
    for dimension, sets in SETS.items():
        fit = load(f"{out}/fits/{dimension}.json")["sources"]
        print(f"## {dimension.replace('_', ' ').capitalize()}\n")
        if dimension in DEFINITIONS:
            print(DEFINITIONS[dimension])
        agreements = [agreement(f"{out}/log/{dimension}.{name}.agree.json") for name in sets]
        by_name = {s["dataset"].removesuffix(".jsonl").split(".", 1)[1]: s for s in fit["sources"]}
        figures = [by_name[name] for name in sets]
        print("| | " + " | ".join(f"{name}, n = {f['n']}, {f['measure']}" for name, f in zip(sets, figures)) + " | mean |")
        print("|---" * (len(sets) + 2) + "|")
        row = lambda name, cells, mean: print(f"| {name} | " + " | ".join(cells) + f" | {mean} |")
        row("**blend**, the source left out", [span(f["judge"]) for f in figures], f"**{fit['judge']:.3f}**")
        row("mean of the standardised features", [f"{f['mean']:.3f}" for f in figures], f"{fit['mean']:.3f}")
        for metric in sorted(fit["alone"], key=fit["alone"].get, reverse=True):
            row(f"`{metric}`", [span(a[metric][f["measure"]]) for a, f in zip(agreements, figures)],
                f"{fit['alone'][metric]:.3f}")
        row("blend less the mean of features", [less(f["less_mean"]) for f in figures], less(fit["less_mean"]))
        row(f"blend less the source's best", [f"{less(f['less_best'])}, `{f['less_best']['first']}`" for f in figures],
            f"{less(fit['less_best'])}, `{fit['less_best']['first']}`")
        print()
    print("## Sets that had no part in anything\n")
    for name, fields in TESTS.items():
        for dimension in fields:
            a = agreement(f"{out}/log/{dimension}.{name}.agree.json")
            measure = "auc" if any(m["auc"] for m in a.values()) else "spearman"
            print(f"{name}, {dimension.replace('_', ' ')}, n = {max(m['n'] for m in a.values())}:\n")
            print(f"| metric | {measure} |\n|---|---|")
            for metric in sorted(a, key=lambda m: a[m][measure]["value"], reverse=True):
                print(f"| `{metric}` | {span(a[metric][measure])} |")
            print()
    for dimension, sets in WITHIN.items():
        for name in sets:
            compared(out, dimension, name)


def compared(out, dimension, name):
    """The table of a set whose rows are compared within a system, or within the two answers of a group."""
    rows = {r["id"]: r for r in lines(f"{out}/sets/{dimension}.{name}.jsonl")}
    values = defaultdict(dict)  # of each metric, by row
    for result in lines(f"{out}/runs/{dimension}.{name}/results.jsonl"):
        if "score" in result:
            values[result["metric"]][result["sample"]] = result["score"]["value"]
    systems = sorted({r["system"] for r in rows.values() if "system" in r})
    print(f"{name}, {dimension.replace('_', ' ')}, n = {len(rows)}" +
          (f", mean AUC of {len(systems)} systems ({', '.join(systems)}), on questions that were not trained on" if systems
           else ", how often the answer that people prefer scores higher (ties count half)") + ":\n")
    print(f"| metric | {'auc' if systems else 'share'} |\n|---|---|")
    figure = mean_auc if systems else preferred
    spans = {metric: bootstrap(figure, rows, found) for metric, found in values.items()}
    for metric in sorted(spans, key=lambda m: spans[m]["value"], reverse=True):
        print(f"| `{metric}` | {span(spans[metric])} |")
    print()


def mean_auc(rows):
    """The mean over systems of the AUC of (label, value, system)."""
    by_system = defaultdict(lambda: ([], []))
    for label, value, system in rows:
        by_system[system][label > 0.5].append(value)
    return sum(sum((t > f) + (t == f) / 2 for t in right for f in wrong) / (len(right) * len(wrong))
               for wrong, right in by_system.values()) / len(by_system)


def preferred(rows):
    """The share of pairs of (label, value, _), which stand one behind the other, whose better one has the higher value."""
    right = 0
    for (label, one, _), (_, other, _) in zip(rows[::2], rows[1::2]):
        right += 0.5 if one == other else (one > other) == (label > 0.5)
    return right / (len(rows) // 2)


def bootstrap(figure, rows, values, draws=1000):
    """A figure of the rows that have a value, with its 95% percentile interval over groups."""
    groups = defaultdict(list)
    for id, r in rows.items():
        if id in values:
            groups[r["group"]].append((r["human"]["label"], values[id], r.get("system")))
    groups = list(groups.values())
    rng, drawn = random.Random(1), []
    for _ in range(draws):
        try:
            drawn.append(figure([row for g in rng.choices(groups, k=len(groups)) for row in g]))
        except ZeroDivisionError:  # a system that is always right in this draw
            pass
    drawn.sort()
    return {"value": figure([row for g in groups for row in g]), "lo": drawn[round(0.025 * len(drawn))],
            "hi": drawn[round(0.975 * len(drawn)) - 1]}


def lines(path):
    with open(path, encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def agreement(path):
    """The figures of each metric; assay agree has turned those whose low scores are good."""
    found = {}
    for m in load(path)["metrics"]:
        figures = {k: m.get(k) for k in ("auc", "spearman")}
        found[m["metric"]] = figures | {"n": m["n"]}
    return found


def span(e):
    if e is None:
        return "-"
    return f"{e['value']:.3f}" + (f" ({e['lo']:.3f} to {e['hi']:.3f})" if "lo" in e else "")


def less(d):
    return f"{d['difference']:+.3f}" + (f" ({d['lo']:+.3f} to {d['hi']:+.3f})" if "lo" in d else "")


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    main(sys.argv[1])
