"""`hand_in(params, recipe)`: pack trained weights into the output of a notebook's cell, where grading finds them."""

import base64
from typing import Any

from check.messages import boxed, paragraph, sentence_as_html
from check.showing import Shown, note, show
from check.weights_file import TakenSeed, UnusableWeights, checked_recipe, expected_here, pack

# Grading looks for this text in the outputs of a notebook.
LINK = 'href="data:application/x-npz;base64,'
handed_in = False  # whether weights were packed since Python was started


class HandInRefused(UnusableWeights):
    """Weights cannot be handed in; a notebook shows the reason instead of a traceback."""

    def _render_traceback_(self) -> list[str]:
        return [f"HandInRefused: {self}"]


def hand_in(params: Any, recipe: Any) -> None:
    """Pack trained weights as float16 and show what was packed. Save the notebook afterwards, and hand it in.

    Args:
        params: the parameters of the chapter's model, nested dicts and lists of arrays.
        recipe: dict of the numbers that made them; see the chapter's `recipe`.

    Raises:
        HandInRefused: they are not the chapter's model or contain NaN, or a number of the recipe is missing or wrong.
        LookupError: this is not the folder of an unzipped chapter that asks for weights.
    """
    global handed_in
    expected = expected_here(params)
    try:
        show(packed(pack(params, recipe, expected), checked_recipe(recipe, expected)))
        handed_in = True
    except TakenSeed as error:
        show(note(f"Nothing was packed. {error}"))  # the chapter as released must run to its end
    except UnusableWeights as error:
        raise HandInRefused(str(error)) from None


def packed(raw: bytes, recipe: dict[str, float]) -> Shown:
    """Return the message that holds a file of weights as a link. recipe: name -> number."""
    head = f"Packed: {len(raw) / 1e6:.2f} MB of weights, made by this recipe: {in_words(recipe)}."
    end = "The weights are in this output. Save the notebook, and hand it in with its outputs."
    link = f'<a download="weights.npz" {LINK}{base64.b64encode(raw).decode()}">Download weights.npz</a>'
    html = f"{sentence_as_html(head)}{paragraph(end)}<p style='margin:.4em 0'>{link}</p>"
    return Shown(f"{head}\n{end}", boxed(html, True))


def in_words(recipe: dict[str, float]) -> str:
    """Return a recipe as text: "seed 7, steps 1000, peak 0.003"."""
    return ", ".join(f"{name} {value}" for name, value in recipe.items())
