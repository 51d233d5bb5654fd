"""Makes labelled pairs of texts from the training files. Benchmarks that the judge is tested on are not among them."""

import gzip
import hashlib
import json
import math
import random
import re
from collections import Counter, defaultdict, namedtuple
from glob import glob
from os.path import basename

from bert import words

# What the judge answers about a pair of texts. metrics/vector/encoder.go asks in the same form.
#
#   context_relevance   question                | context      does it help to answer?
#   faithfulness        answer                  | context      does it say so?
#   contradiction       answer                  | context      does it say otherwise?
#   answer_relevance    question                | answer       does it answer the question, rightly or not? (RAGAS)
#   answer_correctness  question " | " reference | answer      does it say the same?
LABELS = ("context_relevance", "faithfulness", "answer_relevance", "answer_correctness", "contradiction")

# The sampling share of each label: the hardest has half. Contradiction has no pairs of its own: those of faithfulness
# say whether they are one, where that is known.
SHARES = {"context_relevance": 0.15, "faithfulness": 0.5, "answer_relevance": 0.15, "answer_correctness": 0.2}

# A pair belongs to a group, which the split keeps whole. The value is 0 or 1, or between them, a soft label, for what is
# said in part; contradicted is 0 or 1, or None where nobody says. Made says how a pair was constructed that has no label
# in the data.
Pair = namedtuple("Pair", "group label query text value made source contradicted", defaults=("", "", None))

# The parts that sources are in. The judge is trained on all of "common" first, and then on each of the two others, or
# both. One trained without a part tells what the judge is worth on sources of other kinds: summaries and claims about
# web pages are in one, dialogue and answers to questions in the other.
PARTS = {
    "a": ("frank", "xsum-hallucination", "wice", "wice-partly", "factcheck-gpt", "selqa", "rag-qa-arena", "alce-utility",
          "semeval2013-answers"),
    "b": ("faithdial-audit", "begin-cmu-tc", "q2-wow", "qa-feedback", "qa-feedback-relevance", "qa-feedback.pairs",
          "haluquestqa", "haluquestqa.pairs", "pandalm.pairs", "qed", "clapnq", "truthfulqa", "truthfulqa-informative"),
}

# Rows of a source that are drawn at most in an epoch, where that is less than all; and sources that are drawn twice,
# since they are small and of answers that systems gave.
MOST = {"fever-dev": 4000, "counterfactual-nli": 2000, "breaking-nli": 1000, "ares": 8000}
TWICE = ("factcheck-gpt", "qa-feedback", "wice", "faithdial-audit", "begin-cmu-tc")

# Sources whose groups share passages: there a group is a passage.
BY_PASSAGE = ("fever-dev", "fever-symmetric", "sufficient-facts")


def part_of(source):
    return next((part for part, sources in PARTS.items() if source in sources), "common")


