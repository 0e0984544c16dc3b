"""The style of our figures: a text for every picture, unique ids, and colours with enough contrast."""

import ast
import math
import re
import subprocess
import sys
from pathlib import Path

import figures
import model_map
import numpy as np
import pytest
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

from autograder.chapter.chapter import cells, text_of
from autograder.layout import chapter_names
from tests.book.conftest import ROOT

pytestmark = pytest.mark.book

WHITE, DARK = "#ffffff", "#121212"
INKS = {WHITE: "#1f2328", DARK: "#e6e6e6"}  # the colour of text on each, as book/static/house.css says


def luminance(colour):
    """Return the relative luminance of #rrggbb, as WCAG 2.2 defines it."""
    channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return float(np.dot((0.2126, 0.7152, 0.0722), linear))


def contrast(first, second):
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def blend(colour, background, opacity):
    mixed = (opacity * int(colour[i : i + 2], 16) + (1 - opacity) * int(background[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(channel):02x}" for channel in mixed)


def small_figure():
    figure, ax = figures.subplots()
    ax.plot([0, 1, 2], [2, 0, 1], label="a line")
    ax.set(title="A title", xlabel="x", ylabel="y")
    ax.legend()
    return figure


@pytest.mark.parametrize("background", [WHITE, DARK])
def test_the_palette_is_legible(background):
    assert all(contrast(colour, background) >= 3 for colour in figures.PALETTE)
    assert contrast(INKS[background], background) >= 7
    faint_ink = blend(INKS[background], background, 0.75)  # the names of the parts that are not highlighted in the map
    assert contrast(faint_ink, background) >= 4.5


@pytest.mark.parametrize("background", [WHITE, DARK])
@pytest.mark.parametrize("hue", [figures.BLUE, figures.ORANGE])
def test_numbers_on_a_heatmap_are_legible(background, hue):
    for opacity in np.linspace(0, figures.STRONGEST, 20):
        assert contrast(blend(hue, background, opacity), INKS[background]) >= 4.5


def test_the_inks_are_those_of_the_style_sheet():
    css = (ROOT / "book" / "static" / "house.css").read_text(encoding="utf-8")
    for background, ink in INKS.items():
        assert f"--pst-color-background: {background};\n" in css
        assert f"--pst-color-text-base: {ink};\n" in css


def test_a_figure_is_inline_svg_with_its_text():
    picture = figures.show(small_figure(), alt="A line that falls, <then> rises.")
    svg = picture._repr_html_()
    assert svg.startswith("<svg") and svg.endswith("</svg>")
    assert 'role="img"' in svg and 'aria-label="A line that falls, &lt;then&gt; rises."' in svg
    assert "<title>A line that falls, &lt;then&gt; rises.</title>" in svg
    assert repr(picture) == "A line that falls, <then> rises."
    assert "currentColor" in svg and figures.INK not in svg and "#000000" not in svg
    assert ">A title</text>" in svg  # text stays text
    assert "<style" not in svg  # a style element would change the whole page


@pytest.mark.parametrize("alt", ["", "  ", None])
def test_a_figure_without_alternative_text_is_refused(alt):
    with pytest.raises(ValueError, match="alternative text"):
        figures.show(small_figure(), alt=alt)


def test_ids_are_unique_to_a_figure_and_all_references_exist():
    first = figures.show(small_figure(), alt="one").svg
    second = figures.show(figures.heatmap(np.eye(3)), alt="other").svg
    ids = [set(re.findall(r'\bid="([^"]+)"', svg)) for svg in (first, second)]
    assert ids[0].isdisjoint(ids[1])
    for svg, own in zip((first, second), ids, strict=True):
        assert set(re.findall(r'(?:url\(#|href="#)([^")]+)', svg)) <= own


def test_panels_are_one_picture_with_one_text():
    figs, axes = figures.panels(2)
    for ax in axes:
        ax.plot([1, 3, 2])
    picture = figures.show(*figs, alt="Two lines, <alike>.")
    assert repr(picture) == "Two lines, <alike>."
    assert picture.svg.count("<svg") == 2 and picture.svg.count('aria-hidden="true"') == 2
    assert picture.svg.count('role="img"') == picture.svg.count("Two lines, &lt;alike&gt;.") == 1


def test_equal_panels_have_different_ids():
    figs, axes = figures.panels(2)
    for ax in axes:
        ax.plot([1, 3, 2])
    ids = re.findall(r'\bid="([^"]+)"', figures.show(*figs, alt="Two lines.").svg)
    assert len(ids) == len(set(ids)) > 10


@pytest.mark.parametrize(("arguments", "columns"), [({"n": 2}, 2), ({"n": 4, "columns": 2}, 2), ({"n": 3}, 3)])
def test_panels_fill_the_width_of_a_figure(arguments, columns):
    figs, axes = figures.panels(**arguments)
    assert len(figs) == len(axes) == arguments["n"]
    width = figs[0].get_figwidth()
    assert math.isclose(columns * width + (columns - 1) * figures.PANEL_GAP, figures.WIDTH)


def test_frames_of_panels_are_aligned():
    figs, (left_panel, right_panel) = figures.panels(2)
    left_panel.set(title="A title", xlabel="x", ylabel="y")
    right_panel.plot([1000, 2000])
    figures.show(*figs, alt="Two frames.")
    assert np.allclose(left_panel.get_position().bounds, right_panel.get_position().bounds)
    assert left_panel.get_position().width > 0.5


def test_a_figure_has_the_same_bytes_in_another_process():
    code = (
        "import figures, numpy as np\n"
        "fig, ax = figures.subplots(); ax.plot([1, 3, 2])\n"
        "print(figures.show(fig, alt='a').svg, figures.show(figures.heatmap(np.eye(3)), alt='b').svg)"
    )
    runs = {
        subprocess.run([sys.executable, "-c", code], cwd=ROOT / "chapters", capture_output=True, check=True).stdout
        for _ in range(2)
    }
    assert len(runs) == 1


def test_the_style_can_be_imported_from_any_folder(tmp_path):
    done = subprocess.run([sys.executable, "-c", "import figures; print(figures.__file__)"],
                          cwd=tmp_path, capture_output=True, text=True, check=True)  # fmt: skip
    assert Path(done.stdout.strip()) == ROOT / "chapters" / "figures.py"


def test_only_the_sandbox_changes_where_python_looks_for_modules():
    repo = ROOT / "autograder"
    changing = [path.relative_to(repo) for path in repo.rglob("*.py") if "sys.path" in path.read_text("utf-8")]
    of_a_hub = Path("hub", "deploy", "jupyterhub_config.py")  # JupyterHub loads it, outside of the course
    assert {path.parts[0] for path in changing if path != of_a_hub} == {"sandbox"}


def test_a_pyplot_figure_is_closed_so_that_it_is_not_drawn_twice():
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, _ = pyplot.subplots()
    figures.show(figure, alt="axes")
    assert not pyplot.fignum_exists(figure.number)


def test_a_number_that_is_rounded_to_zero_has_no_sign():
    svg = figures.show(figures.heatmap([[-0.004, -0.006]]), alt="two").svg
    assert ">0.00<" in svg and "−0.00" not in svg and "−0.01" in svg


def test_a_heatmap_shows_labels_and_numbers():
    svg = figures.show(figures.heatmap([[0.25, -1.5]], ["the"], ["cat", "sat"], title="T"), alt="two").svg
    assert all(f">{text}</text>" in svg for text in ("the", "cat", "sat", "0.25", "−1.50", "T"))


def shades(figure):
    """Return the colours of a map's cells, row by row: (n_cells, RGBA)."""
    return figure.axes[0].collections[0].get_facecolors()


def test_maps_that_are_compared_share_a_scale():
    whole, half = shades(figures.heatmap([[1.0, 0.25]], full=1)), shades(figures.heatmap([[0.5, 2.0]], full=1))
    assert np.allclose([*whole[:, 3], *half[:, 3]], figures.STRONGEST * np.array([1, 0.25, 0.5, 1]))
    assert np.allclose(shades(figures.heatmap([[0.5, 0.25]]))[:, 3], figures.STRONGEST * np.array([1, 0.5]))


@pytest.mark.parametrize(("labels", "turned"), [(["$s_0$", "$W_{QK}$"], False), (["one", "dropped"], True)])
def test_a_heatmap_rotates_labels_that_are_wide_when_drawn(labels, turned):
    ax = figures.heatmap(np.eye(2), columns=labels).axes[0]
    assert all((label.get_rotation() != 0) == turned for label in ax.get_xticklabels())


def test_text_in_figures_is_ink():
    """No colour of the palette has a contrast of 4.5 with both white and the dark background."""
    texts = {path.stem: path.read_text("utf-8") for path in (ROOT / "chapters").glob("*.md")}
    coloured = [
        (name, ast.unparse(call))
        for name, text in texts.items()
        for cell in cells(text)
        if cell.part == "demo" and "figures." in cell.source
        for call in ast.walk(ast.parse(cell.source))
        if isinstance(call, ast.Call) and getattr(call.func, "attr", "") in {"text", "set_title", "suptitle"}
        if {"c", "color"} & {keyword.arg for keyword in call.keywords}
    ]
    assert coloured == []


def test_a_cell_that_draws_ends_with_its_figure():
    """A notebook shows the value of a cell's last line. A figure on an earlier line is drawn and never seen."""
    last_lines = [
        ast.parse(cell.source).body[-1]
        for name in chapter_names()
        for cell in cells(text_of(name))
        if cell.part == "demo" and "figures.show(" in cell.source
    ]
    assert len(last_lines) > 40
    assert [ast.unparse(line) for line in last_lines if not isinstance(line, ast.Expr)] == []


def test_no_caption_says_left_or_right():
    """On a phone the panels are below each other."""
    captions = {}
    for chapter in (ROOT / "chapters").glob("*.md"):
        for cell in re.findall(r"^```\{code-cell\} python\n---\n(.*?)^```$", chapter.read_text("utf-8"), re.M | re.S):
            head, _, code = cell.partition("\n---\n")
            if "figures.panels(" in code:
                captions[chapter.name, len(captions)] = " ".join(head.partition("caption:")[2].split())
    assert len(captions) > 15
    sides = re.compile(r"\b(on|to|at) the (left|right)\b|\b(Left|Right),")
    assert {where: caption for where, caption in captions.items() if sides.search(caption)} == {}


def test_a_mask_shows_crosses_at_hidden_positions():
    svg = figures.show(figures.heatmap(np.tril(np.ones((3, 3), bool))), alt="mask").svg
    assert svg.count(">×</text>") == 3


@pytest.mark.parametrize(
    "matrix", [np.zeros((3, 4)), np.full((2, 2), np.nan), np.ones((50, 64)), np.zeros((1, 1), int)]
)
def test_a_heatmap_of_zeros_of_nan_of_many_cells(matrix):
    assert "<svg" in figures.show(figures.heatmap(matrix), alt="cells").svg


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros(3),), "draws a matrix"),
        ((np.eye(2), ["a"]), "1 labels for 2 rows"),
        ((np.eye(2), None, "abc"), "3 labels for 2"),
    ],
)
def test_a_heatmap_refuses_what_it_cannot_draw(arguments, message):
    with pytest.raises(ValueError, match=message):
        figures.heatmap(*arguments)


