"""Makes labelled pairs of a user's own rows: those of assay testset, or of a dataset with people's labels, in its
column human or in a file of assay label. docs/judge.md tells how a judge is trained with them."""

import gzip
import hashlib
import json
import os
import re
import sys

import pairs
from pairs import LABELS, Pair

# The columns that a row's parts stand in, the first that is there: the names that assay knows (docs/formats.md).
COLUMNS = {
    "id": ("id", "sample_id", "query_id"),
    "group": ("group", "group_id"),
    "question": ("question", "user_input", "input", "query"),
    "answer": ("answer", "response", "actual_output", "output", "generated_answer", "answer_a"),
    "contexts": ("contexts", "retrieved_contexts", "retrieval_context", "retrieved_context", "context",
                 "source_documents", "passages", "document"),
    "references": ("reference_answers", "reference_answer", "reference", "references", "ground_truth", "ground_truths",
                   "ground_truth_answer", "ground_truth_answers", "expected_output", "expected_response", "gt_answer"),
}

# What a label of a row is about.
DIMENSIONS = ("context_relevance", "faithfulness", "answer_relevance", "answer_correctness")
ALSO = {"answer_faithfulness": "faithfulness", "correct": "answer_correctness"}  # in ARES' files and ours
WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
LEAST = 10  # groups: with fewer there is nothing to tell by when to stop, and nothing to test on


class Bad(Exception):
    """A file that cannot be trained on, and why."""


def read(paths, labels="", dimension=""):
    """All pairs of the rows in some files, in a fixed order. With a file of labels its numbers are those of the
    dimension; without, a row's own columns say what is labelled: all dimensions of them, or the one that is named."""
    if labels and not dimension:
        raise Bad(f"--labels {labels}: --dimension says what the labels are about: {', '.join(DIMENSIONS)}")
    if dimension and dimension not in DIMENSIONS:
        raise Bad(f"--dimension {dimension}: it is one of {', '.join(DIMENSIONS)}")
    given = book(labels) if labels else None
    rows, seen = [], set()
    for path in paths:
        for number, columns in enumerate(objects(path), 1):
            row = Row(path, number, columns)
            if given and row.id in seen:
                raise Bad(f"{row.where}: the id {row.id} is there twice, and a label is known by it alone")
            seen.add(row.id)
            if not given:
                row.labels = row.own(dimension)
            elif row.id in given:
                row.labels = {dimension: given[row.id]}
            rows.append(row)
    if given and not seen & given.keys():
        raise Bad(f"{labels} has no label of a row in {', '.join(paths)}: are the ids the same?")
    lost = [row for row in rows if row.kind == "lost_context" and row.labels]
    if lost:
        say(f"{len(lost)} rows of kind lost_context are left out: their passage was called irrelevant because it was "
            "not found, not because it does not help")
    shares(rows)
    found = [p for row in rows if row.kind != "lost_context" for p in row.pairs()]
    if not found:
        raise Bad("no row has a label that a judge can learn from: want, for one of "
                  f"{', '.join(DIMENSIONS)}, a number under human or labels, or --labels FILE --dimension NAME, and "
                  "the texts that it is about")
    return found


def objects(path):
    """The rows of a file of JSON Lines."""
    if not re.search(r"\.(jsonl|ndjson)(\.gz)?$", path):
        raise Bad(f"{path}: rows are read from JSON Lines, .jsonl or .jsonl.gz: assay testset -o FILE.jsonl writes "
                  "such")
    try:
        with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    try:
                        columns = json.loads(line)
                    except ValueError as error:
                        raise Bad(f"{path}:{number}: it is no JSON: {error}") from None
                    if not isinstance(columns, dict):
                        raise Bad(f"{path}:{number}: it is no JSON object")
                    yield columns
    except (OSError, UnicodeDecodeError) as error:
        raise Bad(f"{path}: {error}") from None


def book(path):
    """The labels of a file of assay label by sample; the mean, where several raters labelled it."""
    found = {}
    for number, line in enumerate(objects(path), 1):
        if "sample" not in line or "label" not in line:
            raise Bad(f'{path}: label {number} is no {{"sample": ID, "label": NUMBER}}')
        value = label_of(line["label"], f"{path}: the label of {line['sample']}")
        if value is not None:
            found.setdefault(str(line["sample"]), []).append(value)
    if not found:
        raise Bad(f"{path} has no label")
    return {sample: sum(values) / len(values) for sample, values in found.items()}


