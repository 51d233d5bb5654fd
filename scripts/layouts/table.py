"""Prints the table of docs/layouts.md: table.py OUT. Called by layouts.sh."""

import glob
import json
import os
import statistics
import sys


# 97.5% quantiles of Student's t for 1 to 11 degrees of freedom.
T = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201]


def main(out):
    sets = sorted(path.removesuffix(".classic.json") for path in glob.glob(f"{out}/*.classic.json"))
    print("| metric | set | rows | `row` | `classic` |\n|---|---|---:|---|---|")
    gains = []
    for name in sets:
        figures = [read(f"{name}.{layout}.json") for layout in ("row", "classic")]
        metric, source = os.path.basename(name).split(".", 1)
        print(f"| `{metric}/logit` | {source} | {figures[0]['n']} | {' | '.join(shown(f['spearman']) for f in figures)} |")
        gains.append(figures[0]["spearman"]["value"] - figures[1]["spearman"]["value"])
    half = T[len(gains) - 2] * statistics.stdev(gains) / len(gains) ** 0.5
    mean = statistics.mean(gains)
    print(f"\nThe mean of the differences, `row` less `classic`: {mean:+.3f} ({mean - half:+.3f} to {mean + half:+.3f}), "
          f"the sets taken as a sample of sets; `row` is ahead on {sum(g > 0 for g in gains)} of {len(gains)}.")


def read(path):
    with open(path, encoding="utf-8") as f:
        figures = json.load(f)
    return figures[0] if isinstance(figures, list) else figures


def shown(rho):
    return f"{rho['value']:.2f} ({rho['lo']:.2f} to {rho['hi']:.2f})"


main(sys.argv[1])
