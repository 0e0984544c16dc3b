"""Wrong answers to exercises about the whole model: its marks and padding, positions, training."""

import numpy as np

from autograder.exercises.model.beam_search import searched as beams_by
from autograder.exercises.model.greedy_decode import greedily, padded_by
from autograder.exercises.model.loss_and_gradients import trained
from autograder.exercises.model.repaired_model_loss import PADS
from autograder.exercises.model.repaired_model_loss import padded_by as loss_by_pads
from autograder.exercises.model.shared import decoded, encoded, tables_replaced_by_the_shared_one
from autograder.exercises.project.top_p import before, checked, cut
from autograder.exercises.since import accept_draft
from solutions import decoding, masking, model, position, project, since, training
from solutions.attention import softmax
from tests.explanations.registry import MANY, SECRET, SOME, wrong

# ------------------------------------------------------------------------------------------- padding and marks


@wrong("decode", seeds=SECRET)
def decode_ignores_pad(params, tgt, memory, src, n_heads, pad=0):
    return decoded(params, tgt, memory, src, n_heads, 0)


@wrong("decode", seeds=SECRET)
def target_mask_ignores_pad(params, tgt, memory, src, n_heads, pad=0):
    return decoded(params, tgt, memory, src, n_heads, pad, over_target=lambda tgt, *_: masking.target_mask(tgt, 0))


@wrong("decode", seeds=SECRET)
def memory_mask_ignores_pad(params, tgt, memory, src, n_heads, pad=0):
    return decoded(params, tgt, memory, src, n_heads, pad, over_memory=lambda *_: masking.padding_mask(src, 0))