def label_of(value, where):
    """A label as a number: true and false, yes and no, or the mean of a list of raters; None where there is none."""
    if isinstance(value, list):
        values = [v for v in (label_of(v, where) for v in value) if v is not None]
        return sum(values) / len(values) if values else None
    if isinstance(value, str):
        word = value.strip("[] \t").lower()
        try:
            value = WORDS[word] if word in WORDS else float(word) if word else None
        except ValueError:
            value = word
    if value is None:
        return None
    if not isinstance(value, (bool, int, float)) or not abs(float(value)) < 1e6:
        raise Bad(f"{where} is {value!r}: want a number, true or false, yes or no")
    return float(value)


def dimension_of(name):
    """What a label is about: of Answer_Faithfulness_Label faithfulness."""
    name = re.sub(r"[^a-z]+", "_", name.lower()).removesuffix("_label")
    return ALSO.get(name, name)


def shares(rows):
    """Ratings become shares of their range, from the lowest that was given to the highest, as for assay judge."""
    for name in DIMENSIONS:
        values = [row.labels[name] for row in rows if name in row.labels]
        if not values or 0 <= min(values) and max(values) <= 1:
            continue
        low, high = min(values), max(values)
        if low == high:
            raise Bad(f"all labels of {name} are {low:g}: there is nothing to tell apart")
        say(f"labels of {name} from {low:g} to {high:g}: taken as shares of that range")
        for row in rows:
            if name in row.labels:
                row.labels[name] = (row.labels[name] - low) / (high - low)


class Row:
    """A row of a dataset, and its labels by dimension."""

    def __init__(self, path, number, columns):
        self.columns = {re.sub(r"(?<=[a-z])(?=[A-Z])|[ -]", "_", name).lower(): v for name, v in columns.items()}
        self.where, self.source = f"{path}, row {number}", os.path.basename(path)
        self.question, self.answer = self.text("question"), self.text("answer")
        self.contexts, self.references = self.texts("contexts"), self.texts("references")
        self.id = str(self.cell("id") or "") or f"row-{number}"
        self.group = self.question or self.id
        if group := self.text("group"):
            self.group = f"{self.source} {group}"  # q0001 is another one in another test set
        self.kind = self.columns.get("kind")
        self.labels = {}

    def cell(self, part):
        """The first of the columns that is there and not null."""
        return next((self.columns[c] for c in COLUMNS[part] if self.columns.get(c) is not None), None)

    def text(self, part):
        value = self.cell(part)
        if isinstance(value, (dict, list)):
            raise Bad(f"{self.where}: the {part} is no text")
        return "" if value is None else str(value).strip()

    def texts(self, part):
        """A list of texts, or of objects with one each; a lone one is a list of one."""
        value, found = self.cell(part), []
        for one in value if isinstance(value, list) else [] if value is None else [value]:
            if isinstance(one, dict):
                one = next((one[m] for m in ("text", "content", "page_content", "doc_text") if one.get(m)), None)
            if not isinstance(one, (str, int, float)):
                raise Bad(f"{self.where}: one of the {part} is no text")
            if str(one).strip():
                found.append(str(one).strip())
        return found

    def own(self, dimension):
        """The labels in the row's own columns. People's go before those that it was made with."""
        found = {}
        columns = {name: value for name, value in self.columns.items() if name.endswith("_label")}
        for group in (self.columns.get("machine"), self.columns.get("labels"), columns, self.columns.get("human")):
            for name, value in group.items() if isinstance(group, dict) else ():
                name = dimension_of(name)
                if name in DIMENSIONS and name == (dimension or name):
                    value = label_of(value, f"{self.where}: the label {name}")
                    if value is not None:
                        found[name] = value
        return found

    def pairs(self):
        """The pairs of the row, in the form in which metrics/vector/encoder.go asks: see pairs.py. What a label is
        about and the row lacks is left out."""
        context = "\n\n".join(self.contexts)
        for name, value in self.labels.items():
            pair = lambda query, text: Pair(self.group, name, query, text, value, "", self.source,
                                            self.contradicted(name))
            if name == "context_relevance" and self.question:
                # None of several is relevant, or together they are so far; which one is not known.
                for text in self.contexts if value == 0 else [context] if context else []:
                    yield pair(self.question, text)
            elif name == "faithfulness" and self.answer and context and pairs.fits(self.answer, context):
                yield pair(self.answer, context)
            elif name == "answer_relevance" and self.question and self.answer and self.kind != "strong_answer":
                # Without the passage, which it is not shown, a judge cannot tell that a relevant answer contradicts it.
                yield pair(self.question, self.answer)
            elif name == "answer_correctness" and self.references and self.answer:
                best = pairs.nearest(self.references, self.answer)
                yield pair(f"{self.question} | {best}", self.answer)

    def contradicted(self, name):
        """Whether the contexts say otherwise, where the making of a row tells; None elsewhere."""
        if name != "faithfulness" or 0 < self.labels[name] < 1:
            return None
        return 0 if self.labels[name] == 1 else 1 if self.kind == "strong_answer" else None


