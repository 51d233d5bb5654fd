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


def byte_pairs(first, last):
    """A tokenizer.json of byte pair encoding, whose words begin with a space, and the function that it stands for."""
    tokens, merges = list(first), []
    tokens += [chr(c) for c in range(ord("a"), ord("z") + 1)] + list("!?\u0120\u010a\u00c3\u00a9")
    for word in "the river stone silver bridge over old was is not forest".split():
        word = "\u0120" + word
        for i in range(1, len(word)):
            if word[: i + 1] not in tokens:
                tokens.append(word[: i + 1])
                merges.append([word[:i], word[i]])
    tokens += last
    ranks = {tuple(m): i for i, m in enumerate(merges)}

    def ids(text):
        """Byte pair encoding as in Sennrich et al. 2016, of words that a space or a change of kind divides."""
        out, word = [], ""
        words = []
        for c in text:
            if word and (c in " \n" or (c.isalpha() != word[-1].isalpha() and word[-1] not in " ")):
                words.append(word)
                word = ""
            word += c
        for w in words + [word]:
            spelt = w.encode()
            parts = [{32: "\u0120", 10: "\u010a"}.get(b, chr(b)) for b in spelt]
            while len(parts) > 1:
                best = min(range(len(parts) - 1), key=lambda i: ranks.get((parts[i], parts[i + 1]), 1e9))
                if (parts[best], parts[best + 1]) not in ranks:
                    break
                parts[best:best + 2] = [parts[best] + parts[best + 1]]
            out += [tokens.index(p) for p in parts]
        return out

    return tokens, merges, ids


TEXTS = [
    ("is the bridge old?", "the silver bridge over the river was old!"),
    ("river", "stone\nriver caf\u00e9"),
    ("the letter of winter", "is not the forest old? the stone was over the river! a silver stone is a silver stone"),
]


def rotate(x, theta):
    """Rotary positions (Su et al. 2021), with the two halves of a head as the parts of complex numbers."""
    size = WIDTH // HEADS
    turn = numpy.arange(len(x))[:, None] / theta ** (numpy.arange(0, size, 2) / size)
    out = []
    for h in range(HEADS):
        a, b = numpy.split(x[:, h * size:(h + 1) * size], 2, -1)
        out += [a * numpy.cos(turn) - b * numpy.sin(turn), b * numpy.cos(turn) + a * numpy.sin(turn)]
    return numpy.concatenate(out, -1)


def answers(task, pooling, ids, layers, head):
    """What a classifier says of each pair, or of each token of the second text."""
    found = []
    for first, second, begin in ids:
        x = layers(first)
        if task == "TokenClassification":
            found.append([[round(float(v), 6) for v in row] for row in head(x[begin:begin + second])])
        else:
            pooled = x.mean(0) if pooling == "mean" else x[0]
            found.append([[round(float(v), 6) for v in head(pooled)]])
    return found


def roberta(task, labels):
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    tokens, merges, cut = byte_pairs(special, ["<mask>"])
    w = Weights()
    w.add("roberta.embeddings.word_embeddings.weight", 0, 1, len(tokens), WIDTH)
    w.add("roberta.embeddings.position_embeddings.weight", 0, 0.5, POSITIONS + 2, WIDTH)
    w.add("roberta.embeddings.token_type_embeddings.weight", 0, 1, 1, WIDTH)
    w.norm("roberta.embeddings.LayerNorm")
    for i in range(LAYERS):
        b = f"roberta.encoder.layer.{i}."
        for part in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
            w.linear(b + part, WIDTH, WIDTH)
        w.norm(b + "attention.output.LayerNorm")
        w.linear(b + "intermediate.dense", WIDTH, INNER)
        w.linear(b + "output.dense", INNER, WIDTH)
        w.norm(b + "output.LayerNorm")
    if task == "TokenClassification":
        w.linear("classifier", WIDTH, len(labels))
    else:
        w.linear("classifier.dense", WIDTH, WIDTH)
        w.linear("classifier.out_proj", WIDTH, len(labels))

    def layers(ids):
        x = w["roberta.embeddings.word_embeddings.weight"][ids]
        x = x + w["roberta.embeddings.position_embeddings.weight"][2:len(ids) + 2]
        x = x + w["roberta.embeddings.token_type_embeddings.weight"][0]
        x = w.normed("roberta.embeddings.LayerNorm", x, 1e-5)
        for i in range(LAYERS):
            n = f"roberta.encoder.layer.{i}."
            q, k, v = (w.times(n + "attention.self." + part, x) for part in ("query", "key", "value"))
            seen = w.times(n + "attention.output.dense", attention(q, k, v))
            x = w.normed(n + "attention.output.LayerNorm", x + seen, 1e-5)
            inner = w.times(n + "output.dense", gelu(w.times(n + "intermediate.dense", x)))
            x = w.normed(n + "output.LayerNorm", x + inner, 1e-5)
        return x

    def head(x):
        if task == "TokenClassification":
            return w.times("classifier", x)
        return w.times("classifier.out_proj", numpy.tanh(w.times("classifier.dense", x)))

    ids = []
    for a, b in TEXTS:
        begin = [0] + cut(a) + [2, 2]
        ids.append((begin + cut(b) + [2], len(cut(b)), len(begin)))
    return {
        "name": f"RoBERTa {task}", "weights": w.order, "labels": labels,
        "config": {
            "architectures": ["RobertaFor" + task], "model_type": "roberta", "hidden_act": "gelu",
            "hidden_size": WIDTH, "intermediate_size": INNER, "num_hidden_layers": LAYERS,
            "num_attention_heads": HEADS, "max_position_embeddings": POSITIONS + 2, "type_vocab_size": 1,
            "layer_norm_eps": 1e-5, "vocab_size": len(tokens), "pad_token_id": 1,
            "id2label": {str(i): label for i, label in enumerate(labels)},
        },
        "tokenizer": {
            "model": {"type": "BPE", "vocab": {t: i for i, t in enumerate(tokens)},
                      "merges": [" ".join(m) for m in merges]},
            "added_tokens": [{"id": tokens.index(t), "content": t, "special": True} for t in special + ["<mask>"]],
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
            "post_processor": {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0]},
        },
        "logits": answers(task, "cls", ids, layers, head),
    }


