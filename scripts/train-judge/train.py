"""Fine-tunes MiniLM as a cross-encoder, the encoder judge; writes it as GGUF with a model card. train.sh starts it."""

import argparse
import json
import os
import random
import sys
import time
from collections import Counter, defaultdict, namedtuple

import numpy
import torch
from torch.nn import functional

import bert
import gguf
import pairs as data
import rows as own

LABELS = data.LABELS


def options():
    p = argparse.ArgumentParser(prog="train.sh", description=__doc__)
    p.add_argument("--model", required=True, help="folder with MiniLM's config.json, tokenizer.json and safetensors")
    p.add_argument("--start", help="weights to start from instead of MiniLM's: a judge's .gguf, or the best.pt of a run")
    p.add_argument("--parts", default="", help="parts of the sources to train on after \"common\": a, b or ab")
    p.add_argument("--data", help="folder with train/*.jsonl.gz and evouna-{nq,tq}.dev.jsonl")
    p.add_argument("--rows", action="append",
                   help="train on the labelled rows of this FILE instead, of assay testset or a dataset; repeatable")
    p.add_argument("--labels", default="", help="a FILE of assay label, with what people say of the rows")
    p.add_argument("--dimension", default="", help="what the labels are about: one of " + ", ".join(own.DIMENSIONS))
    p.add_argument("--out", required=True, help="folder for checkpoints, the model and its card")
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--pairs", type=int, default=30000, help="in an epoch, stratified by label")
    p.add_argument("--batch", type=int, default=32)
    p.add_argument("--longest", type=int, default=320, help="tokens of a pair")
    p.add_argument("--rate", type=float, default=1e-4, help="peak learning rate")
    p.add_argument("--freeze", type=int, default=0, help="freeze the embeddings and this many layers")
    p.add_argument("--dropout", type=float, default=0.0, help="dropout rate; hardly a pair is seen twice")
    p.add_argument("--eight", action="store_true", help="round weights and activations to 8 bits, as int8 inference does")
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
    if o.start:
        start(judge, o.start)
    judge.drop.p = o.dropout
    if o.eight:
        judge.in_eight_bits()
    parts = own.parts(o) if o.rows else data.split(data.read(o.data, o.seed), o.seed)
    cut = lambda p: Item(data.ids(p, wordpiece, o.longest), LABELS.index(p.label), float(p.value),
                         -1.0 if p.contradicted is None else float(p.contradicted))
    if o.bench:
        return bench(o, judge, [cut(p) for p in data.draw(parts[0], 640, random.Random(o.seed), o.parts)])
    validation = [cut(p) for p in data.draw(parts[1], 960, random.Random(o.seed), o.parts)]
    say(f"{len(parts[0])} pairs to train, {len(parts[1])} to validate, {len(parts[2])} to test")
    drawn = lambda epoch: data.draw(parts[0], o.pairs, random.Random(o.seed + epoch), o.parts)
    chosen = parts[2] if o.rows else sampled(parts[2], 60, random.Random(o.seed))
    before = predict(o, judge, [cut(p) for p in chosen]) if o.rows else None
    history = train(o, judge, lambda epoch: [cut(p) for p in drawn(epoch)], validation)
    scores = predict(o, judge, [cut(p) for p in chosen])
    with open(f"{o.out}/test.jsonl", "w", encoding="utf-8") as file:
        for p, numbers in zip(chosen, scores):
            file.write(json.dumps({**p._asdict(), "outputs": [round(float(x), 5) for x in numbers]}) + "\n")
    about = {"name": "assay-encoder-judge", "license": "apache-2.0",
             "description": "MiniLM-L6 trained as a cross-encoder: " + ", ".join(LABELS)}
    if o.rows:
        own.outputs(judge, parts[0])
        about = own.about(o, judge)
    gguf.write(f"{o.out}/encoder.gguf", judge, wordpiece, **about)
    gguf.write(f"{o.out}/encoder-f16.gguf", judge, wordpiece, gguf.F16, **about)
    if o.rows:
        area = lambda values, outputs: interval(numpy.array(values) > 0.5, outputs)
        own.card(o, parts, history, chosen, before, scores, area)
    else:
        card(o, parts, history, chosen, scores)
    say(f"{o.out}/encoder.gguf is the judge, {o.out}/MODEL.md its card")


# The token ids of a pair, the output that it has a label for, the label, and whether it is a contradiction: -1 where
# nobody says.
Item = namedtuple("Item", "ids label value contradicted")


def start(judge, path):
    """Takes weights over, but for outputs that the file does not have."""
    if path.endswith(".gguf"):
        found, fields = gguf.read(path)
        labels = fields["bert.classifier.output_labels"]
        state = judge.state_dict()
        for own, _, name in bert.names(len(judge.layers)):
            if own.startswith("out."):
                for i, label in enumerate(judge.labels):
                    if label in labels:
                        state[own][i] = torch.as_tensor(found[name][labels.index(label)])
            else:
                rows = len(found[name])  # of segments a judge has one
                state[own][:rows] = torch.from_numpy(found[name])
        judge.load_state_dict(state)
    else:
        judge.load_state_dict(torch.load(path))


