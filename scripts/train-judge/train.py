"""Fine-tunes MiniLM as a cross-encoder, the encoder judge; writes it as GGUF with a model card. train.sh starts it."""

import argparse
import json
import os
import random
import sys
import time
from collections import Counter

import numpy
import torch
from torch.nn import functional

import bert
import gguf
import pairs as data

LABELS = data.LABELS


def options():
    p = argparse.ArgumentParser(prog="train.sh", description=__doc__)
    p.add_argument("--model", required=True, help="folder with MiniLM's config.json, tokenizer.json and safetensors")
    p.add_argument("--data", required=True, help="folder with train/*.jsonl.gz and evouna-{nq,tq}.dev.jsonl")
    p.add_argument("--out", required=True, help="folder for checkpoints, the model and its card")
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--pairs", type=int, default=30000, help="in an epoch, stratified by label")
    p.add_argument("--batch", type=int, default=32)
    p.add_argument("--longest", type=int, default=256, help="tokens of a pair")
    p.add_argument("--rate", type=float, default=1e-4, help="peak learning rate")
    p.add_argument("--freeze", type=int, default=0, help="freeze the embeddings and this many layers")
    p.add_argument("--dropout", type=float, default=0.0, help="dropout rate; hardly a pair is seen twice")
    p.add_argument("--bfloat16", action="store_true", help="compute in 16 bits: faster on processors that can")
    p.add_argument("--threads", type=int, default=os.cpu_count())
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--save", type=float, default=4, help="minutes between checkpoints")
    p.add_argument("--check", type=int, default=200, help="steps between validations")
    p.add_argument("--patience", type=int, default=4, help="early stopping: validations without a better loss")
    p.add_argument("--bench", action="store_true", help="only measure the speed, with and without frozen layers")
    return p.parse_args()


def main():
    o = options()
    torch.set_num_threads(o.threads)
    os.makedirs(o.out, exist_ok=True)
    fresh(o.seed)
    judge, wordpiece = bert.load(o.model, LABELS)
    judge.drop.p = o.dropout
    parts = data.split(data.read(o.data, o.seed), o.seed)
    cut = lambda p: (data.ids(p, wordpiece, o.longest), LABELS.index(p.label), float(p.value))
    if o.bench:
        return bench(o, judge, [cut(p) for p in data.draw(parts[0], 640, random.Random(o.seed))])
    validation = [cut(p) for p in data.draw(parts[1], 480, random.Random(o.seed))]
    say(f"{len(parts[0])} pairs to train, {len(parts[1])} to validate, {len(parts[2])} to test")
    drawn = lambda epoch: data.draw(parts[0], o.pairs, random.Random(o.seed + epoch))
    history = train(o, judge, lambda epoch: [cut(p) for p in drawn(epoch)], validation)
    chosen = data.draw(parts[2], 2400, random.Random(o.seed))
    scores = predict(o, judge, [cut(p) for p in chosen])
    with open(f"{o.out}/test.jsonl", "w", encoding="utf-8") as file:
        for p, numbers in zip(chosen, scores):
            file.write(json.dumps({**p._asdict(), "outputs": [round(float(x), 5) for x in numbers]}) + "\n")
    about = {"name": "assay-encoder-judge", "license": "apache-2.0",
             "description": "MiniLM-L6 trained as a cross-encoder: " + ", ".join(LABELS)}
    gguf.write(f"{o.out}/encoder.gguf", judge, wordpiece, **about)
    gguf.write(f"{o.out}/encoder-f16.gguf", judge, wordpiece, gguf.F16, **about)
    card(o, parts, history, chosen, scores)
    say(f"{o.out}/encoder.gguf is the judge, {o.out}/MODEL.md its card")


