"""Writes docs/agreement.md of what agreement.sh measured: table.py OUT."""

import json
import os
import sys
from glob import glob

from rows import SETS, TESTS

HEAD = """# Agreement with people

How far each metric that needs no language model agrees with people's labels, set by set. AUC where labels are true and
false, else Spearman's correlation with the raters' mean; 95% intervals by bootstrap over groups. Made by
`scripts/agreement/agreement.sh`, which says where everything comes from.

The blends are fitted to the sources of the first tables, each source counting as much as any other. What stands there for
a blend was predicted by one that was fitted *without that source*, and what stands for the encoder was said by the encoder
before its last stage of training, when it had seen none of these sources. So these figures are about data of another kind
than a judge was made from. The sets of the last table had no part in anything: they are scored by what ships.

Three ways to draw weights together were tried on these sources, and the last was kept: towards zero, the strength chosen by log loss (means over
the sources .603 for faithfulness, .463 for answer relevance, .819 for answer correctness); towards their mean, by log loss (.598, .460, .819; context
relevance .771); towards their mean, by concordance within sources. They differ by less than their intervals. For context relevance and answer
correctness, of three and four unlike sources, what ships weighs all features alike, and the mean of the features is the better guide
to what it is worth than the blend that two or three sources make.
"""


def main(out):
    print(HEAD)
    for dimension, sets in SETS.items():
        fit = load(f"{out}/fits/{dimension}.json")["sources"]
        print(f"## {dimension.replace('_', ' ').capitalize()}\n")
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