def sampled(pairs, most, rng):
    """At most so many pairs of each label, source and way in which they are made."""
    by_kind = defaultdict(list)
    for p in pairs:
        by_kind[p.label, p.source, p.made].append(p)
    return [p for _, own in sorted(by_kind.items()) for p in rng.sample(own, min(len(own), most))]


def train(o, judge, epoch_pairs, validation):
    """Trains, from the last checkpoint if there is one, and leaves judge with the best validated weights."""
    judge.frozen = o.freeze
    if o.freeze or o.eight:
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
    items = sorted(items, key=lambda item: len(item.ids) + rng.random() * 16)
    groups = [items[i:i + size] for i in range(0, len(items), size)]
    rng.shuffle(groups)
    return groups


def padded(batch):
    lengths = torch.tensor([len(item.ids) for item in batch])
    ids = torch.zeros(len(batch), int(lengths.max()), dtype=torch.long)
    for row, item in zip(ids, batch):
        row[:len(item.ids)] = torch.tensor(item.ids)
    return ids, lengths


def masked_loss(scores, batch):
    """Binary cross-entropy of the output that a pair has a label for, and half of contradiction's where that is known;
    the others are masked."""
    own = scores[torch.arange(len(batch)), torch.tensor([item.label for item in batch])]
    loss = functional.binary_cross_entropy_with_logits(own, torch.tensor([item.value for item in batch]))
    said = torch.tensor([item.contradicted for item in batch])
    if (said >= 0).any():
        other = scores[said >= 0, LABELS.index("contradiction")]
        loss = loss + functional.binary_cross_entropy_with_logits(other, said[said >= 0]) * (said >= 0).float().mean() / 2
    return loss


def step(o, judge, batch):
    judge.train()
    with torch.autocast("cpu", torch.bfloat16, enabled=o.bfloat16):
        scores = judge(*padded(batch))
    return masked_loss(scores.float(), batch)


def predict(o, judge, items):
    """The outputs for every item, in order."""
    judge.eval()
    scores = numpy.zeros((len(items), len(LABELS)), "float32")
    order = sorted(range(len(items)), key=lambda i: len(items[i].ids))
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
             "with a classification head over a pair of texts. One forward pass gives a logit for each of:",
             ", ".join(LABELS) + "; a sigmoid makes it a probability.", "",
             "## Training", "",
             f"From {os.path.basename(o.start) if o.start else 'MiniLM'}, parts of the sources: common {' '.join(o.parts)}",
             f"{state['step']} steps of {o.batch} pairs, {state['seconds'] / 60:.0f} minutes on {o.threads} threads; "
             f"up to {o.pairs} pairs an epoch,",
             ", ".join(f"{share:.0%} of them for {label}" for label, share in data.SHARES.items()) + ";",
             f"{o.longest} tokens at most: of a longer text, the window that shares most tokens with the query.",
             f"AdamW, learning rate {o.rate}, dropout {o.dropout}, {o.freeze} of 6 layers frozen, seed {o.seed}. "
             "The checkpoint with the best", "validation loss was kept.", "",
             "| step | training loss | validation loss |", "|---|---|---|"]
    lines += [f"| {h['step']} | {h['loss']:.4f} | {h['validation']:.4f} |" for h in state["history"]]
    lines += ["", "## Data, and held-out groups of it", "",
              "AUC with a 95% bootstrap interval; labels between are told from those above and below them. Of what is made,",
              "positives stand against the negatives made in each way.", "",
              "| output | source | made | pairs to train on | test | AUC |", "|---|---|---|---|---|---|"]
    trained = Counter((p.label, p.source, p.made) for p in parts[0])
    for kind in sorted(trained):
        label, source, made = kind
        rows = [j for j, p in enumerate(chosen) if (p.label, p.source) == (label, source)
                and (p.made == made or p.made in FALSE_OF.get(made, ()) or made in FALSE_OF.get(p.made, ()))]
        values = numpy.array([chosen[j].value for j in rows])
        area = "-"
        if len(rows) > 0 and values.min() < 0.5 < values.max():
            area = interval(values > 0.5, scores[rows, LABELS.index(label)])
        part = data.part_of(source)
        lines.append(f"| {label} | {source} ({part}) | {made or 'labelled'} | {trained[kind]} | {len(rows)} | {area} |")
    rows = [j for j, p in enumerate(chosen) if p.contradicted is not None]
    values = numpy.array([chosen[j].contradicted for j in rows])
    area = interval(values == 1, scores[rows, LABELS.index("contradiction")])
    lines.append(f"| contradiction | all that say | labelled | | {len(rows)} | {area} |")
    with open(f"{o.out}/MODEL.md", "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    say("\n".join(lines[-50:]))


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