def split(found, seed):
    """A grouped split (train, validation, test): of 10 groups, in an order by hash, the first to validate, the second
    to test, and the others to train on, and so on."""
    groups = sorted({p.group for p in found}, key=lambda g: hashlib.sha256(f"{seed} {g}".encode()).digest())
    if len(groups) < LEAST:
        raise Bad(f"the labelled rows are of {len(groups)} questions or groups: it takes {LEAST} at the least, and "
                  "some hundreds to learn anything")
    of = {group: i % 10 for i, group in enumerate(groups)}
    parts = [[p for p in found if of[p.group] > 1], [p for p in found if of[p.group] == 0],
             [p for p in found if of[p.group] == 1]]
    for name in sorted({p.label for p in parts[0]}):
        values = [p.value for p in parts[0] if p.label == name]
        say(f"{name}: {len(values)} pairs to train on, of which {sum(v > 0.5 for v in values)} above one half")
        if min(values) == max(values):
            raise Bad(f"all labels of {name} are {values[0]:g}: there is nothing to tell apart")
    return parts


def outputs(judge, found):
    """Leaves a judge only the outputs that pairs had labels for: nothing keeps the others in order while it is trained
    on these."""
    learned = {p.label for p in found}
    if {p.contradicted for p in found} >= {0, 1}:
        learned.add("contradiction")
    keep = [i for i, label in enumerate(judge.labels) if label in learned]
    judge.out.weight.data, judge.out.bias.data = judge.out.weight.data[keep], judge.out.bias.data[keep]
    judge.out.out_features, judge.labels = len(keep), [judge.labels[i] for i in keep]


def parts(o):
    """The pairs of the options --rows, --labels and --dimension, split; the program ends where there are none."""
    try:
        return split(read(o.rows, o.labels, o.dimension), o.seed)
    except Bad as error:
        sys.exit(f"train.sh: {error}")


def about(o, judge):
    """What the judge's file says about it. By the name assay knows a judge that reads both texts as one segment."""
    return {"name": "assay-encoder-judge", "description": "a cross-encoder trained on " + ", ".join(
        os.path.basename(path) for path in o.rows) + ": " + ", ".join(judge.labels)}


def card(o, found, state, tested, before, after, interval):
    """Writes the judge's card: what it was trained on, and how well it tells held-out rows apart, before and after.
    Tested are the pairs of held-out rows, before and after their outputs; interval(values, scores) is an AUC with its
    interval, as text."""
    files = [f"{os.path.basename(path)} (sha256 {digest(path)})" for path in [*o.rows, o.labels] if path]
    lines = ["# A judge of one's own", "",
             f"Trained from {os.path.basename(o.start) if o.start else 'MiniLM'} on {', '.join(files)}",
             f"{state['step']} steps of {o.batch} pairs, {state['seconds'] / 60:.1f} minutes on {o.threads} threads; "
             f"learning rate {o.rate}, {o.longest} tokens at most, seed {o.seed}.",
             "The checkpoint with the best validation loss was kept.", "",
             "| step | training loss | validation loss |", "|---|---|---|"]
    lines += [f"| {h['step']} | {h['loss']:.4f} | {h['validation']:.4f} |" for h in state["history"]]
    lines += ["", "## Held-out questions", "",
              "AUC with a 95% bootstrap interval: how often a pair labelled above one half scores more than one below.",
              "Before is the judge that training began with.", "",
              "| output | pairs to train on | held out | AUC before | AUC after |", "|---|---|---|---|---|"]
    for i, label in enumerate(LABELS):
        of = [j for j, p in enumerate(tested) if p.label == label]
        if n := sum(p.label == label for p in found[0]):
            values = [tested[j].value for j in of]
            areas = ["-"] * 2
            if values and min(values) < 0.5 < max(values):
                areas = [interval(values, scores[of, i]) for scores in (before, after)]
            lines.append(f"| {label} | {n} | {len(of)} | {areas[0]} | {areas[1]} |")
    with open(f"{o.out}/MODEL.md", "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    say("\n".join(lines[-4:]))


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()[:16]


def say(text):
    print(text, file=sys.stderr, flush=True)