def read(folder, seed):
    """All pairs, in a fixed order."""
    rng = random.Random(seed)
    pairs = []
    for path in sorted(glob(f"{folder}/train/*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        source = basename(path).removesuffix(".jsonl.gz")
        if source.startswith("ares-synthetic"):
            pairs += [p._replace(source="ares") for p in ares(rows, "fever" in path, rng)]
        else:
            pairs += [p._replace(source=source) for row in rows for p in labelled(row, source)]
    for name in ("nq", "tq"):
        with open(f"{folder}/evouna-{name}.dev.jsonl", encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        pairs += [p._replace(source="evouna-" + name) for p in evouna(rows, rng)]
    return pairs


def labelled(row, source):
    """The pairs of a row with people's label."""
    context = row.get("context") or "\n\n".join(row.get("contexts", ()))
    group = context if source in BY_PASSAGE else str(row["group"])
    question, answer, value = row.get("question"), row.get("statement") or row.get("answer"), float(row["label"])
    if source.endswith(".pairs"):
        return  # which of two answers people prefer: made into soft labels, they drew all answers together
    if row["task"] == "context_relevance":
        yield Pair(group, "context_relevance", question, context, value)
    elif row["task"] == "faithfulness" and fits(answer, context):
        yield Pair(group, "faithfulness", answer, context, value, contradicted=contradicted(row, source))
    elif row["task"] == "answer_relevance":
        yield Pair(group, "answer_relevance", question, answer, value)
    elif row["task"] == "answer_correctness":
        best = nearest(row["reference_answers"], answer)
        yield Pair(group, "answer_correctness", f"{question} | {best}", answer, value)


def contradicted(row, source):
    """1 where the context says otherwise, 0 where it does not, None where nobody says."""
    about = row.get("metadata", {})
    if row["label"] == 1:
        return 0
    if source in ("fm2", "fever-dev", "fever-symmetric", "scifact"):
        return 1 - row["label"]  # entailed or refuted
    if source in ("counterfactual-nli", "breaking-nli"):
        return int(about["label"] == "contradiction")
    if source == "factcheck-gpt":
        return int(about["stance"] == "refute")
    return 0 if about.get("judged") == "NOT ENOUGH" else None


def fits(answer, context):
    """Whether an answer of several sentences can be judged by one window: its parts may lie in several."""
    return len(answer.split()) < 25 or len(context.split()) < 350


def nearest(texts, answer):
    """The text that is said by the answer to the greatest share."""
    said = set(words(answer))
    return max(texts, key=lambda text: len(said & set(words(text))) / (1 + len(words(text))))


def ares(rows, claims, rng):
    """ARES' labels for synthetic questions and answers. In FEVER's file the questions are claims: such a claim, not
    the word SUPPORTS, is what a passage supports."""
    contexts = ["\n\n".join(r["contexts"]) for r in rows]
    for row, context in zip(rows, contexts):
        label, question, answer = row["machine"], row["question"], row["answer"]
        relevant = label["Context_Relevance_Label"] == "Yes"
        yield Pair(question, "context_relevance", question, context, relevant)
        if claims:
            if not relevant or label["Answer_Faithfulness_Label"] == "Yes":
                yield Pair(question, "faithfulness", question, context, relevant and answer == "SUPPORTS", "claim")
        elif answer:
            # To ARES an answer that the passage contradicts is not relevant; these negatives are answers to other questions.
            yield Pair(question, "faithfulness", answer, context, label["Answer_Faithfulness_Label"] == "Yes")
            yield Pair(question, "answer_relevance", question, answer, label["Answer_Relevance_Label"] == "Yes")
    yield from statements(sorted(set(contexts)), rng)


# How statements are made of a context, and how often in a hundred; half are positives. Without hard negatives, which
# are on the subject and not said, a model learns what a text is about instead of what it says.
WAYS = {"sentence": 42, "joined": 8, "mixed": 14, "removed": 16, "near": 8, "swapped": 8, "elsewhere": 4}

BREAK = re.compile(r"(?<=[.!?])\s+")  # between two sentences

# What answers begin with and no text need say.
OPENINGS = ("Yes, ", "No, ", "According to the documents, ", "In addition, ", "For example, ", "However, ", "Overall, ",
            "1. ", "2. ", "- ")


def statements(contexts, rng, most=6):
    """Pairs for faithfulness constructed from contexts alone, since answers in the data are mostly a few words long. A
    sentence, with words dropped so that a copy is not all that counts, is supported by the sentences around it, and so
    are parts of two: these are the positives. Negatives are the context without the sentence, the context most like its
    own (a hard negative), any other (an easy one), and the sentence with a name or number swapped for another (as
    FactCC does); of a sentence mixed with one that is not said, a part is supported."""
    for context, near in zip(contexts, neighbours(contexts)):
        everything = [s for s in BREAK.split(context) if s]
        places = [i for i, s in enumerate(everything) if 6 <= len(s.split()) <= 50]
        if len(places) < 2:
            continue
        for at in rng.sample(places, min(len(places), most)):
            made = rng.choices(list(WAYS), WAYS.values())[0]
            pair = statement(made, everything, at, near, rng.choice(contexts), rng)
            if pair:
                query, text, value = pair
                opening = rng.choice(OPENINGS) if rng.random() < 0.25 else ""
                yield Pair(context, "faithfulness", opening + query, text, value, made,
                           contradicted=None if made == "swapped" else 0)


def statement(made, everything, at, near, other, rng):
    """(query, text, value) made of the sentence at a place in a context, or None if it cannot be made."""
    sentence = everything[at]
    first = rng.randint(0, at)
    around = everything[first:rng.randint(at + 1, len(everything))]
    rest = " ".join(s for s in around if s != sentence)
    text, shorter = " ".join(around), thinned(sentence, rng)
    if made == "sentence":
        return shorter, text, 1.0
    if made == "joined" and len(around) > 1:
        return part(shorter, True, rng) + " " + part(rng.choice(around), False, rng), text, 1.0
    if made == "mixed" and says(text, near) < 0.6:
        own, strange = part(shorter, True, rng), part(rng.choice(BREAK.split(near)), False, rng)
        return own + " " + strange, text, len(own.split()) / (len(own.split()) + len(strange.split()))
    if made == "removed" and rest and says(rest, sentence) < 0.6:
        return shorter, rest, 0.0
    if made == "near" and says(near, sentence) < 0.6:
        return shorter, near, 0.0
    if made == "elsewhere" and says(other, sentence) < 0.6:
        return shorter, other, 0.0
    changed = swap(sentence, " ".join(everything) + " " + near, rng) if made == "swapped" else None
    return (changed, text, 0.0) if changed else None


def thinned(sentence, rng):
    return " ".join(w for w in sentence.split() if rng.random() > 0.15) or sentence


def part(sentence, head, rng):
    """The first words of a sentence or its last: between a fourth and three fourths."""
    said = sentence.split()
    n = max(2, round(len(said) * rng.uniform(0.25, 0.75)))
    return " ".join(said[:n] if head else said[-n:])


def says(text, sentence):
    """Lexical overlap: the share of a sentence's longer words that a text has."""
    longer = {w for w in words(sentence) if len(w) > 3}
    return len(longer & set(words(text))) / max(1, len(longer))


def neighbours(texts):
    """For each text, its nearest neighbour: the other that shares most rare words with it, weighted by idf."""
    of = [{w for w in words(text) if len(w) > 3} for text in texts]
    count = Counter(w for found in of for w in found)
    having = defaultdict(list)
    for i, found in enumerate(of):
        for w in found:
            if count[w] <= max(2, len(texts) // 20):
                having[w].append(i)
    for i, found in enumerate(of):
        shared = Counter()
        for w in sorted(found & having.keys()):
            for j in having[w]:
                shared[j] += math.log(len(texts) / count[w])
        shared.pop(i, None)
        yield texts[max(shared, key=lambda j: (shared[j], -j))] if shared else texts[i - 1]


NAME = re.compile(r"(?<=[a-z,] )[A-Z][\w'-]+(?: [A-Z][\w'-]+)*|\d[\d,.]*\d|\d")


def swap(sentence, texts, rng):
    """The sentence with one name or number changed for another that stands in the texts; None if there is none."""
    found = list(NAME.finditer(sentence))
    if not found:
        return None
    old = rng.choice(found)
    number = old[0][0].isdigit()
    others = sorted({m for m in NAME.findall(texts)
                     if m[0].isdigit() == number and m not in sentence and old[0] not in m})
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
        reference = nearest(row["reference_answers"], answer)
        yield Pair(question, "answer_correctness", f"{question} | {reference}", answer, right)
        other = rng.choice(rows)
        if right:
            yield Pair(question, "answer_relevance", question, answer, True, "correct")
        elif other["question"] != question:
            yield Pair(question, "answer_relevance", question, other["answer"], False, "other question")


def split(pairs, seed):
    """A grouped split (train, validation, test): 88, 4 and 8 of 100 groups, by hash."""
    parts = ([], [], [])
    for p in pairs:
        place = int(hashlib.sha256(f"{seed} {p.group}".encode()).hexdigest(), 16) % 100
        parts[0 if place < 88 else 1 if place < 92 else 2].append(p)
    return parts


def draw(pairs, n, rng, parts=()):
    """A stratified sample of at most n pairs, of each label its share, shuffled. With parts, up to two thirds of a
    label are of sources in these, and the others of "common"; without, all are of "common"."""
    by_source = defaultdict(list)
    for p in pairs:
        by_source[p.label, p.source].append(p)
    chosen = []
    for label, share in SHARES.items():
        pools, wanted = {"own": [], "common": []}, round(n * share)
        for (of, source), own in sorted(by_source.items()):
            part = part_of(source)
            if of == label and part in (*parts, "common"):
                own = rng.sample(own, min(len(own), MOST.get(source, len(own))))
                pools["common" if part == "common" else "own"] += own * (2 if source in TWICE else 1)
        own = rng.sample(pools["own"], min(len(pools["own"]), wanted * 2 // 3))
        chosen += own + rng.sample(pools["common"], min(len(pools["common"]), wanted - len(own)))
    rng.shuffle(chosen)
    return chosen


def ids(pair, wordpiece, longest):
    """[CLS] query [SEP] text [SEP]. Of a text that is too long, the window that shares most tokens with the query."""
    query, text = wordpiece(pair.query)[:longest // 2], wordpiece(pair.text)
    room = longest - len(query) - 3
    if len(text) > room:
        starts = range(0, len(text) - room // 2, room // 2)
        text = max((text[s:s + room] for s in starts), key=lambda w: len(set(w) & set(query)))
    return [wordpiece.cls, *query, wordpiece.sep, *text, wordpiece.sep]
