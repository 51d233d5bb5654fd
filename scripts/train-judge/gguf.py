"""Writes a judge as a GGUF file, the way llama.cpp lays out BERT with a classification head."""

import os
import struct

import numpy

from bert import names

F32, F16, Q8_0 = 0, 1, 8
ALIGN = 32
WHOLE = ("token_types.weight", "position_embd.weight", "cls.weight", "cls.output.weight")  # these stay in 32 bits


def write(path, judge, wordpiece, kind=Q8_0, **about):
    """Weight matrices are of this kind. Biases, norms and the small matrices at both ends stay in 32 bits."""
    fields = header(judge, wordpiece, about)
    state, tensors = judge.state_dict(), []
    for own, _, name in names(len(judge.layers)):
        values = state[own].numpy().astype("float32")
        if own == "types.weight":
            values = values[:1]  # llama.cpp knows only the first, and one row says that the judge was trained so
        whole = values.ndim == 1 or name in WHOLE
        tensors.append((name, values.shape, F32 if whole else kind, store(values, F32 if whole else kind)))
    with open(path + ".part", "wb") as file:
        file.write(b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(fields)))
        for key, value in fields.items():
            file.write(text(key) + tagged(value))
        offset = 0
        for name, shape, k, data in tensors:
            file.write(text(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *reversed(shape)))
            file.write(struct.pack("<IQ", k, offset))
            offset += len(data) + -len(data) % ALIGN
        file.write(b"\0" * (-file.tell() % ALIGN))
        for _, _, _, data in tensors:
            file.write(data + b"\0" * (-len(data) % ALIGN))
    os.replace(path + ".part", path)


def store(values, kind):
    if kind == F32:
        return values.tobytes()
    if kind == F16:
        return values.astype("<f2").tobytes()
    scale = abs(values).max(1, keepdims=True) / 127  # one for a whole row, as in int8 on ONNX Runtime
    scale = scale.repeat(values.shape[1] // 32, 1).reshape(-1, 1)
    blocks = values.reshape(-1, 32)  # each with its scale of 16 bits
    steps = numpy.divide(blocks, scale, out=numpy.zeros_like(blocks), where=scale > 0)
    steps = numpy.where(steps < 0, numpy.ceil(steps - 0.5), numpy.floor(steps + 0.5))  # halves away from 0, as in ggml
    return numpy.concatenate([scale.astype("<f2").view("i1"), steps.astype("i1")], 1).tobytes()


def read(path):
    """The tensors of a file that [write] wrote, by name, in 32 bits, and its fields."""
    with open(path, "rb") as file:
        data = file.read()
    place = 8

    def take(form):
        nonlocal place
        value, = struct.unpack_from("<" + form, data, place)
        place += struct.calcsize("<" + form)
        return value

    def string():
        nonlocal place
        n = take("Q")
        place += n
        return data[place - n:place].decode()

    def value(kind):
        if kind == 8:
            return string()
        if kind == 9:
            kind, n = take("I"), take("Q")
            return [value(kind) for _ in range(n)]
        return take({4: "I", 5: "i", 6: "f", 7: "?"}[kind])

    count, fields = take("Q"), {}
    for _ in range(take("Q")):
        key = string()
        fields[key] = value(take("I"))
    found = []
    for _ in range(count):
        name = string()
        shape = [take("Q") for _ in range(take("I"))][::-1]
        found.append((name, shape, take("I"), take("Q")))
    start = place + -place % ALIGN
    tensors = {name: load(data, start + at, shape, kind) for name, shape, kind, at in found}
    return tensors, fields


def load(data, at, shape, kind):
    n = int(numpy.prod(shape))
    if kind == F32:
        return numpy.frombuffer(data, "<f4", n, at).reshape(shape).copy()
    if kind == F16:
        return numpy.frombuffer(data, "<f2", n, at).reshape(shape).astype("float32")
    assert kind == Q8_0, f"tensors of kind {kind}"
    blocks = numpy.frombuffer(data, [("scale", "<f2"), ("steps", "i1", 32)], n // 32, at)
    return (blocks["scale"][:, None].astype("float32") * blocks["steps"]).reshape(shape)


def header(judge, wordpiece, about):
    c = judge.config
    tokens = sorted(wordpiece.vocab, key=wordpiece.vocab.get)
    control = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}
    spelt = lambda t: t if t in control else t[2:] if t.startswith("##") else "\u2581" + t
    return {
        "general.architecture": "bert",
        "general.quantization_version": 2,
        **{f"general.{key}": value for key, value in about.items()},
        **({"assay.numbers": "int8"} if judge.layers[0].eight else {}),  # it was trained for them
        "bert.block_count": c["num_hidden_layers"],
        "bert.context_length": c["max_position_embeddings"],
        "bert.embedding_length": c["hidden_size"],
        "bert.feed_forward_length": c["intermediate_size"],
        "bert.attention.head_count": c["num_attention_heads"],
        "bert.attention.layer_norm_epsilon": float(c["layer_norm_eps"]),
        "bert.attention.causal": False,
        "bert.pooling_type": 4,  # by the classification head
        "bert.classifier.output_labels": judge.labels,
        "tokenizer.ggml.model": "bert",
        "tokenizer.ggml.token_type_count": 1,
        "tokenizer.ggml.tokens": [spelt(t) for t in tokens],
        "tokenizer.ggml.token_type": [3 if t in control else 1 for t in tokens],
        "tokenizer.ggml.bos_token_id": wordpiece.cls,
        "tokenizer.ggml.cls_token_id": wordpiece.cls,
        "tokenizer.ggml.eos_token_id": wordpiece.sep,
        "tokenizer.ggml.seperator_token_id": wordpiece.sep,  # llama.cpp spells it so
        "tokenizer.ggml.unknown_token_id": wordpiece.unk,
        "tokenizer.ggml.padding_token_id": wordpiece.pad,
        # A pair is [CLS] query [SEP] text [SEP].
        "tokenizer.ggml.add_eos_token": True,
        "tokenizer.ggml.add_sep_token": False,
    }


def text(s):
    data = s.encode()
    return struct.pack("<Q", len(data)) + data


def tagged(value):
    """A field's value, after the number of its type."""
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + text(value)
    if isinstance(value[0], str):
        return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(text, value))
    return struct.pack("<IIQ", 9, 5, len(value)) + struct.pack(f"<{len(value)}i", *value)
