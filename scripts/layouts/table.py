"""Prints the table of docs/layouts.md: table.py OUT. Called by layouts.sh."""

import glob
import json
import os
import statistics
import sys


def main(out):
    sets = sorted(path.removesuffix(".row.json") for path in glob.glob(f"{out}/*.row.json"))
    print("| metric | set | rows | `row` | `classic` |\n|---|---|---:|---|---|")
    gains = []
    for name in sets:
        figures = [read(f"{name}.{layout}.json") for layout in ("row", "classic")]
        metric, source = os.path.basename(name).split(".", 1)
        print(f"| `{metric}/logit` | {source} | {figures[0]['n']} | {' | '.join(shown(f['auc']) for f in figures)} |")
        gains.append(figures[0]["auc"]["value"] - figures[1]["auc"]["value"])
    half = 2.2 * statistics.stdev(gains) / len(gains) ** 0.5  # t, 11 degrees of freedom
    mean = statistics.mean(gains)
    print(f"\nThe mean of the differences, `row` less `classic`: {mean:+.3f} ({mean - half:+.3f} to {mean + half:+.3f}), "
          f"the sets taken as a sample of sets; `row` is ahead on {sum(g > 0 for g in gains)} of {len(gains)}.")


def read(path):
    with open(path, encoding="utf-8") as f:
        figures = json.load(f)
    return figures[0] if isinstance(figures, list) else figures


def shown(auc):
    return f"{auc['value']:.3f} ({auc['lo']:.3f} to {auc['hi']:.3f})"


main(sys.argv[1])
