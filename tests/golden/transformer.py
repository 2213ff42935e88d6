"""Makes tests/data/golden/*.safetensors: what PyTorch computes for small Transformers, in fp64. Run it from the root of the
project with Debian's python3-torch:  /usr/bin/python3 tests/golden/transformer.py

The layers are torch.nn's own; batches are padded and masked here, so they share nothing with Ferry's ragged ones. Each file:

  metadata                     the model's configuration, the scale of the loss
  batch.N.source, .target,     token numbers of batch N = 0, 1; .source_start and .target_start say where sentences begin
      .label
  encoder, decoder             outputs for batch 0, the tokens that aren't padding, [tokens, d_model]
  loss                         of batch 0
  gradient.NAME                of that loss, for each parameter, by Ferry's name
  rates, losses                the learning rate and the loss of each of ten Adam steps, on batches 0, 1, 0, 1 ...
  after                        the parameters afterwards, every eighth of all elements in the order of the file

The parameters before the first step aren't stored: see `initial`.
"""
import json
import math
import os
import random
import struct

import torch
import torch.nn.functional as F
from torch import nn

torch.set_default_dtype(torch.float64)
EOS, BOS, FIRST = 2, 1, 3
STEPS, PEAK, WARMUP, SAMPLE = 10, 0.01, 4, 8

MODELS = {
    "post_relu_all": dict(vocab_size=29, d_model=16, d_ff=24, heads=2, encoder_layers=2, decoder_layers=1, norm="post",
                          activation="relu", tie="all"),
    "pre_gelu_decoder": dict(vocab_size=31, d_model=20, d_ff=24, heads=4, encoder_layers=1, decoder_layers=2, norm="pre",
                             activation="gelu", tie="decoder"),
    "post_relu_none": dict(vocab_size=23, d_model=18, d_ff=21, heads=3, encoder_layers=1, decoder_layers=1, norm="post",
                           activation="relu", tie="none"),
}


def save(path, tensors, metadata):
    """The safetensors format: a length, a JSON header, the data."""
    names = {torch.float64: "F64", torch.int32: "I32"}
    header, blobs, at = {"__metadata__": metadata}, [], 0
    for name, tensor in sorted(tensors.items(), key=lambda item: item[1].dtype != torch.float64):  # wide ones first
        blob = tensor.detach().contiguous().numpy().tobytes()
        header[name] = {"dtype": names[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [at, at + len(blob)]}
        at += len(blob)
        blobs.append(blob)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def initial(first, shape, centre):
    """Element i of all parameters in the order of the file: a quadratic Weyl sequence, 16 bits of it, exact in fp32."""
    i = torch.arange(first, first + math.prod(shape), dtype=torch.int64)
    bits = i * i * 2654435761 % 2**32 // 2**16
    return (centre + 0.875 * (bits / 65536 - 0.5)).reshape(shape)


class Transformer(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        d, pre = c["d_model"], c["norm"] == "pre"
        options = dict(d_model=d, nhead=c["heads"], dim_feedforward=c["d_ff"], dropout=0.0, activation=c["activation"],
                       batch_first=True, norm_first=pre)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(**options), c["encoder_layers"],
                                             nn.LayerNorm(d) if pre else None)
        self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(**options), c["decoder_layers"],
                                             nn.LayerNorm(d) if pre else None)
        tables = {"all": ["embedding"], "decoder": ["source_embedding", "target_embedding"],
                  "none": ["source_embedding", "target_embedding", "output_projection"]}[c["tie"]]
        self.tables = nn.ParameterDict({name: nn.Parameter(torch.zeros(c["vocab_size"], d)) for name in tables})
        self.source, self.target, self.output = [self.tables[tables[min(i, len(tables) - 1)]] for i in range(3)]

    def pieces(self):
        """Ferry's name, the PyTorch parameter, and which of its rows."""
        d = self.c["d_model"]
        for name, table in self.tables.items():
            yield name + ".weight", table, slice(None)
        for side, stack in ("encoder", self.encoder), ("decoder", self.decoder):
            for n, layer in enumerate(stack.layers):
                attentions = [("self_attention", layer.self_attn)]
                norms = ["self_attention_norm", "feed_forward_norm"]
                if side == "decoder":
                    attentions.append(("cross_attention", layer.multihead_attn))
                    norms.insert(1, "cross_attention_norm")
                for name, attention in attentions:
                    for part, rows in zip(("query", "key", "value"), (slice(0, d), slice(d, 2 * d), slice(2 * d, 3 * d))):
                        yield f"{side}.{n}.{name}.{part}.weight", attention.in_proj_weight, rows
                        yield f"{side}.{n}.{name}.{part}.bias", attention.in_proj_bias, rows
                    yield f"{side}.{n}.{name}.output.weight", attention.out_proj.weight, slice(None)
                    yield f"{side}.{n}.{name}.output.bias", attention.out_proj.bias, slice(None)
                for name, module in ("feed_forward.input", layer.linear1), ("feed_forward.output", layer.linear2):
                    yield f"{side}.{n}.{name}.weight", module.weight, slice(None)
                    yield f"{side}.{n}.{name}.bias", module.bias, slice(None)
                for i, name in enumerate(norms):
                    module = getattr(layer, f"norm{i + 1}")
                    yield f"{side}.{n}.{name}.weight", module.weight, slice(None)
                    yield f"{side}.{n}.{name}.bias", module.bias, slice(None)
            if stack.norm is not None:
                yield f"{side}.norm.weight", stack.norm.weight, slice(None)
                yield f"{side}.norm.bias", stack.norm.bias, slice(None)

    def embed(self, table, tokens):
        d = self.c["d_model"]
        position = torch.arange(tokens.shape[1]).unsqueeze(1)
        angle = position / 10000 ** (torch.arange(0, d, 2) / d)
        return F.embedding(tokens, table) * math.sqrt(d) + torch.stack((angle.sin(), angle.cos()), 2).flatten(1)

    def forward(self, source, target):
        source, source_padding = padded(source)
        target, target_padding = padded(target)
        n = target.shape[1]
        future = torch.ones(n, n, dtype=torch.bool).triu(1)
        memory = self.encoder(self.embed(self.source, source), src_key_padding_mask=source_padding)
        hidden = self.decoder(self.embed(self.target, target), memory, tgt_mask=future, tgt_key_padding_mask=target_padding,
                              memory_key_padding_mask=source_padding)
        return memory[~source_padding], hidden[~target_padding]


