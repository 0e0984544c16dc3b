"""Wrong answers to exercises about the whole model: its marks and padding, positions, training."""

import numpy as np

from autograder.exercises.model.beam_search import by_penalty
from autograder.exercises.model.beam_search import searched as beams_found
from autograder.exercises.model.greedy_decode import greedily, likeliest, padded_by
from autograder.exercises.model.loss_and_gradients import trained
from autograder.exercises.model.repaired_model_loss import PADS
from autograder.exercises.model.repaired_model_loss import padded_by as loss_by_pads
from autograder.exercises.model.shared import decoded, encoded, tables_replaced_by_the_shared_one
from autograder.exercises.project.top_p import before, checked, cut
from autograder.exercises.since import accept_draft
from solutions import decoding, masking, model, position, project, since, training
from solutions.attention import softmax
from solutions.memory import memory_mask
from tests.autograder.exercises.holes.register import MANY, SOME, hole

# ------------------------------------------------------------------------------------------- padding and marks


@hole("decode")
def decode_ignores_pad(params, tgt, memory, src, n_heads, pad=0):
    return decoded(params, tgt, memory, src, n_heads, 0)


@hole("decode")
def target_mask_ignores_pad(params, tgt, memory, src, n_heads, pad=0):
    return decoded(params, tgt, memory, src, n_heads, pad, over_target=masking.target_mask(tgt, 0))


@hole("decode")
def memory_mask_ignores_pad(params, tgt, memory, src, n_heads, pad=0):
    over_memory = memory_mask(src, tgt.shape[-1], 0)
    return decoded(params, tgt, memory, src, n_heads, pad, over_memory=over_memory)


@hole("greedy_decode", SOME)
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


@hole("continue_run")
def run_ignores_pad(run, batches, n_heads, peak, warmup, longest, smoothing=0.1, pad=0):
    return project.continue_run(run, batches, n_heads, peak, warmup, longest, smoothing)


@hole("continue_run")
def continued_with_the_step_as_a_float(run, batches, n_heads, peak, warmup, longest, smoothing=0.1, pad=0):
    new, log = project.continue_run(run, batches, n_heads, peak, warmup, longest, smoothing, pad)
    return new | {"step": float(new["step"])}, log


@hole("saved_run")
def saved_with_the_step_as_a_float(run):
    return project.saved_run(run) | {"step": np.array(run["step"], np.float64)}


@hole("batches_by_length")
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


@hole("reverse_divergence")
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


@hole("accept_draft", (104, 111))
def what_is_missing_most(*inputs, **named):
    return drawn_by(*inputs, **named, missing=lambda small, large, place: (large - small).argmax())


@hole("accept_draft", MANY)
def larger_ones_drawn_from_large(*inputs, **named):
    def missing(small, large, place):
        return accept_draft.drawn(np.where(large > small, large, 0), place)

    return drawn_by(*inputs, **named, missing=missing)


@hole("accept_draft", (109,))
def likeliest_free_token(*inputs, **named):
    return drawn_by(*inputs, **named, missing=right_missing, free=lambda large, place: large.argmax())


# -------------------------------------------------------------------------------------------------------- nothing


@hole("edit_path")
def path_of_one_axis(guess, truth):
    distance, path = project.edit_path(guess, truth)
    return distance, np.array(path.tolist(), int)


# ------------------------------------------------------------------------------------------------------------ tables


@hole("encode")
def encode_with_the_shared_table(params, src, n_heads, pad=0):
    return encoded(tables_replaced_by_the_shared_one(params), src, n_heads, pad)


@hole("decode")
def decode_with_the_shared_table(params, tgt, memory, src, n_heads, pad=0):
    return decoded(tables_replaced_by_the_shared_one(params), tgt, memory, src, n_heads, pad)


@hole("decode")
def output_with_the_shared_table(params, tgt, memory, src, n_heads, pad=0):
    tables = params["embeddings"]
    rest = {role: table for role, table in tables.items() if role != "output" or "shared" not in tables}
    return decoded(params | {"embeddings": rest}, tgt, memory, src, n_heads, pad)


@hole("loss_and_gradients")
def model_without_pad(params, src, tgt, n_heads, pad=0):
    return trained(params, src, tgt, n_heads, pad, forward=lambda p, s, t, n, pad: model.forward(p, s, t, n))


@hole("loss_and_gradients")
def loss_without_pad(params, src, tgt, n_heads, pad=0):
    return trained(params, src, tgt, n_heads, pad, loss=lambda logits, asked, pad: model.cross_entropy(logits, asked))