def modern(task, pooling, labels):
    """ModernBERT (Warner et al. 2024): layers 0 and 3 see everything, the others 4 tokens to each side."""
    special = ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"]
    depth, tokens, merges, cut = 4, *byte_pairs([], special)
    vocabulary = len(tokens) + 3  # rows that no token has
    w = Weights()
    w.add("model.embeddings.tok_embeddings.weight", 0, 1, vocabulary, WIDTH)
    w.norm("model.embeddings.norm", bias=False)
    for i in range(depth):
        b = f"model.layers.{i}."
        if i > 0:
            w.norm(b + "attn_norm", bias=False)
        w.linear(b + "attn.Wqkv", WIDTH, 3 * WIDTH, bias=False)
        w.linear(b + "attn.Wo", WIDTH, WIDTH, bias=False)
        w.norm(b + "mlp_norm", bias=False)
        w.linear(b + "mlp.Wi", WIDTH, 2 * INNER, bias=False)
        w.linear(b + "mlp.Wo", INNER, WIDTH, bias=False)
    w.norm("model.final_norm", bias=False)
    w.linear("head.dense", WIDTH, WIDTH, bias=False)
    w.norm("head.norm", bias=False)
    w.linear("classifier", WIDTH, len(labels))

    def layers(ids):
        x = w.normed("model.embeddings.norm", w["model.embeddings.tok_embeddings.weight"][ids], 1e-5)
        apart = abs(numpy.arange(len(ids))[:, None] - numpy.arange(len(ids))[None, :])
        for i in range(depth):
            n = f"model.layers.{i}."
            theta, allowed = (1000, None) if i % 3 == 0 else (100, apart <= 4)
            h = x if i == 0 else w.normed(n + "attn_norm", x, 1e-5)
            q, k, v = numpy.split(w.times(n + "attn.Wqkv", h), 3, -1)
            x = x + w.times(n + "attn.Wo", attention(rotate(q, theta), rotate(k, theta), v, allowed))
            a, gate = numpy.split(w.times(n + "mlp.Wi", w.normed(n + "mlp_norm", x, 1e-5)), 2, -1)
            x = x + w.times(n + "mlp.Wo", gelu(a) * gate)
        return w.normed("model.final_norm", x, 1e-5)

    def head(x):
        return w.times("classifier", w.normed("head.norm", gelu(w.times("head.dense", x)), 1e-5))

    ids = []
    c, s = tokens.index("[CLS]"), tokens.index("[SEP]")
    for a, b in TEXTS:
        begin = [c] + cut(a) + [s]
        ids.append((begin + cut(b) + [s], len(cut(b)), len(begin)))
    text, mark = (lambda n: {"Sequence": {"id": n, "type_id": 0}}), (lambda n: {"SpecialToken": {"id": n, "type_id": 0}})
    return {
        "name": f"ModernBERT {task} {pooling}", "weights": w.order, "labels": labels,
        "config": {
            "architectures": ["ModernBertFor" + task], "model_type": "modernbert", "hidden_activation": "gelu",
            "classifier_pooling": pooling, "hidden_size": WIDTH, "intermediate_size": INNER,
            "num_hidden_layers": depth, "num_attention_heads": HEADS, "max_position_embeddings": 256,
            "vocab_size": vocabulary, "norm_eps": 1e-5, "local_attention": 8, "global_attn_every_n_layers": 3,
            "global_rope_theta": 1000.0, "local_rope_theta": 100.0,
            "id2label": {str(i): label for i, label in enumerate(labels)},
        },
        "tokenizer": {
            "model": {"type": "BPE", "unk_token": "[UNK]", "vocab": {t: i for i, t in enumerate(tokens)},
                      "merges": merges},
            "added_tokens": [{"id": tokens.index(t), "content": t, "special": True} for t in special],
            "normalizer": {"type": "NFC"},
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
            "post_processor": {"type": "TemplateProcessing",
                               "single": [mark("[CLS]"), text("A"), mark("[SEP]")],
                               "pair": [mark("[CLS]"), text("A"), mark("[SEP]"), text("B"), mark("[SEP]")]},
        },
        "logits": answers(task, pooling, ids, layers, head),
    }


if __name__ == "__main__":
    spans = [  # of the tokens of TEXTS[1][1]: a first word has no space before it, and is cut into letters
        [0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 6], [6, 7], [7, 8], [8, 9], [9, 10], [10, 11],
        [11, 12], [12, 13], [13, 14], [14, 15], [15, 17], [15, 17],
    ]
    print(json.dumps({
        "vocabulary": WORDS, "pairs": PAIRS,
        "bert": [bert([]), bert(["no", "yes"]), bert(["entailment", "neutral", "contradiction"])],
        "texts": TEXTS, "spans": spans,
        "folders": [
            roberta("SequenceClassification", ["contradiction", "neutral", "entailment"]),
            roberta("TokenClassification", ["said", "new"]),
            modern("SequenceClassification", "mean", ["no", "yes"]),
            modern("SequenceClassification", "cls", ["no", "yes"]),
            modern("TokenClassification", "cls", ["said", "new"]),
        ],
    }))
