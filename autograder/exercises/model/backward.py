import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.model.shared import question
from solutions import model as reference
from solutions.cross import decoder_layer_backward
from solutions.model import decode_backward, encode_backward, tie, unembed_backward
from solutions.position import embed_backward
from solutions.residual import encoder_layer_backward

backward = Exercise(reference.backward, outputs={"grad_params": "dict"}, section="All the way back")
wrong = short_mistakes(backward)


def after_forward(draw, *given, **options):
    """Return a random cotangent and the cache of a model."""
    return with_cache(draw, question(draw, *given, n=2, **options))


def with_cache(draw, inputs):
    logits, cache = reference.forward(**inputs)
    return {"grad_logits": draw.normal(*logits.shape), "cache": cache}


def source_of_its_own(draw):
    """Draw a model whose source has a table of its own, as large as the one that target and output share."""
    inputs = question(draw, n=2, padded=False)
    tables = inputs["params"]["embeddings"]
    tables = {"source": draw.normal(*tables["shared"].shape)} | tables
    return with_cache(draw, inputs | {"params": inputs["params"] | {"embeddings": tables}})


@backward.cases("separate tables", points=3)
def _(draw):
    yield "one layer on each side", after_forward(draw, tied=False, padded=False)


@backward.cases("several layers", points=4)
def _(draw):
    yield "two decoder layers", after_forward(draw, (1, 2), tied=False, padded=False)
    yield "two encoder layers, a padded batch", after_forward(draw, (2, 1), tied=False)


@backward.cases("shared tables", points=3)
def _(draw):
    yield "one table in three roles", after_forward(draw, padded=False)
    yield "one table in two roles", source_of_its_own(draw)


def gradients(grad_logits, cache, *, memory=sum, tables=tie):
    """Return all gradients. `memory` combines what the decoder layers return, the top layer first, and `tables`
    combines the gradients of the roles."""
    encoder_cache, (embedding_cache, layer_caches, output_cache), names = cache
    grad_x, grad_output = unembed_backward(grad_logits, output_cache)
    parts, grad_decoder = [], []
    for layer_cache in reversed(layer_caches):
        grad_x, part, grad_layer = decoder_layer_backward(grad_x, layer_cache)
        parts.append(part)
        grad_decoder.insert(0, grad_layer)
    grad_source, grad_encoder = encode_backward(memory(parts), encoder_cache)
    roles = {"source": grad_source, "target": embed_backward(grad_x, embedding_cache), "output": grad_output}
    return {"embeddings": tables(roles, names), "encoder": grad_encoder, "decoder": grad_decoder}


def one_role(role):
    """Tie the tables, but let only one role's gradient reach the shared table."""

    def tables(roles, names):
        own = {name: gradient for name, gradient in roles.items() if name in names}
        return own | ({"shared": roles[role]} if "shared" in names else {})

    return tables


def last_role(roles, names):
    return {role if role in names else "shared": gradient for role, gradient in roles.items()}


def all_roles(roles, names):
    return tie(roles, names) | ({"shared": sum(roles.values())} if "shared" in names else {})


tied_source_only = wrong("tied_source_only", gradients, tables=one_role("source"))("""
    the tied table learns as source only -> One table in three roles
    The shared table's gradient contains only the source's part. Every role that uses the table sends a gradient back to
    it, and these gradients add up.""")
wrong(
    "tied_overwritten",
    gradients,
    tables=lambda roles, names: {role if role in names else "shared": roles[role] for role in reversed(roles)},
)("""
    overwrites the tied table's gradient with each role -> One table in three roles
    You assign the gradient of the shared table once for each role, so only the last part remains: the source's, or the
    target's if the source has a table of its own. The parts of all roles add up: use `+=`.""")
wrong("tied_target_only", gradients, tables=one_role("target"))("""
    the tied table learns as target only -> One table in three roles
    The shared table's gradient contains only the target's part, from the decoder's embedding. Every role that uses the
    table sends a gradient back to it, and these gradients add up.""")
wrong("tied_output_only", gradients, tables=last_role)("""
    the tied table learns as output only -> One table in three roles
    The shared table's gradient contains only the output's part. That part is the largest, so training seems to work,
    but the parts of the two embeddings are missing. The three parts add up.""")
