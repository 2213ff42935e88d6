#!/usr/bin/env python3
"""Greedy translation by a PyTorch program with the weights of a Ferry checkpoint: the peer in make bench-translate.

    torch_translate.py PEER CHECKPOINT VOCABULARY TOKENS OUTPUT

PEER is a Python file that defines NMT(V, d, ff, heads, encoder_layers, decoder_layers, dropout, pre) and greedy(model, spm,
sources, bos, eos, bs), sources being lists of token numbers and spm what decodes them; its parameters are named as in NAMES.
VOCABULARY has the tokens as text, a line each, by number; TOKENS the source sentences as `ferry tokenize` prints them; the
translations are written to OUTPUT alike. Prints "sentences/s NUMBER" of greedy alone: neither reading nor text is counted.
"""
import ast
import configparser
import json
import os
import struct
import sys
import time

import torch

BOS, EOS = 1, 2

# Ferry's names and the peer's, below encoder.N / enc.N and decoder.N / dec.N
NAMES = {"self_attention.query": "sa.q", "self_attention.key": "sa.k", "self_attention.value": "sa.v",
         "self_attention.output": "sa.o", "cross_attention.query": "ca.q", "cross_attention.key": "ca.k",
         "cross_attention.value": "ca.v", "cross_attention.output": "ca.o", "feed_forward.input": "f1",
         "feed_forward.output": "f2", "self_attention_norm": "n1", "cross_attention_norm": "n2", "feed_forward_norm": "n3"}


def read_checkpoint(path):
    """The parameters by name, and the options they were trained with."""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = bytearray(file.read())
    options = configparser.ConfigParser(interpolation=None)
    options.read_string(header.pop("__metadata__")["options"])
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        flat = torch.frombuffer(data, dtype=torch.float32, offset=begin, count=(end - begin) // 4)
        tensors[name] = flat.reshape(entry["shape"])
    weights = {name: tensor for name, tensor in tensors.items() if not name.startswith(("adam.", "ema."))}
    for name in weights:  # where there is a moving average, ferry translates with that
        weights[name] = tensors.get("ema." + name, weights[name])
    return weights, options["model"]


def peer_name(name):
    """encoder.0.feed_forward.input.weight is enc.0.f1.weight there."""
    if name == "embedding.weight":
        return "emb.weight"
    stack, rest = name.split(".", 1)
    if rest.startswith("norm."):  # of Pre-LN
        return f"{stack[0]}n.{rest.split('.')[1]}"
    layer, part = rest.split(".", 1)
    part, kind = part.rsplit(".", 1)
    return f"{stack[:3]}.{layer}.{NAMES[part]}.{kind}"


def load_peer(path):
    """What the program defines, without running it."""
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read(), path)
    tree.body = [node for node in tree.body if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call))]
    names = {"__name__": "peer", "__file__": path}
    exec(compile(tree, path, "exec"), names)
    return names


class Numbers:
    """In the place of a tokenizer: leaves token numbers as they are."""
    @staticmethod
    def decode(tokens):
        return tokens


def main():
    peer_path, checkpoint, vocabulary, tokens, output = sys.argv[1:]
    torch.set_num_threads(int(os.environ.get("PEER_THREADS", os.cpu_count())))
    peer = load_peer(peer_path)
    tensors, options = read_checkpoint(checkpoint)
    if options["tie"] != "all" or options["activation"] != "relu":
        sys.exit("the peer ties all embeddings and has ReLU; this model doesn't")
    rows, width = tensors["embedding.weight"].shape
    model = peer["NMT"](rows, width, int(options["d_ff"]), int(options["heads"]), int(options["encoder_layers"]),
                        int(options["decoder_layers"]), 0.0, options["norm"] == "pre")
    state = {peer_name(name): tensor for name, tensor in tensors.items()}
    state.update({name: tensor for name, tensor in model.state_dict().items() if name == "pe"})
    model.load_state_dict(state)  # strict: every parameter, with its shape
    model.eval()
    with open(vocabulary, encoding="utf-8", newline="\n") as file:
        shown = file.read().split("\n")[:-1]
    number = {text: i for i, text in enumerate(shown)}
    with open(tokens, encoding="utf-8", newline="\n") as file:
        sources = [[number[t] for t in line.split(" ") if t] for line in file.read().split("\n")[:-1]]
    batch = int(os.environ.get("PEER_BATCH", 64))
    peer["greedy"](model, Numbers, sources[:batch], BOS, EOS, batch)  # warms up
    started = time.perf_counter()
    results = peer["greedy"](model, Numbers, sources, BOS, EOS, batch)
    seconds = time.perf_counter() - started
    with open(output, "w", encoding="utf-8", newline="\n") as file:
        for result in results:
            file.write(" ".join(shown[t] for t in result) + "\n")
    print(f"sentences/s {len(sources) / seconds:.1f} torch {torch.__version__} batch {batch}")


main()
