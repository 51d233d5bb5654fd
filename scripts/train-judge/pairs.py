"""Makes labelled pairs of texts from the training files. What the judge is tested on by others is not among them."""

import gzip
import hashlib
import json
import random
import re
from collections import namedtuple
from glob import glob

from bert import words

# What the judge answers about a pair of texts. metrics/encoder.go asks in the same form.
#
#   context_relevance   question                | context      does it help to answer?
#   faithfulness        answer                  | context      does it say so?
#   answer_relevance    question                | answer       does it answer the question?
#   answer_correctness  question " | " reference | answer      does it say the same?
LABELS = ("context_relevance", "faithfulness", "answer_relevance", "answer_correctness")

# A pair belongs to a group, of which all is used to train or none; made says how a pair came about that has no
# label in the data.
Pair = namedtuple("Pair", "group label query text value made")


def read(folder, seed):
    """All pairs, in a fixed order."""
    rng = random.Random(seed)
    pairs = []
    for path in sorted(glob(f"{folder}/train/*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            pairs += ares([json.loads(line) for line in file], "fever" in path, rng)
    for name in ("nq", "tq"):
        with open(f"{folder}/evouna-{name}.dev.jsonl", encoding="utf-8") as file:
            pairs += evouna([json.loads(line) for line in file], rng)
    return pairs


def ares(rows, claims, rng):
    """ARES' labels for synthetic questions and answers. In FEVER's file the questions are claims: such a claim, not
    the word SUPPORTS, is what a passage supports."""
    contexts = ["\n\n".join(r["contexts"]) for r in rows]
    for row, context in zip(rows, contexts):
        label, question, answer = row["machine"], row["question"], row["answer"]
        relevant = label["Context_Relevance_Label"] == "Yes"
        yield Pair(question, "context_relevance", question, context, relevant, "")
        if claims:
            if not relevant or label["Answer_Faithfulness_Label"] == "Yes":
                yield Pair(question, "faithfulness", question, context, relevant and answer == "SUPPORTS", "claim")
        elif answer:
            yield Pair(question, "faithfulness", answer, context, label["Answer_Faithfulness_Label"] == "Yes", "")
            yield Pair(question, "answer_relevance", question, answer, label["Answer_Relevance_Label"] == "Yes", "")
        yield from sentences(question, context, rng.choice(contexts), rng)


def sentences(group, context, other, rng):
    """Pairs for faithfulness made from a context alone, since answers in the data are mostly a few words long: a
    sentence of it, with words left out so that a copy is not all that counts, is supported. It is not where a name or
    number was changed for another (as FactCC does), where the sentence was taken out of the context, or by another
    context."""
    said = [s for s in re.split(r"(?<=[.!?])\s+", context) if 6 <= len(s.split()) <= 50]
    if len(said) < 2 or other == context:
        return
    sentence = rng.choice(said)
    shorter = " ".join(w for w in sentence.split() if rng.random() > 0.15)
    pair = lambda query, text, value, made: Pair(group, "faithfulness", query, text, value, made)
    yield pair(shorter, context, True, "sentence")
    changed = swap(sentence, context + " " + other, rng)
    way = rng.choice(("swapped", "swapped", "removed", "elsewhere"))
    if way == "swapped" and changed:
        yield pair(changed, context, False, "swapped")
    elif way == "removed":
        yield pair(shorter, context.replace(sentence, ""), False, "removed")
    else:
        yield pair(shorter, other, False, "elsewhere")


NAME = re.compile(r"(?<=[a-z,] )[A-Z][\w'-]+(?: [A-Z][\w'-]+)*|\d[\d,.]*\d|\d")


def swap(sentence, texts, rng):
    """The sentence with one name or number changed for another that stands in the texts; None if there is none."""
    found = list(NAME.finditer(sentence))
    if not found:
        return None
    old = rng.choice(found)
    number = old[0][0].isdigit()
    others = sorted({m for m in NAME.findall(texts) if m[0].isdigit() == number and m not in sentence and old[0] not in m})
    if not others:
        return None
    return sentence[:old.start()] + rng.choice(others) + sentence[old.end():]


def evouna(rows, rng):
    """People's labels: is the answer right, given the references? An answer that is right is relevant too, and one
    to another question is not."""
    for row in rows:
        question, answer = row["question"], row["answer"]
        if not answer.strip():
            continue
        right = row["human"]["correct"]
        said = set(words(answer))
        share = lambda reference: len(said & set(words(reference))) / (1 + len(words(reference)))
        reference = max(row["reference_answers"], key=share)  # the one that it is most like
        yield Pair(question, "answer_correctness", f"{question} | {reference}", answer, right, "")
        other = rng.choice(rows)
        if right:
            yield Pair(question, "answer_relevance", question, answer, True, "correct")
        elif other["question"] != question:
            yield Pair(question, "answer_relevance", question, other["answer"], False, "other question")


def split(pairs, seed):
    """(train, validation, test): 88, 4 and 8 of 100 questions, whatever else is drawn."""
    parts = ([], [], [])
    for p in pairs:
        place = int(hashlib.sha256(f"{seed} {p.group}".encode()).hexdigest(), 16) % 100
        parts[0 if place < 88 else 1 if place < 92 else 2].append(p)
    return parts


def draw(pairs, n, rng):
    """At most n pairs, as many of each label, shuffled."""
    chosen = []
    for label in LABELS:
        of = [p for p in pairs if p.label == label]
        chosen += rng.sample(of, min(len(of), n // len(LABELS)))
    rng.shuffle(chosen)
    return chosen


def ids(pair, wordpiece, longest):
    """[CLS] query [SEP] text [SEP]. Of a text that is too long, the window that shares most with the query."""
    query, text = wordpiece(pair.query)[:longest // 2], wordpiece(pair.text)
    room = longest - len(query) - 3
    if len(text) > room:
        starts = range(0, len(text) - room // 2, room // 2)
        text = max((text[s:s + room] for s in starts), key=lambda w: len(set(w) & set(query)))
    return [wordpiece.cls, *query, wordpiece.sep, *text, wordpiece.sep]
