"""Reference logits of small classifiers, for encoders_test.go: python3 encoders.py > encoders.json

The models are computed with numpy from their papers' formulas, in float64 and with the exact GELU. Their weights
come from a generator that is written again in the test; what a case lists is the order in which they are drawn.
"""

import json
import math

import numpy

WIDTH, INNER, LAYERS, HEADS, POSITIONS = 32, 64, 3, 2, 64
WORDS = ("[PAD] [UNK] [CLS] [SEP] [MASK] river stone cloud window garden letter winter bridge silver candle market "
         "forest the over a of was is not old ##s ##ed ! ?").split()
PAIRS = [
    ("is the bridge old ?", "the silver bridge over the river was old !"),
    ("the silver bridge over the river was old !", "is the bridge old ?"),
    ("market", "candle"),
    ("the letter of winter", "a forest a cloud a garden a window a stone a letter " * 3),
]


class Weights(dict):
    """Tensors by name. Each number is drawn anew, in the order of the calls."""

    def __init__(self):
        self.state, self.order = 1, []

    def add(self, name, mean, deviation, *shape):
        values = numpy.empty(math.prod(shape))
        for i in range(values.size):
            self.state = (self.state * 1664525 + 1013904223) % 2**32
            values[i] = mean + deviation * ((self.state >> 8) / 2**23 - 1)
        self[name] = values.astype("float32").astype("float64").reshape(shape)
        self.order.append({"name": name, "mean": mean, "deviation": deviation, "shape": shape})

    def linear(self, name, wide, out, bias=True):
        self.add(name + ".weight", 0, math.sqrt(3 / wide), out, wide)
        if bias:
            self.add(name + ".bias", 0, 0.3, out)

    def norm(self, name, bias=True):
        self.add(name + ".weight", 1, 0.3, WIDTH)
        if bias:
            self.add(name + ".bias", 0, 0.3, WIDTH)

    def times(self, name, x):
        y = x @ self[name + ".weight"].T
        return y + self[name + ".bias"] if name + ".bias" in self else y

    def normed(self, name, x, epsilon):
        x = x - x.mean(-1, keepdims=True)
        x = x / numpy.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * self[name + ".weight"]
        return x + self[name + ".bias"] if name + ".bias" in self else x


erf = numpy.vectorize(math.erf)


def gelu(x):
    return x / 2 * (1 + erf(x / math.sqrt(2)))


def attention(q, k, v, allowed=None):
    out, size = [], WIDTH // HEADS
    for h in range(HEADS):
        part = slice(h * size, (h + 1) * size)
        score = q[:, part] @ k[:, part].T / math.sqrt(size)
        if allowed is not None:
            score = numpy.where(allowed, score, -numpy.inf)
        share = numpy.exp(score - score.max(-1, keepdims=True))
        out.append(share / share.sum(-1, keepdims=True) @ v[:, part])
    return numpy.concatenate(out, -1)


def bert(labels):
    """A BERT with a pooler and a classifier, and its logits: as they are, and of two other readings."""
    w = Weights()
    w.add("bert.embeddings.word_embeddings.weight", 0, 1, len(WORDS), WIDTH)
    w.add("bert.embeddings.position_embeddings.weight", 0, 0.5, POSITIONS, WIDTH)
    w.add("bert.embeddings.token_type_embeddings.weight", 0, 1, 2, WIDTH)
    w.norm("bert.embeddings.LayerNorm")
    for i in range(LAYERS):
        b = f"bert.encoder.layer.{i}."
        for part in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
            w.linear(b + part, WIDTH, WIDTH)
        w.norm(b + "attention.output.LayerNorm")
        w.linear(b + "intermediate.dense", WIDTH, INNER)
        w.linear(b + "output.dense", INNER, WIDTH)
        w.norm(b + "output.LayerNorm")
    w.linear("bert.pooler.dense", WIDTH, WIDTH)
    w.linear("classifier", WIDTH, max(1, len(labels)))

    def ids(text):
        found = []
        for word in text.split():
            if word in WORDS:
                found.append(WORDS.index(word))
            else:  # a word and its ending
                stem = max((v for v in WORDS if word.startswith(v)), key=len)
                found += [WORDS.index(stem), WORDS.index("##" + word[len(stem):])]
        return found

    def logits(pair, segments=True, pooler=True):
        a, b = [2] + ids(pair[0]) + [3], ids(pair[1]) + [3]
        kinds = [0] * len(a) + [1 if segments else 0] * len(b)
        x = w["bert.embeddings.word_embeddings.weight"][a + b]
        x = x + w["bert.embeddings.position_embeddings.weight"][: len(a + b)]
        x = x + w["bert.embeddings.token_type_embeddings.weight"][kinds]
        x = w.normed("bert.embeddings.LayerNorm", x, 1e-12)
        for i in range(LAYERS):
            n = f"bert.encoder.layer.{i}."
            q, k, v = (w.times(n + "attention.self." + part, x) for part in ("query", "key", "value"))
            seen = w.times(n + "attention.output.dense", attention(q, k, v))
            x = w.normed(n + "attention.output.LayerNorm", x + seen, 1e-12)
            inner = w.times(n + "output.dense", gelu(w.times(n + "intermediate.dense", x)))
            x = w.normed(n + "output.LayerNorm", x + inner, 1e-12)
        first = x[0]
        if pooler:
            first = numpy.tanh(w.times("bert.pooler.dense", first))
        return [round(float(v), 6) for v in w.times("classifier", first)]

    config = {
        "architectures": ["BertForSequenceClassification"], "model_type": "bert", "hidden_act": "gelu",
        "hidden_size": WIDTH, "intermediate_size": INNER, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
        "max_position_embeddings": POSITIONS, "type_vocab_size": 2, "layer_norm_eps": 1e-12, "vocab_size": len(WORDS),
        "id2label": {str(i): label for i, label in enumerate(labels or ["LABEL_0"])},
    }
    return {
        "name": f"BERT, {max(1, len(labels))} outputs", "config": config, "weights": w.order, "labels": labels,
        "logits": [logits(p) for p in PAIRS],
        "one_segment": [logits(p, segments=False) for p in PAIRS],
        "no_pooler": [logits(p, pooler=False) for p in PAIRS],
    }


if __name__ == "__main__":
    print(json.dumps({
        "vocabulary": WORDS, "pairs": PAIRS,
        "bert": [bert([]), bert(["no", "yes"]), bert(["entailment", "neutral", "contradiction"])],
    }, indent=1))
