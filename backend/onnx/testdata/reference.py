"""reference.py writes reference.json: what small encoders of each architecture answer, computed with PyTorch in double
precision by the definitions of their authors' papers and configurations, without ONNX.

    python3 reference.py > reference.json

Nobody stores the weights: both sides make each number from its tensor's name and its place (see values). What the
models read is a list of token ids for each of two texts, special tokens included; ids below 5 are special.
"""

import json
import math
import sys

import numpy as np
import torch

torch.set_default_dtype(torch.float64)


def values(name, shape, mean, spread):
    """Numbers between mean - spread and mean + spread: SplitMix64, seeded with the FNV-1a hash of the name."""
    mask = (1 << 64) - 1
    seed = 0xCBF29CE484222325
    for byte in name.encode():
        seed = (seed ^ byte) * 0x100000001B3 & mask
    count = int(np.prod(shape))
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
        z = z ^ z >> np.uint64(31)
    unit = (z >> np.uint64(11)).astype(np.float64) / (1 << 53)
    numbers = (mean + spread * (2 * unit - 1)).astype(np.float32)
    return torch.from_numpy(numbers.astype(np.float64).reshape(shape))


WORDS, WIDTH, HEADS, INNER = 96, 24, 3, 40
SIZE = WIDTH // HEADS  # of a head


def table(name, rows, width=WIDTH):
    return values(name, (rows, width), 0, 1)


def linear(name, x, outputs, bias=True):
    inputs = x.shape[-1]
    y = x @ values(name + ".weight", (outputs, inputs), 0, math.sqrt(3 / inputs)).T
    return y + values(name + ".bias", (outputs,), 0, 0.2) if bias else y


def layer_norm(name, x, epsilon, bias=True):
    y = (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, unbiased=False, keepdim=True) + epsilon)
    y = y * values(name + ".weight", (x.shape[-1],), 1, 0.3)
    return y + values(name + ".bias", (x.shape[-1],), 0, 0.2) if bias else y


def rms_norm(name, x, epsilon=1e-6):
    return x / torch.sqrt((x * x).mean(-1, keepdim=True) + epsilon) * values(name + ".weight", (x.shape[-1],), 1, 0.3)


def gelu(x):
    return x / 2 * (1 + torch.erf(x / math.sqrt(2)))


def gelu_tanh(x):
    return x / 2 * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def heads(x):
    """From tokens x width to heads x tokens x size."""
    return x.reshape(len(x), HEADS, SIZE).permute(1, 0, 2)


def joined(x):
    return x.permute(1, 0, 2).reshape(x.shape[1], HEADS * SIZE)


def attended(scores, v):
    return joined(torch.softmax(scores, -1) @ heads(v))


# RoBERTa and XLM-R (Liu et al. 2019, Conneau et al. 2020): BERT whose positions count from the padding token's id + 1.


def roberta(prefix, ids, layers, padding=1):
    positions = torch.arange(len(ids)) + padding + 1
    e = prefix + "embeddings."
    x = table(e + "word_embeddings.weight", WORDS)[ids] + table(e + "position_embeddings.weight", 66)[positions]
    x = layer_norm(e + "LayerNorm", x + table(e + "token_type_embeddings.weight", 1)[0], 1e-5)
    for i in range(layers):
        l = f"{prefix}encoder.layer.{i}."
        q, k, v = (linear(l + "attention.self." + part, x, WIDTH) for part in ("query", "key", "value"))
        a = attended(heads(q) @ heads(k).transpose(1, 2) / math.sqrt(SIZE), v)
        x = layer_norm(l + "attention.output.LayerNorm", x + linear(l + "attention.output.dense", a, WIDTH), 1e-5)
        y = linear(l + "output.dense", gelu(linear(l + "intermediate.dense", x, INNER)), WIDTH)
        x = layer_norm(l + "output.LayerNorm", x + y, 1e-5)
    return x


def roberta_logits(ids, labels):
    x = torch.tanh(linear("classifier.dense", roberta("roberta.", ids, 2)[0], WIDTH))
    return linear("classifier.out_proj", x, labels)


def roberta_embedding(ids):
    x = roberta("", ids, 2).mean(0)
    return x / x.norm()


# ModernBERT (Warner et al. 2024): rotary positions, every third layer global and the others with a window, GeGLU, norms
# before the parts, no biases.

WINDOW = 8  # local_attention