wrong("tied_all", gradients, tables=all_roles)("""
    adds a role with a table of its own to the shared table -> One table in three roles
    The shared table's gradient contains the parts of all three roles, but here the source has a table of its own. Add
    up only the roles that use the shared table: the cache says which tables there are.""")
wrong(
    "tables_exchanged",
    gradients,
    tables=lambda roles, names: tie(roles | {"target": roles["output"], "output": roles["target"]}, names),
)("""
    exchanges the tables of target and output
    The target's table has the output's gradient, and the output's table the target's. The gradient of the output is
    grad_logits^T x, at the top of the decoder; that of the target comes out of `embed_backward`, at the bottom.""")
wrong("last_layer_only", gradients, memory=lambda parts: parts[0])("""
    the memory learns from the last decoder layer only
    The memory's gradient is that of the last decoder layer. Every decoder layer has read the memory, so each layer adds
    its part. With one layer this mistake does not show.""")
wrong("first_layer_only", gradients, memory=lambda parts: parts[-1])("""
    the memory learns from the first decoder layer only
    Each decoder layer overwrites the memory's gradient, so only the gradient of the first layer, computed last,
    remains. Add them up.""")
wrong("mean_of_layers", gradients, memory=lambda parts: sum(parts) / len(parts))("""
    the memory learns from the mean of the decoder layers
    The memory's gradient is the mean of what the decoder layers return. The loss depends on the memory through each of
    them, so the gradient is their sum.""")
wrong("nothing_for_the_encoder", gradients, memory=lambda parts: 0 * parts[0])("""
    the encoder learns nothing
    The gradients of the encoder, and of the source's embedding, are zero, because your backward pass stops at the
    memory. The keys and values of every decoder layer came from the memory, so its gradient goes back into the
    encoder.""")


@backward.mistake("returns the layers' gradients last layer first")
def layers_turned_round(grad_logits, cache):
    """The lists of gradients begin with the last layer, because the backward pass begins there. Reverse them: the first
    entry belongs to the first layer, as in params."""
    right = gradients(grad_logits, cache)
    return right | {name: right[name][::-1] for name in ("encoder", "decoder")}


@backward.mistake("goes up the decoder")
def upwards(grad_logits, cache):
    """The gradient enters the decoder at its first layer and goes up. Go back from the last layer to the first."""
    encoder_cache, (embedding_cache, layer_caches, output_cache), names = cache
    right = gradients(grad_logits, (encoder_cache, (embedding_cache, layer_caches[::-1], output_cache), names))
    return right | {"decoder": right["decoder"][::-1]}


@backward.equivalent
def in_two_halves(grad_logits, cache):
    encoder_cache, decoder_cache, names = cache
    grad_memory, grad_target, grad_output, grad_decoder = decode_backward(grad_logits, decoder_cache)
    grad_source, grad_encoder = encode_backward(grad_memory, encoder_cache)
    roles = {"output": grad_output, "target": grad_target, "source": grad_source}
    return {"decoder": grad_decoder, "encoder": grad_encoder, "embeddings": tie(roles, names)}


@backward.equivalent
def in_one_function(grad_logits, cache):
    (source_cache, encoder_caches), (target_cache, decoder_caches, (top, table)), names = cache
    grads = {"embeddings": {}, "encoder": [], "decoder": []}

    def learn(role, gradient):
        name = role if role in names else "shared"
        grads["embeddings"][name] = grads["embeddings"].get(name, 0) + gradient

    places = list(range(top.ndim - 1))
    learn("output", np.tensordot(grad_logits, top, (places, places)))
    grad_x, grad_memory = grad_logits @ table, 0
    for layer_cache in decoder_caches[::-1]:
        grad_x, part, layer = decoder_layer_backward(grad_x, layer_cache)
        grad_memory = grad_memory + part
        grads["decoder"] = [layer, *grads["decoder"]]
    learn("target", embed_backward(grad_x, target_cache))
    for layer_cache in encoder_caches[::-1]:
        grad_memory, layer = encoder_layer_backward(grad_memory, layer_cache)
        grads["encoder"] = [layer, *grads["encoder"]]
    learn("source", embed_backward(grad_memory, source_cache))
    return grads


@backward.equivalent
def summed_at_the_end(grad_logits, cache):
    return gradients(grad_logits, cache, memory=lambda parts: np.sum(parts, axis=0))
