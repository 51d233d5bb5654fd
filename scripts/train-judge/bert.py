"""MiniLM as a cross-encoder: its WordPiece tokeniser, its layers, and a classification head with a logit a label."""

import json
import struct
import unicodedata

import numpy
import torch
from torch import nn
from torch.nn import functional


class WordPiece:
    """BERT's tokens of a text, lower-cased and without accents, as llama.cpp tokenises."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.vocab = json.load(file)["model"]["vocab"]
        self.cls, self.sep, self.unk, self.pad = (self.vocab[t] for t in ("[CLS]", "[SEP]", "[UNK]", "[PAD]"))
        self.known = {}  # pieces of words seen before

    def __call__(self, text):
        return [piece for word in words(text) for piece in self.pieces(word)]

    def pieces(self, word):
        if word not in self.known:
            self.known[word] = self.cut(word)
        return self.known[word]

    def cut(self, word):
        """Greedy longest-match-first, from left to right."""
        pieces, start = [], 0
        while start < len(word):
            mark = "##" if start else ""
            end = next((e for e in range(len(word), start, -1) if mark + word[start:e] in self.vocab), None)
            if end is None:
                return [self.unk]
            pieces.append(self.vocab[mark + word[start:end]])
            start = end
        return pieces


def words(text):
    """The words of a text; marks and Chinese characters are words by themselves. As in llama.cpp, and unlike BERT's own
    tokens, only the first part of a composed character is kept, and every mark that combines with a letter left out."""
    found, word = [], ""
    for c in (unicodedata.normalize("NFD", c)[0] for c in text):
        kind = unicodedata.category(c)
        alone = kind[0] == "P" or c.isascii() and kind[0] == "S" or chinese(ord(c))
        if c.isspace() or alone:
            found.append(word)
            word = ""
        if alone:
            found.append(c)
        elif not c.isspace() and kind[0] not in "CM" and c != "\ufffd":
            word += c.lower()
    return [w for w in found + [word] if w]


def chinese(c):
    return (0x4E00 <= c <= 0x9FFF or 0x3400 <= c <= 0x4DBF or 0x20000 <= c <= 0x2A6DF or 0x2A700 <= c <= 0x2CEAF
            or 0xF900 <= c <= 0xFAFF or 0x2F800 <= c <= 0x2FA1F)


class Layer(nn.Module):
    def __init__(self, c):
        super().__init__()
        width, inner = c["hidden_size"], c["intermediate_size"]
        self.heads = c["num_attention_heads"]
        self.query, self.key, self.value, self.output = (nn.Linear(width, width) for _ in range(4))
        self.output_norm = nn.LayerNorm(width, eps=c["layer_norm_eps"])
        self.up, self.down = nn.Linear(width, inner), nn.Linear(inner, width)
        self.down_norm = nn.LayerNorm(width, eps=c["layer_norm_eps"])

        self.eight = self.fine = self.last = False  # see Judge.in_eight_bits

    def forward(self, x, mask, drop):
        n, length, width = x.shape
        split = lambda t: t.view(n, length, self.heads, -1).transpose(1, 2)
        in8, all8 = self.eight, self.eight and not self.last
        q, k = split(product(self.query, x, all8)), split(product(self.key, x, in8))
        v = split(product(self.value, x, in8, self.fine))
        weights = (q @ k.transpose(2, 3) / (width // self.heads) ** 0.5 + mask).softmax(-1)
        seen = (drop(weights) @ v).transpose(1, 2).reshape(n, length, width)
        x = self.output_norm(x + drop(product(self.output, seen, all8)))
        return self.down_norm(x + drop(product(self.down, functional.gelu(product(self.up, x, all8)), all8)))


def product(linear, x, eight, fine=False):
    """What a linear layer makes of x: with weights in 8 bits and a scale for each row, and x likewise unless it is fine."""
    if not eight:
        return linear(x)
    return functional.linear(x if fine else rounded(x), rounded(linear.weight), linear.bias)


def rounded(x):
    """x in steps of 1/127 of each row's largest number. Gradients pass as if it were x (straight-through estimator)."""
    with torch.no_grad():
        step = (x.abs().amax(-1, keepdim=True) / 127).clamp(min=1e-12)
        off = (x / step).round_().mul_(step).sub_(x)
    return x + off


