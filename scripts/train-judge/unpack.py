"""Unpacks a judge that gguf.py wrote into a folder as MiniLM's is: config.json, tokenizer.json and the encoder's
weights in 16 bits, so that another can be trained from it without MiniLM's package."""

import json
import struct
import sys

import bert
import gguf


def main(path, folder):
    tensors, fields = gguf.read(path)
    field = lambda name: fields["bert." + name]
    tokens = fields["tokenizer.ggml.tokens"]
    with open(f"{folder}/config.json", "w") as file:
        json.dump({
            "hidden_size": field("embedding_length"), "intermediate_size": field("feed_forward_length"),
            "num_attention_heads": field("attention.head_count"), "num_hidden_layers": field("block_count"),
            "layer_norm_eps": field("attention.layer_norm_epsilon"), "max_position_embeddings": field("context_length"),
            "type_vocab_size": fields["tokenizer.ggml.token_type_count"], "vocab_size": len(tokens),
            "hidden_dropout_prob": 0.1,
        }, file)
    with open(f"{folder}/tokenizer.json", "w", encoding="utf-8") as file:
        vocab = {spelt(t, kind == 3): i for i, (t, kind) in enumerate(zip(tokens, fields["tokenizer.ggml.token_type"]))}
        json.dump({"model": {"vocab": vocab}}, file)
    header, data = {}, b""
    for _, theirs, name in bert.names(field("block_count")):
        if theirs:
            values = tensors[name].astype("<f2")
            place = len(data), len(data) + values.nbytes
            header[theirs] = {"dtype": "F16", "shape": values.shape, "data_offsets": place}
            data += values.tobytes()
    with open(f"{folder}/model.fp16.safetensors", "wb") as file:
        text = json.dumps(header).encode()
        file.write(struct.pack("<Q", len(text)) + text + data)


def spelt(token, control):
    """A token as tokenizer.json has it: a word's beginning is bare, what goes on begins with ##."""
    return token if control else token[1:] if token.startswith("\u2581") else "##" + token


if __name__ == "__main__":
    main(*sys.argv[1:])
