"""Prints as Markdown how the short forms compare with the long ones: table.py RUN, of a run that short.sh made."""

import json
import re
import sys

LONG = ["faithfulness/claims", "answer_relevance/questions", "context_relevance/sentences"]
DOUBT = (1 / 3, 2 / 3)  # where a verdict is in doubt: see metrics.Reasons


def main(run):
    rows = {}
    with open(f"{run}/results.jsonl") as file:
        for line in file:
            result = json.loads(line)
            rows.setdefault(result["sample"], {})[result["metric"]] = result
    with open(f"{run}/run.json") as file:
        config = json.load(file)["config"]
    print(f"{len(rows)} rows of {config['dataset']['path']}, by {config['judge']['name']} on {config['judge']['engine']}.\n")
    print("| | tokens written a row | short | rows with both | mean | short | mean difference, absolute |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name in LONG:
        pairs = [(r[name], r[name + "_short"]) for r in rows.values()]
        both = [p for p in pairs if all("score" in x for x in p)]
        values = [[x["score"]["value"] for x in p] for p in both]
        print(f"| `{name}` | {mean([written(a) for a, _ in pairs]):.0f} | {mean([written(b) for _, b in pairs]):.0f} "
              f"| {len(both)} of {len(pairs)} | {mean([a for a, _ in values]):.3f} | {mean([b for _, b in values]):.3f} "
              f"| {mean([abs(a - b) for a, b in values]):.3f} |")
    total = [[sum(written(r[name + form]) for name in LONG) for form in ("", "_short")] for r in rows.values()]
    print(f"| all three | {mean([a for a, _ in total]):.0f} | {mean([b for _, b in total]):.0f} | | | | |\n")
    claims(rows.values())
    sentences(rows.values())


def claims(rows):
    """Verdicts of the long form on its own statements, against P(yes) on the same ones."""
    pairs = []
    for r in rows:
        long, logit = (because(r[name], "claim") for name in ("faithfulness/claims", "faithfulness/claims_logit"))
        pairs += [(a["verdict"], b["value"]) for a, b in zip(long, logit) if a["text"] == b["text"]]
    clear = [(said, p) for said, p in pairs if not DOUBT[0] < p < DOUBT[1]]
    same = [said == (p > 0.5) for said, p in clear]
    print(f"Of {len(pairs)} claims {len(pairs) - len(clear)} are in doubt, and are judged as the long form judges them. "
          f"Of the other {len(clear)}, {sum(same)} have the long form's verdict ({share(same)}). The long form says yes to "
          f"{share([said for said, _ in pairs])} of the claims.\n")


def sentences(rows):
    """Sentences that both forms keep, of all that the contexts have."""
    same, of = 0, 0
    for r in rows:
        forms = [r[name] for name in ("context_relevance/sentences", "context_relevance/sentences_short")]
        if all("score" in f for f in forms):
            kept = [[f["text"] for f in because(form, "sentence") if f["verdict"]] for form in forms]
            note = because(forms[0], "note")[-1]["text"]
            n = int(re.search(r"contexts' (\d+) sentences", note)[1])
            of, same = of + n, same + n - len(set(kept[0]) ^ set(kept[1]))
    if of:
        print(f"Of {of} sentences of the contexts, {same} ({same / of:.0%}) are kept by both forms or by neither.")


def because(result, kind):
    return [f for f in result.get("score", {}).get("because", []) if f["kind"] == kind]


def written(result):
    return result.get("cost", {}).get("output_tokens", 0)


def mean(values):
    return sum(values) / len(values) if values else float("nan")


def share(truths):
    return f"{mean(truths):.0%}" if truths else "none"


main(sys.argv[1])