for part in PADS:

    @hole("repaired_model_loss", name=f"pad is 0 for the {part}")
    def repaired_model_loss(params, src, tgt, n_heads, pad, part=part):
        return loss_by_pads(params, src, tgt, n_heads, **dict.fromkeys(PADS, pad) | {part: 0})


for part, told in (("model", (False, False)), ("decoder", (True, False)), ("encoder", (False, True))):
    hole("greedy_decode", SOME, name=f"pad is 0 for the {part}")(padded_by(*told))


@hole("greedy_decode", SOME)
def zeros_after_the_end(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    def keep(newest, ended):
        return np.where(ended, 0, newest)

    return greedily(params, src, n_heads, max_length, bos, eos, pad, step=likeliest, keep=keep)


@hole("greedy_decode", SOME)
def begin_mark_is_one(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
    return decoding.greedy_decode(params, src, n_heads, max_length, 1, eos, pad)


def beams_by(params, src, n_heads, beam_width, length_penalty, max_length, bos, eos, pad, **changed):
    return beams_found(
        params, src, n_heads, beam_width, max_length, bos, eos, pad, score=by_penalty(length_penalty), **changed
    )


@hole("beam_search", MANY)
def beams_without_pad(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    tokens, scores = beams_by(params, src, n_heads, beam_width, length_penalty, max_length, bos, eos, 0)
    ends = np.cumsum(tokens == eos, axis=1) - (tokens == eos) > 0
    return np.where(ends, pad, tokens), scores


@hole("beam_search", MANY)
def beams_of_begin_mark_one(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    return beams_by(params, src, n_heads, beam_width, length_penalty, max_length, 1, eos, pad)


@hole("beam_search", MANY)
def beams_of_end_mark_two(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    return beams_by(params, src, n_heads, beam_width, length_penalty, max_length, bos, 2, pad)


@hole("beam_search", MANY)
def beams_pruned_by_log_p(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
    settings = (beam_width, length_penalty, max_length, bos, eos, pad)
    return beams_by(params, src, n_heads, *settings, rank=by_penalty(0))


@hole("beam_search", MANY)
def beams_pruned_by_log_p_then_sorted(
    params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0
):
    settings = (beam_width, length_penalty, max_length, bos, eos, pad)
    tokens, scores = beams_by(params, src, n_heads, *settings, rank=by_penalty(0))
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
    hole("positional_embedding", MANY, name=f"a table of {n_rows} rows")(with_a_table_of(n_rows))


# ------------------------------------------------------------------------------------------- training


def before_the_last_word(targets, pad):
    """The targets up to the last word of each sentence, padding before a word included."""
    return np.logical_or.accumulate((targets != pad)[..., ::-1], axis=-1)[..., ::-1]


def before_the_first_padding(targets, pad):
    return np.logical_and.accumulate(targets != pad, axis=-1)


def as_many_as_words(targets, pad):
    """The first places of each sentence, as many as it has words."""
    return np.arange(targets.shape[-1]) < (targets != pad).sum(axis=-1, keepdims=True)


for counted in (before_the_last_word, before_the_first_padding, as_many_as_words):

    @hole("smoothed_cross_entropy", name=counted.__name__)
    def smoothed(logits, targets, smoothing=0.0, pad=0, counted=counted):
        counts = counted(targets, pad)
        return training.smoothed_cross_entropy(logits[counts], targets[counts], smoothing, pad=-1)


@hole("smoothed_cross_entropy_backward")
def rows_in_the_first_places(grad_loss, cache):
    counted = cache[2]
    first = np.arange(counted.shape[-1]) < counted.sum(axis=-1, keepdims=True)
    return training.smoothed_cross_entropy_backward(grad_loss, (*cache[:2], first, cache[3]))


@hole("adam_step")
def only_step_zero_refused(parameters, gradients, moments, step, *constants, **named):
    if step == 0:
        raise ValueError("steps count from 1")
    return training.adam_step(parameters, gradients, moments, max(step, 1), *constants, **named)


@hole("top_p")
def goes_on_at_exactly_p(logits, p, temperature=1.0):
    checked(p, temperature)
    return cut(softmax(logits / temperature), lambda in_order: before(in_order) <= p)


@hole("top_p")
def only_zeros_refused(logits, p, temperature=1.0):
    if p == 0 or p > 1 or temperature == 0:
        raise ValueError
    return cut(softmax(logits / temperature), lambda in_order: before(in_order) < p)
