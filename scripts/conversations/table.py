"""Rows with and without their history, and the table of their runs: see conversations.sh."""

import json
import random
import sys


def lines(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def write_rows(data, out, most):
    rows = [r for r in lines(data) if r.get("history")]
    if most and most < len(rows):
        rows = [rows[i * len(rows) // most] for i in range(most)]
    for kind in ("with", "without"):
        with open(f"{out}/{kind}.jsonl", "w", encoding="utf-8") as f:
            for r in rows:
                r = dict(r) if kind == "with" else {k: v for k, v in r.items() if k != "history"}
                f.write(json.dumps(r, ensure_ascii=False) + "\n")


def ranks(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    out, i = [0.0] * len(values), 0
    while i < len(order):
        j = i
        while j < len(order) and values[order[j]] == values[order[i]]:
            j += 1
        for k in order[i:j]:
            out[k] = (i + j - 1) / 2
        i = j
    return out


def spearman(a, b):
    a, b = ranks(a), ranks(b)
    ma, mb = sum(a) / len(a), sum(b) / len(b)
    spread = (sum((x - ma) ** 2 for x in a) * sum((y - mb) ** 2 for y in b)) ** 0.5
    return sum((x - ma) * (y - mb) for x, y in zip(a, b)) / spread if spread else 0.0


def values(run, metric):
    return {r["sample"]: r["score"]["value"] for r in lines(f"{run}/results.jsonl") if r["metric"] == metric and "score" in r}


def table(out, metrics, labels):
    rows = {r["id"]: r for r in lines(f"{out}/with.jsonl")}
    print("| metric | people's | rows | mean with | mean without | Spearman with | without | difference (95%) |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |")
    for metric in metrics.split(","):
        a, b = values(f"{out}/run-with", metric), values(f"{out}/run-without", metric)
        for label in labels.split(","):
            ids = [i for i in rows if i in a and i in b and label in rows[i]["human"]]
            people = [sum(map(float, rows[i]["human"][label])) / len(rows[i]["human"][label]) for i in ids]
            x, y = [a[i] for i in ids], [b[i] for i in ids]
            rng, differences = random.Random(1), []
            for _ in range(2000):  # the percentile bootstrap over rows, the same ones for both
                k = [rng.randrange(len(ids)) for _ in ids]
                p = [people[i] for i in k]
                differences.append(spearman([x[i] for i in k], p) - spearman([y[i] for i in k], p))
            differences.sort()
            r, s = spearman(x, people), spearman(y, people)
            print(f"| {metric} | {label} | {len(ids)} | {sum(x) / len(x):.3f} | {sum(y) / len(y):.3f} | {r:.3f} | {s:.3f} | "
                  f"{r - s:+.3f} ({differences[50]:+.3f} to {differences[1949]:+.3f}) |")


if sys.argv[1] == "rows":
    write_rows(sys.argv[2], sys.argv[3], int(sys.argv[4]))
else:
    table(*sys.argv[2:5])