@wrong("greedy_decode", seeds=SOME)
def ends_at_written_padding(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    """A sentence is finished when its newest token is the end mark or padding."""
    memory, _ = model.encode(params, src, n_heads, pad)
    tokens = np.full((len(src), 1), bos)
    for _ in range(max_length):
        logits, _ = model.decode(params, tokens, memory, src, n_heads, pad)
        newest = np.where(np.isin(tokens[:, -1], [eos, pad]), pad, logits[:, -1].argmax(axis=-1))
        tokens = np.concatenate([tokens, newest[:, None]], axis=1)
        if np.isin(newest, [eos, pad]).all():
            break
    return tokens[:, 1:]


@wrong("continue_run", seeds=SECRET)
def run_ignores_pad(run, batches, n_heads, peak, warmup, longest, smoothing=0.1, pad=0):
    return project.continue_run(run, batches, n_heads, peak, warmup, longest, smoothing)


@wrong("continue_run", seeds=SECRET)
def continued_with_the_step_as_a_float(run, batches, n_heads, peak, warmup, longest, smoothing=0.1, pad=0):
    new, log = project.continue_run(run, batches, n_heads, peak, warmup, longest, smoothing, pad)
    return new | {"step": float(new["step"])}, log


@wrong("batches_by_length", seeds=SECRET)
def earlier_batches_filled(lengths, budget):
    batches = []
    for pair in np.lexsort((lengths[:, 0], lengths[:, 1])).tolist():
        fitting = [b for b in batches if (len(b) + 1) * lengths[[*b, pair]].max(axis=0).sum() <= budget]
        if fitting:
            fitting[0].append(pair)
        else:
            batches.append([pair])
    batches = [np.array(batch) for batch in batches]
    padding = [len(batch) * lengths[batch].max(axis=0).sum() - lengths[batch].sum() for batch in batches]
    return batches, np.array(padding, int)


@wrong("reverse_divergence", seeds=SECRET)
def logarithms_of_a_little_more(logits, teacher_logits, counts):
    student, teacher = softmax(logits), softmax(teacher_logits)
    surplus = np.log(student + 1e-12) - np.log(teacher + 1e-12)
    divergence = (student * surplus).sum(axis=-1, keepdims=True)
    n = logits.dtype.type(max(counts.sum(), 1))
    grad = np.where(counts[..., None], student * (surplus - divergence) / n, 0).astype(logits.dtype)
    return (divergence[counts].sum() / n).astype(logits.dtype), grad


def drawn_by(draft, small, large, chances, place, *, missing, free=accept_draft.drawn):
    tokens = since.accept_draft(draft, small, large, chances, place)
    n = len(tokens) - 1
    last = free(large[n], place) if n == len(draft) else missing(small[n], large[n], place)
    return np.append(tokens[:-1], last)


def right_missing(small, large, place):
    return accept_draft.drawn(np.maximum(large - small, 0), place)


@wrong("accept_draft", seeds=(104, 111))
def what_is_missing_most(*inputs, **named):
    return drawn_by(*inputs, **named, missing=lambda small, large, place: (large - small).argmax())


@wrong("accept_draft", seeds=MANY)
def larger_ones_drawn_from_large(*inputs, **named):
    def missing(small, large, place):
        return accept_draft.drawn(np.where(large > small, large, 0), place)

    return drawn_by(*inputs, **named, missing=missing)


@wrong("accept_draft", seeds=(109,))
def likeliest_free_token(*inputs, **named):
    return drawn_by(*inputs, **named, missing=right_missing, free=lambda large, place: large.argmax())


# -------------------------------------------------------------------------------------------------------- nothing


@wrong("edit_path", seeds=SECRET)
def path_of_one_axis(guess, truth):
    distance, path = project.edit_path(guess, truth)
    return distance, np.array(path.tolist(), int)


# ------------------------------------------------------------------------------------------------------------ tables


@wrong("encode", seeds=SECRET)
def encode_with_the_shared_table(params, src, n_heads, pad=0):
    return encoded(tables_replaced_by_the_shared_one(params), src, n_heads, pad)


@wrong("decode", seeds=SECRET)
def decode_with_the_shared_table(params, tgt, memory, src, n_heads, pad=0):
    return decoded(tables_replaced_by_the_shared_one(params), tgt, memory, src, n_heads, pad)


@wrong("decode", seeds=SECRET)
def output_with_the_shared_table(params, tgt, memory, src, n_heads, pad=0):
    tables = params["embeddings"]
    rest = {role: table for role, table in tables.items() if role != "output" or "shared" not in tables}
    return decoded(params | {"embeddings": rest}, tgt, memory, src, n_heads, pad)


@wrong("loss_and_gradients", seeds=SECRET)
def model_without_pad(params, src, tgt, n_heads, pad=0):
    return trained(params, src, tgt, n_heads, pad, forward=lambda p, s, t, n, pad: model.forward(p, s, t, n))


@wrong("loss_and_gradients", seeds=SECRET)
def loss_without_pad(params, src, tgt, n_heads, pad=0):
    return trained(params, src, tgt, n_heads, pad, loss=lambda logits, asked, pad: model.cross_entropy(logits, asked))


for part in PADS:

    @wrong("repaired_model_loss", seeds=SECRET, name=f"pad is 0 for the {part}")
    def repaired_model_loss(params, src, tgt, n_heads, pad, part=part):
        return loss_by_pads(params, src, tgt, n_heads, pad, zero=[part])


for part, told in (("model", (False, False)), ("decoder", (True, False)), ("encoder", (False, True))):

    @wrong("greedy_decode", seeds=SOME, name=f"pad is 0 for the {part}")
    def greedy_decode(*inputs, told=told, **named):
        return greedily(*inputs, **named, step=padded_by(*told))


@wrong("greedy_decode", seeds=SOME)
def zeros_after_the_end(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    def keep(newest, ended, *_):
        return np.where(ended, 0, newest)

    return greedily(params, src, n_heads, max_length, bos, eos, pad, keep=keep)


@wrong("greedy_decode", seeds=SOME)
def begin_mark_is_one(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    return decoding.greedy_decode(params, src, n_heads, max_length, 1, eos, pad)


@wrong("beam_search", seeds=MANY)
def beams_without_pad(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    tokens, scores = beams_by(params, src, n_heads, beam_width, length_penalty, max_length, bos, eos, 0)
    ends = np.cumsum(tokens == eos, axis=1) - (tokens == eos) > 0
    return np.where(ends, pad, tokens), scores


@wrong("beam_search", seeds=MANY)
def beams_of_begin_mark_one(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    return beams_by(params, src, n_heads, beam_width, length_penalty, max_length, 1, eos, pad)


@wrong("beam_search", seeds=MANY)
def beams_of_end_mark_two(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    return beams_by(params, src, n_heads, beam_width, length_penalty, max_length, bos, 2, pad)


@wrong("beam_search", seeds=MANY)
def beams_pruned_by_log_p(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    settings = (beam_width, length_penalty, max_length, bos, eos, pad)
    return beams_by(params, src, n_heads, *settings, rank=lambda log_p, *_: log_p)


@wrong("beam_search", seeds=MANY)
def beams_pruned_by_log_p_then_sorted(
    params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0
):
    settings = (beam_width, length_penalty, max_length, bos, eos, pad)
    tokens, scores = beams_by(params, src, n_heads, *settings, rank=lambda log_p, *_: log_p)
    order = np.argsort(-scores)
    return tokens[order], scores[order]


# ------------------------------------------------------------------------------------------- positions


def with_a_table_of(n_rows):
    def embedding(tokens, table, start=0):
        output, cache = position.embed(tokens, table)
        encoding = position.sinusoidal_encoding(n_rows, table.shape[1])[start : start + tokens.shape[-1]]
        return output + encoding.astype(table.dtype), cache

    return embedding


for n_rows in (10, 100, 512):
    wrong("positional_embedding", seeds=MANY, name=f"a table of {n_rows} rows")(with_a_table_of(n_rows))


# ------------------------------------------------------------------------------------------- training


def before_the_last_word(targets, pad):
    """The targets up to the last word of each sentence, including padding before a word."""
    return np.logical_or.accumulate((targets != pad)[..., ::-1], axis=-1)[..., ::-1]


def before_the_first_padding(targets, pad):
    return np.logical_and.accumulate(targets != pad, axis=-1)


def as_many_as_words(targets, pad):
    """The first places of each sentence, as many as it has words."""
    return np.arange(targets.shape[-1]) < (targets != pad).sum(axis=-1, keepdims=True)


for counted in (before_the_last_word, before_the_first_padding, as_many_as_words):

    @wrong("smoothed_cross_entropy", seeds=SECRET, name=counted.__name__)
    def smoothed(logits, targets, smoothing=0.0, pad=0, counted=counted):
        counts = counted(targets, pad)
        return training.smoothed_cross_entropy(logits[counts], targets[counts], smoothing, pad=-1)


@wrong("smoothed_cross_entropy_backward", seeds=SECRET)
def rows_in_the_first_places(grad_loss, cache):
    counted = cache[2]
    first = np.arange(counted.shape[-1]) < counted.sum(axis=-1, keepdims=True)
    return training.smoothed_cross_entropy_backward(grad_loss, (*cache[:2], first, cache[3]))


@wrong("adam_step", seeds=SECRET)
def only_step_zero_refused(parameters, gradients, moments, step, *constants, **named):
    if step == 0:
        raise ValueError("steps count from 1")
    return training.adam_step(parameters, gradients, moments, max(step, 1), *constants, **named)


@wrong("top_p", seeds=SECRET)
def goes_on_at_exactly_p(logits, p, temperature=1.0):
    checked(p, temperature)
    return cut(softmax(logits / temperature), lambda in_order: before(in_order) <= p)


@wrong("top_p", seeds=SECRET)
def only_zeros_refused(logits, p, temperature=1.0):
    if p == 0 or p > 1 or temperature == 0:
        raise ValueError
    return cut(softmax(logits / temperature), lambda in_order: before(in_order) < p)
