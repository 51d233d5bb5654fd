"""Writes labelled sets as datasets that assay reads: rows.py DATA OUT [MOST]. Called by agreement.sh.

Each set becomes OUT/DIMENSION.SET.jsonl with at most MOST rows (160), drawn by hash; people's label, from 0 to 1, is the
field "label". The encoder judge's first stage of training (scripts/train-judge) has seen none of these rows, its last
stage those of the sets in its parts a and b."""

import gzip
import hashlib
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "train-judge"))
sys.dont_write_bytecode = True

# The sources by dimension: those that the first stage of training leaves out.
SETS = {
    "faithfulness": ("frank", "xsum-hallucination", "wice", "factcheck-gpt", "faithdial-audit", "begin-cmu-tc", "q2-wow",
                     "qa-feedback"),
    "context_relevance": ("selqa", "qed", "clapnq"),
    "answer_relevance": ("rag-qa-arena", "alce-utility", "haluquestqa", "qa-feedback-relevance",
                         "truthfulqa-informative"),
    "answer_correctness": ("semeval2013-answers", "truthfulqa", "evouna-nq", "evouna-tq"),
}

# What nothing was trained on (ARES' answer relevance is answer_relevance/ares_encoder's: right by the passage, too): the field of people's label for each dimension.
TESTS = {
    "mtrag": {"faithfulness": "faithfulness", "completeness": "completeness"},
    "ares-databricks": {"faithfulness": "Answer_Faithfulness_Label", "context_relevance": "Context_Relevance_Label",
                        "answer_relevance": "Answer_Relevance_Label"},
}

# What is compared within groups: the systems of EVOUNA, each by itself, on the questions that no stage of training sees,
# and the two answers to each instruction of LLMBar, on which nothing was trained.
WITHIN = {"answer_correctness": ("evouna-nq-systems", "evouna-tq-systems"), "answer_relevance": ("llmbar",)}


def main(data, out, most=160):
    os.makedirs(out, exist_ok=True)
    for dimension, sets in SETS.items():
        for name in sets:
            rows = evouna(data, name) if name.startswith("evouna") else people(data, dimension, name)
            write(out, dimension, name, sorted(rows, key=lambda r: digest(r["id"]))[:int(most)])
    for name, fields in TESTS.items():
        for dimension, field in fields.items():
            write(out, dimension, name, test(data, name, field))
    for dimension, sets in WITHIN.items():
        for name in sets:
            write(out, dimension, name, preferred(data) if name == "llmbar" else evouna(data, name.removesuffix("-systems")))


def people(data, dimension, name):
    for row in lines(f"{data}/train/{name}.jsonl.gz"):
        if row["task"] == dimension:
            yield {"id": row["id"], "group": str(row["group"]), "question": row.get("question"),
                   "answer": row.get("statement") or row.get("answer"),
                   "contexts": row.get("contexts") or ([row["context"]] if row.get("context") else None),
                   "reference_answers": row.get("reference_answers"), "label": row["label"]}


def evouna(data, name):
    """Of the questions that no stage of training sees: pairs.split puts them into its test part."""
    for row in lines(f"{data}/{name}.dev.jsonl"):
        if int(hashlib.sha256(f"1 {row['question']}".encode()).hexdigest(), 16) % 100 >= 92 and row["answer"].strip():
            yield {"id": row["id"], "group": row["question"], "question": row["question"], "answer": row["answer"],
                   "reference_answers": row["reference_answers"], "label": float(row["human"]["correct"]),
                   "system": row["metadata"]["system"]}


def preferred(data):
    """A row for each of the two answers to an instruction; that which people prefer has the label 1."""
    for row in lines(f"{data}/llmbar.dev.jsonl"):
        for i, name in enumerate(("answer_a", "answer_b")):
            yield {"id": f"{row['id']}/{name}", "group": row["id"], "question": row["question"], "answer": row[name],
                   "label": float(row["human"]["preferred"] == i + 1)}


def test(data, name, field):
    for row in lines(f"{data}/{name}.dev.jsonl"):
        labels = row["human"].get(field)
        if labels is None or not row.get("contexts"):
            continue
        labels = labels if isinstance(labels, list) else [labels]
        yield {"id": row["id"], "group": row.get("group"), "question": row["question"], "answer": row["answer"],
               "contexts": row["contexts"], "reference_answers": row.get("reference_answers"),
               "label": sum(map(float, labels)) / len(labels)}


def lines(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def write(out, dimension, name, rows):
    with open(f"{out}/{dimension}.{name}.jsonl", "w", encoding="utf-8") as file:
        for row in rows:
            label = row.pop("label")
            file.write(json.dumps({k: v for k, v in row.items() if v} | {"human": {"label": label}}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
