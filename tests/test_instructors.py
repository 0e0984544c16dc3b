"""The exam and the second set of paper problems: their points, the numbers of their answers, and the gate."""

import json
import math
import re

import numpy as np
import pytest

from autograder.layout import REPO, chapter_names
from autograder.release.gate import scan_bytes, secrets_of_book
from solutions.attention import attention, softmax
from solutions.backward import softmax_backward
from solutions.dictionary import costs
from solutions.learning_rate import noam_learning_rate
from solutions.masking import causal_mask, masked_softmax, target_mask
from solutions.multihead import split_heads
from solutions.position import sinusoidal_encoding
from solutions.project import edit_path
from solutions.residual import layer_norm, layer_norm_backward
from solutions.training import adam_step, label_entropy, zero_moments

pytestmark = pytest.mark.autograder
FOLDER = REPO / "instructors"
EXAM, PROBLEMS, ANSWERS = (
    (FOLDER / f"{name}.md").read_text(encoding="utf-8") for name in ("exam", "paper_problems", "answers")
)
OF_EXAM, OF_PROBLEMS = (
    dict(re.findall(r"^\*\*(\d+)\.\*\* (.*?)(?=^\*\*|\Z|^## )", part, re.MULTILINE | re.DOTALL))
    for part in ANSWERS.split("## The second set")
)


def says(answer, *texts):
    answer = " ".join(answer.split())
    assert [text for text in texts if text not in answer] == [], answer


def rounded(numbers, digits=3):
    return ", ".join(f"{number:.{digits}f}" for number in numbers)


def test_the_exam_has_a_point_for_each_of_90_minutes():
    problems = re.findall(r"^## \d+\..*?(?=^## |\Z)", EXAM, re.MULTILINE | re.DOTALL)
    for problem in problems:
        total, *parts = map(int, re.findall(r"\((\d+)\s+points\)", problem))
        assert total == sum(parts), problem
    assert sum(int(re.search(r"\((\d+) points\)", problem)[1]) for problem in problems) == 90


def test_every_problem_has_an_answer():
    assert list(OF_EXAM) == re.findall(r"^## (\d+)\.", EXAM, re.MULTILINE)
    assert list(OF_PROBLEMS) == re.findall(r"^(\d+)\. ", PROBLEMS, re.MULTILINE)
    assert len(OF_PROBLEMS) == len(chapter_names())


def found(name, page):
    return [leak.line for leak in scan_bytes(name, page.encode(), secrets_of_book())]


def test_the_gate_finds_the_title_of_the_answers_in_a_page():
    assert found("answers.html", "<h1>Answers for instructors: do not publish<a>#</a></h1>") == [1]


@pytest.mark.parametrize("number", OF_PROBLEMS)
def test_the_gate_finds_each_answer_without_the_title(number):
    for answer in (OF_PROBLEMS[number], OF_EXAM.get(number)):
        if answer:
            assert found("notes.md", answer) and found("page.html", f"<p>{answer.replace(' ', chr(10))}</p>")
            assert found("notebook.ipynb", json.dumps({"source": answer.splitlines(keepends=True)}, indent=1))


def test_the_gate_lets_the_problems_through():
    assert found("exam.md", EXAM) == found("paper_problems.md", PROBLEMS) == []


def test_the_book_does_not_contain_the_folder():
    assert "instructors" in (REPO / "_config.yml").read_text(encoding="utf-8")
    assert "instructors" not in (REPO / "_toc.yml").read_text(encoding="utf-8")


def test_attention():
    keys = np.array([[1.0, 0, 0, 0], [0, 1, 0, 0], [-1, 0, 0, 0]])
    values = np.array([[1.0, 0], [0, 1], [1, 1]])
    output, (*_, weights) = attention(np.array([[2.0, 0, 0, 0]]), keys, values)
    first, second, third = np.exp([1, 0, -1])
    says(OF_EXAM["1"], f"{first:.3f}, {second:.3f} and {third:.3f}", f"{first + second + third:.3f}")
    says(OF_EXAM["1"], "{:.3f}, {:.3f} and {:.3f}".format(*weights[0]), f"({rounded(output[0])})")
    far = attention(np.array([[2000.0, 0, 0, 0]]), keys, values)[0][0]
    assert np.allclose(far, [1, 0])
    assert np.allclose([softmax(scale * np.log([1, 1, 1, 3]))[-1] for scale in (1, 2)], [1 / 2, 3 / 4])