class Judge(nn.Module):
    """BERT with llama.cpp's classification head: a dense layer and tanh on the first token, and a logit a label."""

    def __init__(self, config, labels):
        super().__init__()
        width = config["hidden_size"]
        self.config, self.labels = config, list(labels)
        self.tokens = nn.Embedding(config["vocab_size"], width)
        self.types = nn.Embedding(config["type_vocab_size"], width)  # llama.cpp knows only the first
        self.positions = nn.Embedding(config["max_position_embeddings"], width)
        self.norm = nn.LayerNorm(width, eps=config["layer_norm_eps"])
        self.layers = nn.ModuleList(Layer(config) for _ in range(config["num_hidden_layers"]))
        self.dense, self.out = nn.Linear(width, width), nn.Linear(width, len(labels))
        self.drop = nn.Dropout(config["hidden_dropout_prob"])
        self.frozen = 0  # layers from below, with the embeddings

    def in_eight_bits(self):
        """Computes from now on as the int8 graph of backend/onnx/bert does: what is learned then fits its rounding."""
        for i, layer in enumerate(self.layers):
            layer.eight, layer.fine, layer.last = True, i < len(self.layers) // 2, i == len(self.layers) - 1

    def embed(self, ids):
        x = self.tokens(ids) + self.types.weight[0] + self.positions.weight[:ids.shape[1]]
        return self.norm(x)

    def hidden(self, ids, lengths):
        """The hidden states of all tokens; lengths mask the padding tokens."""
        mask = (torch.arange(ids.shape[1]) >= lengths[:, None]).float()[:, None, None, :] * -1e9
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.frozen):
            x = self.drop(self.embed(ids))
            for layer in self.layers[:self.frozen]:
                x = layer(x, mask, self.drop)
        for layer in self.layers[self.frozen:]:
            x = layer(x, mask, self.drop)
        return x

    def forward(self, ids, lengths):
        return self.out(self.drop(torch.tanh(self.dense(self.hidden(ids, lengths)[:, 0]))))


# The names of a layer's parts: here, in safetensors and in GGUF.
PARTS = (
    ("query", "attention.self.query", "attn_q"),
    ("key", "attention.self.key", "attn_k"),
    ("value", "attention.self.value", "attn_v"),
    ("output", "attention.output.dense", "attn_output"),
    ("output_norm", "attention.output.LayerNorm", "attn_output_norm"),
    ("up", "intermediate.dense", "ffn_up"),
    ("down", "output.dense", "ffn_down"),
    ("down_norm", "output.LayerNorm", "layer_output_norm"),
)


def names(layers):
    """(here, in safetensors, in GGUF) for every tensor; those of the last output are in no safetensors file."""
    yield "tokens.weight", "embeddings.word_embeddings.weight", "token_embd.weight"
    yield "types.weight", "embeddings.token_type_embeddings.weight", "token_types.weight"
    yield "positions.weight", "embeddings.position_embeddings.weight", "position_embd.weight"
    for end in ("weight", "bias"):
        yield f"norm.{end}", f"embeddings.LayerNorm.{end}", f"token_embd_norm.{end}"
    for i in range(layers):
        for own, theirs, gguf in PARTS:
            for end in ("weight", "bias"):
                yield f"layers.{i}.{own}.{end}", f"encoder.layer.{i}.{theirs}.{end}", f"blk.{i}.{gguf}.{end}"
    for end in ("weight", "bias"):
        yield f"dense.{end}", f"pooler.dense.{end}", f"cls.{end}"
        yield f"out.{end}", None, f"cls.output.{end}"


def load(folder, labels):
    """The pretrained model and its tokens, from a folder with config.json, tokenizer.json and the weights."""
    with open(f"{folder}/config.json") as file:
        judge = Judge(json.load(file), labels)
    tensors = safetensors(f"{folder}/model.fp16.safetensors")
    state = judge.state_dict()
    for own, theirs, _ in names(len(judge.layers)):
        if theirs:
            assert state[own].shape == tensors[theirs].shape, own
            state[own] = torch.from_numpy(tensors[theirs].astype("float32"))
    judge.load_state_dict(state)
    nn.init.normal_(judge.out.weight, std=0.02)
    nn.init.zeros_(judge.out.bias)
    return judge, WordPiece(f"{folder}/tokenizer.json")


def safetensors(path):
    """The tensors of 16 bits of a file, by name."""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    return {name: numpy.frombuffer(data[slice(*t["data_offsets"])], "<f2").reshape(t["shape"])
            for name, t in header.items() if t.get("dtype") == "F16"}