def train(o, judge, epoch_pairs, validation):
    """Trains, from the last checkpoint if there is one, and leaves judge with the best validated weights."""
    judge.frozen = o.freeze
    if o.freeze:
        for part in (judge.tokens, judge.types, judge.positions, judge.norm, *judge.layers[:o.freeze]):
            part.requires_grad_(False)
    optimiser = torch.optim.AdamW([
        {"params": [p for p in judge.parameters() if p.requires_grad and p.dim() > 1], "weight_decay": 0.01},
        {"params": [p for p in judge.parameters() if p.requires_grad and p.dim() == 1], "weight_decay": 0.0}])
    steps = o.epochs * -(-len(epoch_pairs(0)) // o.batch)
    state = {"step": 0, "history": [], "best": None, "worse": 0, "seconds": 0.0}
    settings = {k: v for k, v in vars(o).items() if k not in ("threads", "save", "out", "model", "data")}
    path = f"{o.out}/checkpoint.pt"
    if os.path.exists(path):
        saved = torch.load(path)
        if saved["settings"] != settings:
            sys.exit(f"{path} is of other settings: {saved['settings']}; remove it or name another --out")
        state = saved["state"]
        judge.load_state_dict(saved["judge"])
        optimiser.load_state_dict(saved["optimiser"])
        torch.set_rng_state(saved["rng"])
        say(f"going on after step {state['step']}")

    def save():
        torch.save({"settings": settings, "state": state, "judge": judge.state_dict(),
                    "optimiser": optimiser.state_dict(), "rng": torch.get_rng_state()}, path + ".part")
        os.replace(path + ".part", path)

    began = saved_at = time.time()
    before, loss_sum, loss_n, first = state["seconds"], 0.0, 0, state["step"]
    while state["step"] < steps and state["worse"] < o.patience:
        epoch, at = divmod(state["step"], steps // o.epochs)
        if at == 0 or state["step"] == first:
            epoch_batches = batches(epoch_pairs(epoch), o.batch, random.Random(o.seed + epoch))
        for group in optimiser.param_groups:
            group["lr"] = o.rate * pace(state["step"], steps)
        loss = step(o, judge, epoch_batches[at])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(judge.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        loss_sum, loss_n, state["step"] = loss_sum + loss.item(), loss_n + 1, state["step"] + 1
        state["seconds"] = before + time.time() - began
        if state["step"] % 20 == 0:
            left = (time.time() - began) / (state["step"] - first) * (steps - state["step"])
            say(f"step {state['step']} of {steps}, loss {loss_sum / loss_n:.3f}, {left / 60:.0f} minutes left")
        if state["step"] % o.check == 0 or state["step"] == steps:
            look(o, judge, validation, state, loss_sum / loss_n)
            loss_sum, loss_n = 0.0, 0
            save()
            saved_at = time.time()
        elif time.time() - saved_at > o.save * 60:
            save()
            saved_at = time.time()
    judge.load_state_dict(torch.load(f"{o.out}/best.pt"))
    return state


def look(o, judge, validation, state, loss):
    """Measures the validation loss, and keeps the weights if it is the best so far."""
    scores = torch.from_numpy(predict(o, judge, validation))
    value = masked_loss(scores, validation).item()
    state["history"].append({"step": state["step"], "loss": loss, "validation": value, "seconds": state["seconds"]})
    better = state["best"] is None or value < state["best"]
    if better:
        state["best"], state["worse"] = value, 0
        torch.save(judge.state_dict(), f"{o.out}/best.pt.part")
        os.replace(f"{o.out}/best.pt.part", f"{o.out}/best.pt")
    else:
        state["worse"] += 1
    say(f"step {state['step']}, validation loss {value:.4f}{', the best' if better else ''}")


def pace(step, steps):
    """The learning-rate schedule: linear warm-up over a sixteenth of the steps, then linear decay to nothing."""
    warm = max(1, steps // 16)
    return (step + 1) / warm if step < warm else (steps - step) / (steps - warm)


def batches(items, size, rng):
    """Batches bucketed by length, which need few padding tokens, in random order."""
    items = sorted(items, key=lambda item: len(item[0]) + rng.random() * 16)
    groups = [items[i:i + size] for i in range(0, len(items), size)]
    rng.shuffle(groups)
    return groups


def padded(batch):
    lengths = torch.tensor([len(ids) for ids, _, _ in batch])
    ids = torch.zeros(len(batch), int(lengths.max()), dtype=torch.long)
    for row, (tokens, _, _) in zip(ids, batch):
        row[:len(tokens)] = torch.tensor(tokens)
    return ids, lengths


def masked_loss(scores, batch):
    """Binary cross-entropy of the output that a pair has a label for; the others are masked."""
    own = scores[torch.arange(len(batch)), torch.tensor([label for _, label, _ in batch])]
    return functional.binary_cross_entropy_with_logits(own, torch.tensor([value for _, _, value in batch]))


def step(o, judge, batch):
    judge.train()
    with torch.autocast("cpu", torch.bfloat16, enabled=o.bfloat16):
        scores = judge(*padded(batch))
    return masked_loss(scores.float(), batch)


def predict(o, judge, items):
    """The outputs for every item, in order."""
    judge.eval()
    scores = numpy.zeros((len(items), len(LABELS)), "float32")
    order = sorted(range(len(items)), key=lambda i: len(items[i][0]))
    with torch.no_grad():
        for i in range(0, len(order), o.batch):
            part = order[i:i + o.batch]
            scores[part] = judge(*padded([items[j] for j in part])).numpy()
    return scores


def bench(o, judge, items):
    for freeze in (0, 3, 4):
        for narrow in ((False, True) if o.bfloat16 else (False,)):
            judge.frozen, o.bfloat16 = freeze, narrow
            for part in (judge.tokens, judge.types, judge.positions, judge.norm, *judge.layers):
                part.requires_grad_(True)
            for part in (judge.tokens, judge.types, judge.positions, judge.norm, *judge.layers[:freeze]):
                part.requires_grad_(not freeze)
            began, n = time.time(), 0
            for batch in batches(items, o.batch, random.Random(1)):
                step(o, judge, batch).backward()
                n += len(batch)
                if time.time() - began > 12:
                    break
            speed = n / (time.time() - began)
            say(f"{freeze} layers frozen, {'bfloat16' if narrow else 'float32'}: {speed:.1f} pairs a second")


def auc(values, scores):
    """The probability that a positive has a higher score than a negative."""
    ranks = ranked(scores)
    yes = values.sum()
    return (ranks[values].sum() - yes * (yes - 1) / 2) / (yes * (len(values) - yes))


def ranked(scores):
    """Ranks from 0; ties share their mean rank."""
    _, place, counts = numpy.unique(scores, return_inverse=True, return_counts=True)
    return (numpy.cumsum(counts) - (counts + 1) / 2)[place]


def interval(values, scores, draws=1000):
    """The AUC with a 95% percentile bootstrap interval."""
    rng = numpy.random.default_rng(1)
    drawn = []
    while len(drawn) < draws:
        rows = rng.integers(len(values), size=len(values))
        if 0 < values[rows].sum() < len(values):
            drawn.append(auc(values[rows], scores[rows]))
    return f"{auc(values, scores):.3f} ({numpy.quantile(drawn, 0.025):.3f} to {numpy.quantile(drawn, 0.975):.3f})"


def card(o, parts, state, chosen, scores):
    """Writes the model's card from what was counted and measured."""
    lines = ["# Encoder judge", "",
             "MiniLM (sentence-transformers/all-MiniLM-L6-v2, Apache-2.0) fine-tuned as a cross-encoder: an encoder",
             "with a classification head over a pair of texts. One forward pass gives four logits; a sigmoid",
             "makes each a probability: " + ", ".join(LABELS) + ".", "",
             "## Data", "",
             "Labels of ARES (Apache-2.0; synthetic questions and answers, labelled by construction) and of EVOUNA",
             "(Apache-2.0; people's). Pairs constructed without a label, hard negatives among them: see pairs.py.",
             "Grouped split: by question, and what is made of a context alone by context.", "",
             "| output | made | pairs to train on | of which true | validation | test |", "|---|---|---|---|---|---|"]
    count = lambda part, keep=lambda p: True: Counter((p.label, p.made) for p in part if keep(p))
    train, validation, test = (count(part) for part in parts)
    true = count(parts[0], lambda p: p.value == 1)
    for key in sorted(train):
        counts = " | ".join(str(c[key]) for c in (train, true, validation, test))
        lines.append(f"| {key[0]} | {key[1] or 'labelled'} | {counts} |")
    lines += ["", "## Training", "",
              f"{state['step']} steps of {o.batch} pairs, {state['seconds'] / 60:.0f} minutes on {o.threads} threads; "
              f"up to {o.pairs} pairs an epoch,",
              ", ".join(f"{share:.0%} of them for {label}" for label, share in data.SHARES.items()) + ";",
              f"{o.longest} tokens at most: of a longer text, the window that shares most tokens with the query.",
              f"AdamW, learning rate {o.rate}, dropout {o.dropout}, {o.freeze} of 6 layers frozen, seed {o.seed}. "
              "The checkpoint with the best", "validation loss was kept.", "",
              "| step | training loss | validation loss |", "|---|---|---|"]
    lines += [f"| {h['step']} | {h['loss']:.4f} | {h['validation']:.4f} |" for h in state["history"]]
    lines += ["", "## Test", "", "Held-out questions; AUC with a 95% bootstrap interval.", "",
              "| output | pairs | n | AUC |", "|---|---|---|---|"]
    for i, label in enumerate(LABELS):
        for made in sorted({p.made for p in chosen if p.label == label}):
            rows = [j for j, p in enumerate(chosen)
                    if p.label == label and (p.made == made or made in FALSE_OF.get(p.made, ()))]
            values = numpy.array([chosen[j].value for j in rows])
            if made == "mixed":
                shares = numpy.corrcoef(ranked(values), ranked(scores[rows, i]))[0, 1]
                lines.append(f"| {label} | mixed, Spearman with the share said | {len(rows)} | {shares:.3f} |")
            elif 0 < values.sum() < len(values):
                area = interval(values == 1, scores[rows, i])
                lines.append(f"| {label} | {made or 'labelled'} | {len(rows)} | {area} |")
    with open(f"{o.out}/MODEL.md", "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    say("\n".join(lines[-12:]))


# Constructed positives are compared with the negatives made in each way.
FALSE_OF = {"sentence": ("removed", "near", "swapped", "elsewhere"), "correct": ("other question",)}


def fresh(seed):
    random.seed(seed)
    numpy.random.seed(seed)
    torch.manual_seed(seed)


def say(text):
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