def test_gradients_of_softmaxes():
    assert np.allclose(softmax_backward(np.array([2.0, 0, 4]), np.array([2, 1, 1]) / 4), [0, -0.5, 0.5])
    assert np.allclose(softmax_backward(np.array([5.0, 5, 5]), np.array([2, 1, 1]) / 4), 0)
    assert np.allclose(softmax_backward(np.array([0.0, 3]), np.array([1, 2]) / 3), [-2 / 3, 2 / 3])


def test_masks():
    mask = target_mask(np.array([5, 6, 7, 0]), 0)
    says(OF_EXAM["3"], "{}, {}, {} and {}".format(*("".join(map(str, row)) for row in mask.reshape(4, 4).astype(int))))
    assert np.allclose(masked_softmax(np.zeros((4, 4)), mask)[..., 1, :], [1 / 2, 1 / 2, 0, 0])
    assert np.allclose((softmax(np.zeros(4)) * mask.reshape(4, 4)[1]), [1 / 4, 1 / 4, 0, 0])
    five = causal_mask(5)[2]
    assert np.allclose(masked_softmax(np.zeros(5), five), [1 / 3, 1 / 3, 1 / 3, 0, 0])
    assert np.allclose(softmax(np.zeros(5)) * five, [1 / 5, 1 / 5, 1 / 5, 0, 0])


def test_heads():
    heads = split_heads(np.zeros((2, 5, 12)), 3)
    weights = heads @ heads.swapaxes(-1, -2)
    says(OF_EXAM["4"], f"Queries {heads.shape}, weights {weights.shape}", f"= {4 * 12 * 12} with")
    assert 4 * 16 * 16 == 1024 and 2 * 16 * 16 + 2 * 16 * 8 == 768
    queries, keys = split_heads(np.zeros((3, 6, 10)), 2), split_heads(np.zeros((3, 8, 10)), 2)
    says(OF_PROBLEMS["7"], f"Weights {(queries @ keys.swapaxes(-1, -2)).shape}, output (3, 6, 10)")


@pytest.mark.parametrize(("row", "mean_square"), [((0, 0, 6, 6), 18), ((1, 1, 5, 5), 13)])
def test_norms(row, mean_square):
    row = np.array(row, float)
    result, cache = layer_norm(row, np.ones(4), np.zeros(4), eps=0)
    assert np.allclose(result, [-1, -1, 1, 1]) and (row**2).mean() == mean_square
    assert np.allclose(layer_norm_backward(np.eye(4)[0], cache)[0] * row.std(), [1 / 2, -1 / 2, 0, 0])


def test_losses():
    assert math.isclose(-np.log([1 / 2, 1 / 4, 1 / 8]).mean(), 2 * math.log(2)) and round(2 * math.log(2), 3) == 1.386
    says(OF_PROBLEMS["8"], f"{-np.log([1 / 3, 1 / 27]).mean():.3f} nats, and the perplexity is 9")
    says(OF_PROBLEMS["9"], f"{1 - 0.1 + 0.1 / 5:.2f} and {0.1 / 5:.2f}", f"{label_entropy(5, 0.1):.3f} nats")


def test_training():
    rates = [noam_learning_rate(step, 64, warmup=100) for step in (25, 100, 400)]
    says(OF_EXAM["7"], "{:.6f}, {:.4f} and {:.5f}".format(*rates))
    for gradient in (10.0, 0.1):
        start = {"w": np.zeros(1)}
        moved = adam_step(start, {"w": np.array([gradient])}, zero_moments(start), 1, 1.0)[0]["w"]
        assert np.allclose(moved, -1)


def test_positions():
    encoding = sinusoidal_encoding(20, 4)
    near, far = (encoding[7 + k] @ encoding[7] for k in (2, 4))
    says(OF_PROBLEMS["6"], f"{near:.3f} for k = 2 and {far:.3f} for k = 4")


def test_the_last_three_problems():
    assert edit_path(np.array([0, 2, 3, 4]), np.array([0, 1, 2, 4]))[0] == 2
    small, large = np.array([0.5, 0.4, 0.1]), np.array([0.2, 0.5, 0.3])
    missing = np.maximum(large - small, 0)
    assert math.isclose(np.minimum(small, large).sum(), 0.7) and np.allclose(missing / missing.sum(), [0, 1 / 3, 2 / 3])
    parameters, _, cached = costs(dict(vocab=50, d_model=8, d_ff=16, n_layers=1, n_heads=4, n_groups=2), 10)
    assert (parameters, cached) == (1000, 80)