def rotated(x, theta):
    frequencies = theta ** (-torch.arange(0, SIZE, 2) / SIZE)
    angles = torch.arange(x.shape[1])[:, None] * frequencies
    angles = torch.cat((angles, angles), -1)
    turned = torch.cat((-x[..., SIZE // 2 :], x[..., : SIZE // 2]), -1)
    return x * torch.cos(angles) + turned * torch.sin(angles)


def modernbert(ids, layers):
    x = layer_norm("model.embeddings.norm", table("model.embeddings.tok_embeddings.weight", WORDS)[ids], 1e-5, False)
    places = torch.arange(len(ids))
    far = (places[:, None] - places).abs() > WINDOW // 2
    for i in range(layers):
        l = f"model.layers.{i}."
        y = x if i == 0 else layer_norm(l + "attn_norm", x, 1e-5, False)
        q, k, v = linear(l + "attn.Wqkv", y, 3 * WIDTH, False).chunk(3, -1)
        everywhere = i % 3 == 0
        theta = 160000.0 if everywhere else 10000.0
        scores = rotated(heads(q), theta) @ rotated(heads(k), theta).transpose(1, 2) / math.sqrt(SIZE)
        if not everywhere:
            scores = scores.masked_fill(far, -math.inf)
        x = x + linear(l + "attn.Wo", attended(scores, v), WIDTH, False)
        y, gate = linear(l + "mlp.Wi", layer_norm(l + "mlp_norm", x, 1e-5, False), 2 * INNER, False).chunk(2, -1)
        x = x + linear(l + "mlp.Wo", gelu(y) * gate, WIDTH, False)
    return layer_norm("model.final_norm", x, 1e-5, False)


def modernbert_logits(ids, pooling, labels):
    x = modernbert(ids, 4)
    if pooling == "cls":
        x = x[0]
    elif pooling == "mean":
        x = x.mean(0)
    x = layer_norm("head.norm", gelu(linear("head.dense", x, WIDTH, False)), 1e-5, False)
    return linear("classifier", x, labels)


# DeBERTa v2 and v3 (He et al. 2021): attention by content and by relative position, which is put into buckets that
# widen with the logarithm of the distance.

BUCKETS, FARTHEST = 8, 32


def bucket(distance):
    middle = BUCKETS // 2
    if abs(distance) <= middle:
        return distance
    grown = math.log(abs(distance) / middle) / math.log((FARTHEST - 1) / middle) * (middle - 1)
    return int(math.copysign(math.ceil(grown) + middle, distance))


def deberta(ids, layers, shared, convolution):
    e = "deberta.embeddings."
    x = layer_norm(e + "LayerNorm", table(e + "word_embeddings.weight", WORDS)[ids], 1e-7)
    first = x
    n = len(ids)
    r = layer_norm("deberta.encoder.LayerNorm", table("deberta.encoder.rel_embeddings.weight", 2 * BUCKETS), 1e-7)
    relative = torch.tensor([[bucket(i - j) for j in range(n)] for i in range(n)])
    at = (relative + BUCKETS).clamp(0, 2 * BUCKETS - 1)
    for i in range(layers):
        l = f"deberta.encoder.layer.{i}."
        s = l + "attention.self."
        q, k = (heads(linear(s + part, x, WIDTH)) for part in ("query_proj", "key_proj"))
        v = linear(s + "value_proj", x, WIDTH)
        names = ("query_proj", "key_proj") if shared else ("pos_query_proj", "pos_key_proj")
        place_q, place_k = (heads(linear(s + part, r, WIDTH)) for part in names)
        scores = torch.zeros(HEADS, n, n)
        for a in range(n):
            for b in range(n):
                content = (q[:, a] * k[:, b]).sum(-1)
                to_place = (q[:, a] * place_k[:, at[a, b]]).sum(-1)
                from_place = (k[:, b] * place_q[:, at[a, b]]).sum(-1)
                scores[:, a, b] = (content + to_place + from_place) / math.sqrt(3 * SIZE)
        y = linear(l + "attention.output.dense", attended(scores, v), WIDTH)
        x = layer_norm(l + "attention.output.LayerNorm", x + y, 1e-7)
        y = linear(l + "output.dense", gelu(linear(l + "intermediate.dense", x, INNER)), WIDTH)
        x = layer_norm(l + "output.LayerNorm", x + y, 1e-7)
        if i == 0 and convolution:
            c = "deberta.encoder.conv.conv."
            weight = values(c + "weight", (WIDTH, WIDTH, 3), 0, math.sqrt(1 / WIDTH))
            padded = torch.cat((torch.zeros(1, WIDTH), first, torch.zeros(1, WIDTH)))
            y = sum(padded[k : k + n] @ weight[:, :, k].T for k in range(3)) + values(c + "bias", (WIDTH,), 0, 0.2)
            x = layer_norm("deberta.encoder.conv.LayerNorm", x + gelu(y), 1e-7)
    return x


def deberta_logits(ids, shared, convolution, labels):
    x = deberta(ids, 2, shared, convolution)
    return linear("classifier", gelu(linear("pooler.dense", x[0], WIDTH)), labels)


# The encoder of T5 (Raffel et al. 2020; version 1.1's gated GELU): biases by relative position, root mean square norms,
# scores that are not scaled. Its head is on every token, and the first one's counts.

T5_BUCKETS, T5_FARTHEST = 8, 21


def t5_bucket(distance):
    """Of the distance from a query to a key."""
    half = T5_BUCKETS // 2
    start, distance, exact = (half if distance > 0 else 0), abs(distance), half // 2
    if distance < exact:
        return start + distance
    grown = math.log(distance / exact) / math.log(T5_FARTHEST / exact) * (half - exact)
    return start + min(half - 1, exact + int(grown))


def t5(ids, layers):
    x = table("transformer.shared.weight", WORDS)[ids]
    n = len(ids)
    b = "transformer.encoder.block."
    bias = table(b + "0.layer.0.SelfAttention.relative_attention_bias.weight", T5_BUCKETS, HEADS)
    bias = bias[torch.tensor([[t5_bucket(j - i) for j in range(n)] for i in range(n)])].permute(2, 0, 1)
    for i in range(layers):
        l = f"{b}{i}.layer."
        y = rms_norm(l + "0.layer_norm", x)
        q, k, v = (linear(l + "0.SelfAttention." + part, y, WIDTH, False) for part in "qkv")
        x = x + linear(l + "0.SelfAttention.o", attended(heads(q) @ heads(k).transpose(1, 2) + bias, v), WIDTH, False)
        y = rms_norm(l + "1.layer_norm", x)
        f = l + "1.DenseReluDense."
        y = gelu_tanh(linear(f + "wi_0", y, INNER, False)) * linear(f + "wi_1", y, INNER, False)
        x = x + linear(f + "wo", y, WIDTH, False)
    return rms_norm("transformer.encoder.final_layer_norm", x)


def t5_logits(ids, labels):
    return linear("classifier", t5(ids, 2), labels)[0]


def numbers(seed, count):
    """Ids of words."""
    return (values(f"ids {seed}", (count,), 0.5, 0.5) * (WORDS - 5)).long().add(5).tolist()


def main():
    computed = {
        "roberta": lambda ids: roberta_logits(ids, 2),
        "xlm-roberta": lambda ids: roberta_logits(ids, 3),
        "xlm-roberta sentences": roberta_embedding,
        "modernbert cls": lambda ids: modernbert_logits(ids, "cls", 1),
        "modernbert mean": lambda ids: modernbert_logits(ids, "mean", 2),
        "modernbert tokens": lambda ids: modernbert_logits(ids, "", 2),
        "deberta-v3": lambda ids: deberta_logits(ids, True, False, 3),
        "deberta-v2": lambda ids: deberta_logits(ids, True, True, 1),
        "deberta-v2 unshared": lambda ids: deberta_logits(ids, False, False, 2),
        "t5": lambda ids: t5_logits(ids, 2),
    }
    inputs = [
        ([0] + numbers(1, 4) + [2], [2] + numbers(2, 5) + [2]),
        ([0] + numbers(3, 9) + [2], [2] + numbers(4, 16) + [2]),
        ([0] + numbers(5, 1) + [2], []),
    ]
    cases = []
    for first, second in inputs:
        ids = torch.tensor(first + second)
        answers = {name: f(ids).reshape(-1).tolist() for name, f in computed.items()}
        answers = {name: [float(f"{v:.7g}") for v in list] for name, list in answers.items()}
        cases.append({"first": first, "second": second, "answers": answers})
    lines = []
    for case in cases:
        answers = ",\n".join(f"    {json.dumps(name)}: {json.dumps(v)}" for name, v in case["answers"].items())
        lines.append(f'  {{"first": {case["first"]}, "second": {case["second"]}, "answers": {{\n{answers}}}}}')
    sys.stdout.write("[\n" + ",\n".join(lines) + "\n]\n")


main()
