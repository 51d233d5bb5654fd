"""Tests rows.py and unpack.py; cmd/assay's TestTrain runs it where there is PyTorch."""

import contextlib
import io
import json
import os
import random
import tempfile
import unittest
from types import SimpleNamespace

import numpy
import torch

import bert
import gguf
import pairs
import rows
import unpack

GOOD = {"id": "g/positive", "group": "g", "kind": "positive", "question": "When does the ferry sail?",
        "answer": "It sails in May.", "contexts": ["The ferry sails in May.", "Bread keeps."],
        "labels": {"context_relevance": 1, "answer_faithfulness": 1, "answer_relevance": 1}}


class Rows(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        quiet = contextlib.redirect_stderr(io.StringIO())
        quiet.__enter__()
        self.addCleanup(quiet.__exit__, None, None, None)

    def file(self, name, *lines):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
        return path

    def read(self, *lines, **more):
        return rows.read([self.file("rows.jsonl", *lines)], **more)

    def said(self, found):
        return [(p.label, p.query, p.text, p.value, p.contradicted) for p in found]

    def test_a_test_set(self):
        """Each label is a pair in the form that the judge is asked in; wrong contexts are wrong one by one."""
        contradiction = {**GOOD, "id": "g/strong_answer", "kind": "strong_answer", "answer": "It sails in June.",
                         "labels": {"answer_faithfulness": 0, "answer_relevance": 0}}  # 0 by ARES' definition
        wrong = {**GOOD, "id": "g/weak_context", "kind": "weak_context", "labels": {"context_relevance": 0}}
        lost = {**GOOD, "id": "h/lost_context", "kind": "lost_context", "labels": {"context_relevance": 0}}
        context = "The ferry sails in May.\n\nBread keeps."
        asked = "When does the ferry sail?"
        self.assertEqual(self.said(self.read(GOOD, contradiction, wrong, lost)), [
            ("context_relevance", "When does the ferry sail?", context, 1.0, None),
            ("faithfulness", "It sails in May.", context, 1.0, 0),
            ("answer_relevance", asked, "It sails in May.", 1.0, None),
            ("faithfulness", "It sails in June.", context, 0.0, 1),
            ("context_relevance", "When does the ferry sail?", "The ferry sails in May.", 0.0, None),
            ("context_relevance", "When does the ferry sail?", "Bread keeps.", 0.0, None),
        ])

    def test_labels_of_a_file(self):
        """They go before the row's own, are joined by the id, and several raters' are averaged."""
        labels = self.file("labels.jsonl", {"sample": "g/positive", "label": 0},
                           {"sample": "g/positive", "label": [1, None]}, {"sample": "row-2", "label": None},
                           {"sample": 7, "label": "yes"}, {"sample": "x", "label": 1})
        plain = {"user_input": "Is it green?", "response": "Yes.", "retrieved_contexts": [{"text": "It is green."}]}
        found = self.read(GOOD, plain, {**plain, "id": 7}, labels=labels, dimension="faithfulness")
        self.assertEqual([(p.query, p.text, p.value) for p in found], [
            ("It sails in May.", "The ferry sails in May.\n\nBread keeps.", 0.5), ("Yes.", "It is green.", 1.0)])

    def test_ratings(self):
        """Ratings are shares of the range of all; people's go before those of a machine; an answer stands beside the
        reference that is most like it."""
        row = lambda rating: {"question": "Who?", "answer": "Mara Lind", "reference": ["Nobody", "Mara Lind did"],
                              "human": {"correct": rating}, "machine": {"correct": 0}}
        found = self.read(row(1), row([4, 4]), row(2.5), row(None))
        self.assertEqual([(p.label, p.query, p.value) for p in found],
                         [("answer_correctness", "Who? | Mara Lind did", v) for v in (0.25, 1.0, 0.625, 0.0)])

    def test_refused(self):
        for want, lines, more in (
                ("it is no JSON", ["{"], {}), ("no JSON object", ["[]"], {}),
                ("no row has a label", [{"question": "q"}], {}),
                ("--dimension says", [GOOD], {"labels": "x.jsonl"}),
                ("it is one of", [GOOD], {"dimension": "style"}),
                ("want a number", [{**GOOD, "labels": {"faithfulness": "maybe"}}], {}),
                ("want a number", [{**GOOD, "human": {"faithfulness": float("nan")}}], {}),
                ("want a number", [{**GOOD, "human": {"faithfulness": {"a": 1}}}], {}),
                ("nothing to tell apart", [{**GOOD, "human": {"faithfulness": 4}}], {}),
                ("is no text", [{**GOOD, "answer": ["a"]}], {}), ("is no text", [{**GOOD, "contexts": [None]}], {}),
        ):
            with self.subTest(want), self.assertRaisesRegex(rows.Bad, want):
                self.read(*lines, **more)
        labels = self.file("labels.jsonl", {"sample": "other", "label": 1})
        with self.assertRaisesRegex(rows.Bad, "are the ids the same"):
            self.read(GOOD, labels=labels, dimension="faithfulness")
        with self.assertRaisesRegex(rows.Bad, "there twice"):
            self.read(GOOD, GOOD, labels=labels, dimension="faithfulness")
        for path in (self.file("rows.csv", "question"), os.path.join(self.folder, "none.jsonl")):
            with self.assertRaises(rows.Bad):
                rows.read([path])

    def test_damaged(self):
        """Whatever the bytes are, rows are read or refused with a reason."""
        rng, whole = random.Random(1), [json.dumps(GOOD), json.dumps({**GOOD, "human": {"faithfulness": [1, 2]}})]
        pieces = ["{", "}", "[", "]", '"', ":", ",", "null", "1e999", "-3", "true", '"human"', '"labels"', '"contexts"',
                  "\n"]
        for _ in range(2000):
            text = "\n".join(whole)
            for _ in range(rng.randint(1, 6)):
                at = rng.randrange(len(text))
                text = text[:at] + rng.choice(pieces) + text[at + rng.choice((0, 0, 1, 5)):]
            with contextlib.suppress(rows.Bad):
                for p in self.read(text):
                    self.assertTrue(0 <= p.value <= 1 and p.query and p.text, p)

    def test_split(self):
        found = [rows.Pair(f"g{i // 2}", "faithfulness", "q", "t", i % 2) for i in range(40)]
        parts = rows.split(found, 1)
        self.assertEqual([len(part) for part in parts], [32, 4, 4])
        groups = [{p.group for p in part} for part in parts]
        self.assertFalse(groups[0] & groups[1] or groups[0] & groups[2] or groups[1] & groups[2])
        for few in (found[:2 * rows.LEAST - 2], [p._replace(value=1) for p in found]):
            with self.assertRaises(rows.Bad):
                rows.split(few, 1)


class Judges(unittest.TestCase):
    """A judge, tiny and drawn at random."""

    def setUp(self):
        torch.manual_seed(1)
        self.judge = bert.Judge({"hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 2,
                                 "num_hidden_layers": 2, "layer_norm_eps": 1e-12, "max_position_embeddings": 32,
                                 "type_vocab_size": 2, "vocab_size": 8, "hidden_dropout_prob": 0.1},
                                pairs.LABELS).eval()
        self.ids, self.lengths = torch.tensor([[2, 4, 3, 5, 6, 3]]), torch.tensor([6])

    def test_unpacked(self):
        """What was written and unpacked again is the same judge, but for the rounding of its weights."""
        vocab = {t: i for i, t in enumerate(("[PAD]", "[UNK]", "[CLS]", "[SEP]", "ferry", "##s", "\u2581", "\u2581x"))}
        wordpiece = SimpleNamespace(vocab=vocab, cls=2, sep=3, unk=1, pad=0)
        with tempfile.TemporaryDirectory() as folder:
            gguf.write(f"{folder}/judge.gguf", self.judge, wordpiece)
            unpack.main(f"{folder}/judge.gguf", folder)
            again, tokens = bert.load(folder, pairs.LABELS)
        self.assertEqual(tokens.vocab, vocab)
        with torch.no_grad():
            was, now = (j.hidden(self.ids, self.lengths) for j in (self.judge, again.eval()))
        self.assertLess(float((was - now).abs().max()), 0.05)
        self.assertGreater(float(was.abs().max()), 1)

    def test_outputs(self):
        """Outputs that nobody labelled are left out; the others say what they said."""
        with torch.no_grad():
            was = self.judge(self.ids, self.lengths)
            labels = ("answer_relevance", "faithfulness")
            rows.outputs(self.judge, [rows.Pair("g", label, "q", "t", 1) for label in labels])
            now = self.judge(self.ids, self.lengths)
        self.assertEqual(self.judge.labels, ["faithfulness", "answer_relevance"])
        numpy.testing.assert_allclose(now, was[:, [1, 2]], rtol=1e-6)


if __name__ == "__main__":
    torch.set_num_threads(1)  # they are tiny
    unittest.main()
