#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small transformer trained in float32: by torch, by torch with tf32, and inside exactile.torch.enabled(). Each step's
loss stands beside that of the same training in float64, and beside float32's own noise: the same steps with each
batch's sequences in another order, which changes nothing but the order of sums."""
import contextlib
import statistics
import time

import torch
from common import arguments, exactile, write
from device import device, software, tf32

import exactile.torch

VOCABULARY = 64


class Block(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(width) for _ in range(2))
        self.attention_in, self.attention_out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x, mask):
        batch, length, width = x.shape
        q, k, v = self.attention_in(self.norms[0](x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = (q @ k.mT) * q.shape[-1] ** -0.5 + mask
        x = x + self.attention_out((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width))
        return x + self.down(torch.nn.functional.gelu(self.up(self.norms[1](x))))


class Transformer(torch.nn.Module):
    def __init__(self, width, layers, heads, length):
        super().__init__()
        self.embedding = torch.nn.Embedding(VOCABULARY, width)
        self.position = torch.nn.Parameter(0.02 * torch.randn(length, width))
        self.blocks = torch.nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.head = torch.nn.LayerNorm(width), torch.nn.Linear(width, VOCABULARY)
        self.register_buffer("mask", torch.full((length, length), -1e9).triu(1))

    def forward(self, tokens):
        x = self.embedding(tokens) + self.position
        for block in self.blocks:
            x = block(x, self.mask)
        return self.head(self.norm(x))


def batches(options, generator):
    """Text of a random Markov chain of second order: something to learn, without a file."""
    chances = torch.rand(VOCABULARY, VOCABULARY, VOCABULARY, generator=generator, dtype=torch.float64) ** 8
    text = torch.randint(VOCABULARY, (options.steps * options.batch, 2), generator=generator)
    for _ in range(options.length - 1):
        following = torch.multinomial(chances[text[:, -2], text[:, -1]], 1, generator=generator)
        text = torch.cat([text, following], 1)
    return text.view(options.steps, options.batch, options.length + 1)


def train(options, data, device, dtype=torch.float32, products=contextlib.nullcontext, reverse=False):
    """The loss of each step, and the seconds of the median one."""
    torch.manual_seed(0)
    model = Transformer(options.width, options.layers, options.width // 64, options.length).to(device, dtype)
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    losses, seconds = [], []
    with products():
        for tokens in data:
            tokens = tokens.flip(0) if reverse else tokens
            start = time.perf_counter()
            logits = model(tokens[:, :-1])
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())  # waits for the device
            seconds.append(time.perf_counter() - start)
    return losses, statistics.median(seconds)


def runs(options, device):
    data = batches(options, torch.Generator().manual_seed(0)).to(device)
    wanted = {"float64": {"dtype": torch.float64}, "torch f32": {}, "torch f32, sums reordered": {"reverse": True},
              "exactile": {"products": exactile.torch.enabled},
              "exactile reduced": {"products": lambda: exactile.torch.enabled(accuracy="reduced")}}
    if device == "cuda":
        wanted["torch tf32"] = {"products": lambda: tf32(True)}
    train(options, data[:3], device), train(options, data[:3], device, products=exactile.torch.enabled)  # warms up
    return {name: train(options, data, device, **how) for name, how in wanted.items()}


def deviation(losses, exact):
    """The root of the mean square over the steps."""
    return statistics.fmean((x - y) ** 2 for x, y in zip(losses, exact)) ** 0.5


def main():
    options = arguments(__doc__, steps=200, batch=16, length=256, width=1024, layers=4)
    on_gpu = torch.cuda.is_available()
    done = runs(options, "cuda" if on_gpu else "cpu")
    names = list(done)
    rows = [{"step": step, "loss": {name: float(f"{done[name][0][step]:.9g}") for name in names}}
            for step in range(options.steps)]
    summary = {name: {"seconds_a_step": round(seconds, 6),
                      "deviation": float(f"{deviation(losses, done['float64'][0]):.3g}")}
               for name, (losses, seconds) in done.items()}
    write(options.output, schema="exactile.training/1", family="Python, a transformer trained in f32",
          device=device() if on_gpu else {"name": "a processor", "kind": "cpu", "threads": torch.get_num_threads()},
          software=software() if on_gpu else {"torch": torch.__version__},
          operands=f"{options.layers} layers of width {options.width}, batches of {options.batch} x {options.length}",
          contenders={name: f"torch {torch.__version__}" for name in names if name != "exactile"}, summary=summary,
          results=rows)


if __name__ == "__main__":
    main()