def padded(sentences):
    tokens = nn.utils.rnn.pad_sequence([torch.tensor(s) for s in sentences], batch_first=True)
    lengths = torch.tensor([len(s) for s in sentences])
    return tokens, torch.arange(tokens.shape[1]).unsqueeze(0) >= lengths.unsqueeze(1)


def random_batch(generator, vocab_size, lengths):
    def sentence(n):
        return [generator.randrange(FIRST, vocab_size) for _ in range(n)]
    sources, targets = [sentence(n) for n, _ in lengths], [sentence(n) for _, n in lengths]
    return [s + [EOS] for s in sources], [[BOS] + t for t in targets], [t + [EOS] for t in targets]


def flat(sentences):
    starts = [0]
    for s in sentences:
        starts.append(starts[-1] + len(s))
    return torch.tensor(sum(sentences, []), dtype=torch.int32), torch.tensor(starts, dtype=torch.int32)


def make(name, config, seed):
    smoothing, scale = 0.1, 0.125
    model = Transformer(config)
    first = 0
    with torch.no_grad():
        for piece, parameter, rows in model.pieces():
            centre = 1.0 if "norm.weight" in piece else 0.0
            parameter[rows] = initial(first, parameter[rows].shape, centre)
            first += parameter[rows].numel()
    assert first == sum(p.numel() for p in model.parameters())

    generator = random.Random(seed)
    batches = [random_batch(generator, config["vocab_size"], [(5, 7), (0, 3), (9, 0), (1, 1), (4, 12)]),
               random_batch(generator, config["vocab_size"], [(3, 2), (8, 8)])]
    tensors = {}
    for n, (source, target, label) in enumerate(batches):
        tensors[f"batch.{n}.source"], tensors[f"batch.{n}.source_start"] = flat(source)
        tensors[f"batch.{n}.target"], tensors[f"batch.{n}.target_start"] = flat(target)
        tensors[f"batch.{n}.label"] = flat(label)[0]

    optimizer = torch.optim.Adam(model.parameters(), lr=1, betas=(0.9, 0.98), eps=1e-9)
    rates, losses = [], []
    for step in range(1, STEPS + 1):
        source, target, label = batches[(step - 1) % 2]
        optimizer.zero_grad()
        memory, hidden = model(source, target)
        logits = F.linear(hidden, model.output)
        loss = scale * F.cross_entropy(logits, flat(label)[0].long(), reduction="sum", label_smoothing=smoothing)
        loss.backward()
        if step == 1:
            tensors["encoder"], tensors["decoder"], tensors["loss"] = memory, hidden, loss
            for piece, parameter, rows in model.pieces():
                tensors["gradient." + piece] = parameter.grad[rows].clone()
        rates.append(PEAK * min(step / WARMUP, math.sqrt(WARMUP / step)))
        losses.append(loss.item())
        optimizer.param_groups[0]["lr"] = rates[-1]
        optimizer.step()
    tensors["rates"], tensors["losses"] = torch.tensor(rates), torch.tensor(losses)
    everything = torch.cat([parameter[rows].flatten() for _, parameter, rows in model.pieces()])
    tensors["after"] = everything[::SAMPLE].clone()
    metadata = {key: str(value) for key, value in config.items()}
    metadata.update(label_smoothing=str(smoothing), scale=str(scale), made_by="PyTorch " + torch.__version__)
    save(f"tests/data/golden/{name}.safetensors", tensors, metadata)
    print(name, first, "parameters, losses", " ".join(f"{x:.4f}" for x in losses))


if __name__ == "__main__":
    os.makedirs("tests/data/golden", exist_ok=True)
    for number, (model_name, model_config) in enumerate(MODELS.items()):
        make(model_name, model_config, number)