@pytest.mark.parametrize("part", model_map.PARTS)
def test_each_part_highlights_other_elements(part):
    picture = figures.model_map(lit=part)
    assert picture.svg.count(figures.BLUE) > 2
    assert model_map.PARTS[part] in repr(picture)
    others = {figures.model_map(lit=other).svg for other in model_map.PARTS if other != part}
    assert picture.svg not in others


def test_the_chapters_highlight_every_part():
    lit = {part for name in chapter_names() for part in re.findall(r'model_map\(lit="(\w+)"\)', text_of(name))}
    assert lit == set(model_map.PARTS)


def test_chapter_9_highlights_the_parts_that_its_sentence_names():
    lit = re.findall(r"font: 600 [^>]*>([^<]+)</text>", figures.model_map(lit="training").svg)
    assert set(lit) == {"loss", "smoothed next word", "schedule, Adam", "new parameters"}
    chapter = (ROOT / "chapters" / "09_training.md").read_text(encoding="utf-8")
    (sentence,) = re.findall(r"^The lit parts surround the model\. (.*?)\n\n", chapter, re.DOTALL | re.MULTILINE)
    assert all(word in sentence for part in lit for word in re.findall(r"\w+", part) if word not in ("next", "word"))


def test_the_name_of_a_highlighted_block_fits_its_box_in_a_wide_font():
    """A notebook uses the machine's font. DejaVu Sans is among the widest."""
    elements = model_map.draw_model("cross", figures.BLUE)[0]
    (start,) = re.findall(r'<text x="([\d.]+)"[^>]*>cross-attention<', elements)
    wide = TextPath((0, 0), "cross-attention", size=12.5, prop=FontProperties(family="DejaVu Sans", weight="bold"))
    assert float(start) + wide.get_extents().x1 <= model_map.DECODER + model_map.BOX / 2 - 5


def test_an_unknown_part_is_refused():
    with pytest.raises(ValueError, match=f"no part of the model is called 'encoder'; .*{', '.join(model_map.PARTS)}"):
        figures.model_map(lit="encoder")
