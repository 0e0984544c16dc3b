"""The whole model as a PyTorch module: two stacks of the layers of chapter 8. Given code, not an exercise."""

import math

import torch
from torch import nn
from torch.nn import functional

from solutions.model_torch import DecoderLayer, EncoderLayer
from solutions.position import sinusoidal_encoding


class Transformer(nn.Module):
    """The whole model: tokens in, logits out.

    Args:
        vocabularies: dict of table name -> number of tokens, from "source",
            "target", "output"; "shared" replaces those of the three that
            are missing. The paper's is {"shared": 37000}.
        d_model, n_heads, d_ff, dropout: see `EncoderLayer`.
        n_encoder, n_decoder: number of layers.
        pad: the padding token.

    Called with src (..., T_src) and tgt (..., T_tgt), integers; returns
    logits (..., T_tgt, vocab).

    Parameters: embeddings, an nn.ModuleDict of table name -> nn.Embedding(vocab, d_model); encoder and decoder, each an
    nn.ModuleList of layers.

    Source: Vaswani et al. 2017, section 3 and figure 1; no norm after the
    last layer of a stack, which `nn.Transformer` adds.
    """

    def __init__(self, vocabularies, d_model, n_heads, d_ff, n_encoder, n_decoder, dropout=0.0, pad=0):
        super().__init__()
        self.pad = pad
        self.embeddings = nn.ModuleDict({name: nn.Embedding(vocab, d_model) for name, vocab in vocabularies.items()})
        self.encoder = nn.ModuleList(EncoderLayer(d_model, n_heads, d_ff, dropout) for _ in range(n_encoder))
        self.decoder = nn.ModuleList(DecoderLayer(d_model, n_heads, d_ff, dropout) for _ in range(n_decoder))
        self.dropout = nn.Dropout(dropout)
        for name, parameter in self.named_parameters():
            if name.startswith("embeddings"):
                nn.init.normal_(parameter, std=d_model**-0.5)
            elif parameter.dim() == 2:
                nn.init.xavier_uniform_(parameter)

    def forward(self, src, tgt):
        return self.decode(tgt, self.encode(src), src)

    def encode(self, src):
        x = self.embed(src, self.table("source"))
        mask = self.padding_mask(src)
        for layer in self.encoder:
            x = layer(x, mask)
        return x

    def decode(self, tgt, memory, src):
        x = self.embed(tgt, self.table("target"))
        causal = torch.ones(tgt.shape[-1], tgt.shape[-1], dtype=torch.bool, device=tgt.device).tril()
        self_mask, memory_mask = causal & self.padding_mask(tgt), self.padding_mask(src)
        for layer in self.decoder:
            x = layer(x, memory, self_mask, memory_mask)
        return functional.linear(x, self.table("output").weight)

    def embed(self, tokens, table):
        scaled = table(tokens) * math.sqrt(table.embedding_dim)
        encoding = torch.as_tensor(sinusoidal_encoding(tokens.shape[-1], table.embedding_dim)).to(scaled)
        return self.dropout(scaled + encoding)

    def padding_mask(self, tokens):
        return (tokens != self.pad).unsqueeze(-2)

    def table(self, role):
        return self.embeddings[role if role in self.embeddings else "shared"]
