"""HTML that Python code makes: nothing in it leaves its box, and everything that the book shows stays as it is."""

import hashlib
import json

import pytest

from book.live.built_files import IN_PAGE
from book.serve import serving
from tests.book.live.conftest import opened_by_new_reader
from tests.choosing import thinned

pytestmark = pytest.mark.book

# Each trick does harm that names its number, §: a script reports it, or the browser requests an address with it.
HARM, AT = "reached.push(§)", "/harm-§"
REFRESH = f"<meta http-equiv=refresh content='0;url={AT}'>"
TRICKS = (
    # They send the reader elsewhere.
    *(REFRESH, REFRESH.upper().replace("/HARM-", "/harm-"), f"<div>{REFRESH}</div>", f"<table>{REFRESH}</table>"),
    *(f"<svg><foreignObject>{REFRESH}</foreignObject></svg>", f"<math><mtext>{REFRESH}</mtext></math>"),
    *(f"<svg><desc>{REFRESH}</desc></svg>", f"<details open><summary>x</summary>{REFRESH}</details>"),
    *(f"<form action={AT}><button>Run</button></form>", f"<button formaction={AT}>Run</button>", "<base href=//§/>"),
    f"<a target=_top href={AT}>x</a>",
    # They run a script.
    *(f"<script>{HARM}</script>", f"<script src={AT}></script>", f"<svg><script>{HARM}</script></svg>"),
    *(f"<img src=x onerror={HARM}>", f"<svg onload={HARM}></svg>", f"<details open ontoggle={HARM}>x</details>"),
    *(f"<b onclick={HARM}>x</b>", f"<input autofocus onfocus={HARM}>", f"<video><source onerror={HARM}></video>"),
    *(f"<a href=javascript:{HARM}>x</a>", f"<a href=' java&#10;Script:{HARM}'>x</a>"),
    f"<a href=&#1;javascript:{HARM}>x</a>",
    *(f"<svg><a href=javascript:{HARM}><text>x</text></a></svg>", f"<math href=javascript:{HARM}>x</math>"),
    *(f"<svg><a xlink:href=javascript:{HARM}><text>x</text></a></svg>", f"<area href=javascript:{HARM}>"),
    f"<svg><a href=#><animate attributeName=href values=javascript:{HARM} /><text>x</text></a></svg>",
    f"<svg><a href=#><set attributeName=href to=javascript:{HARM} /><text>x</text></a></svg>",
    f"<svg><use href='data:image/svg+xml,<svg id=x xmlns=http://www.w3.org/2000/svg onload={HARM} />#x' /></svg>",
    *(f"<iframe src={AT}></iframe>", f"<iframe srcdoc='<script>parent.{HARM}</script>'></iframe>"),
    *(f"<iframe src=javascript:parent.{HARM}></iframe>", f"<object data={AT}></object>", f"<embed src={AT}>"),
    *(f"<a href='data:text/html,<script>opener.{HARM}</script>'>x</a>", "<a href=data:text/html,x>x</a>"),
    # They load something, which tells another machine who reads.
    *(f"<img src={AT}>", f"<img srcset='{AT} 1x'>", f"<picture><source srcset={AT}><img></picture>"),
    *(f"<svg><image href={AT} width=9 height=9 /></svg>", f"<svg><image xlink:href={AT} width=9 height=9 /></svg>"),
    *(f"<svg><use href='{AT}#x' /></svg>", f"<svg><rect width=9 height=9 clip-path='url({AT}#x)' /></svg>"),
    f"<svg><rect width=9 height=9 fill='\\75rl({AT}#x)' mask='url({AT}#x)' filter='url({AT}#x)' /></svg>",
    f"<svg><filter id=f><feImage href={AT} /></filter><rect width=9 height=9 filter='url(#f)' /></svg>",
    *(f"<link rel=stylesheet href={AT}>", f"<link rel=prefetch href={AT}>", f"<style>@import '{AT}'</style>"),
    *(f"<video poster={AT}></video>", f"<audio src={AT} preload=auto></audio>", f"<input type=image src={AT}>"),
    *(f"<table background={AT}><tr><td>x</table>", f"<p style='background: url({AT})'>x</p>"),
    *(f"<p style='background-image: \\75rl({AT})'>x</p>", f"<p style='background: image-set(\"{AT}\" 1x)'>x</p>"),
    f"<p style='--x: url({AT}); background: var(--x)'>x</p>",
    f"<p style='border: 9px solid; border-image: url({AT}) 9'>x</p>",
    f"<ul><li style='list-style-image: url({AT})'>x</ul>",
    f"<a ping={AT} href=#>x</a>",
    # They cover the page or pretend to be part of it.
    *("<div style='position: fixed; inset: 0'>x</div>", "<p style='position: absolute; top: -900px'>x</p>"),
    *("<p style='transform: translateY(-900px)'>x</p>", "<div class='bd-header sticky-top'>x</div>"),
    *("<dialog open>x</dialog>", "<div popover>x</div>", "<style>article {visibility: hidden}</style>"),
    *("<label>Password <input type=password></label>", "<textarea>x</textarea>", "<p role=alert>x</p>"),
    *("<svg width=1 overflow=visible><path d='M -9e3 0 H 9e3' /></svg>", "<svg transform='translate(0 -900)'></svg>"),
    *("<p aria-live=assertive>x</p>", "<p aria-owns=live-softmax>x</p>", "<p tabindex=1>x</p>", "<header>x</header>"),
    # The page's scripts would find them instead of its own elements.
    *("<p id=live-exercises>{}</p>", "<a id=bookStorage href=#>x</a>", "<form id=MathJax><input name=startup></form>"),
    "<img name=bookStorage>",
    # A parser that reads them a second time, or a script that walks through them, may find something else.
    f"<noscript><p title='</noscript><img src={AT} onerror={HARM}>'></noscript>",
    f"<svg><p><style><a title='</style><img src={AT} onerror={HARM}>'>",
    f"<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src={AT} onerror={HARM}&gt;'>",
    f"<form><math><mtext></form><form><mglyph><style></math><img src={AT} onerror={HARM}>",
    f"<form><input name=attributes><input name=childNodes><input name=remove><img src={AT} onerror={HARM}></form>",
    f"<div><template shadowrootmode=open><img src={AT} onerror={HARM}></template></div>",
    *(f"<!--><img src={AT} onerror={HARM}>-->", f"<title><img src={AT} onerror={HARM}></title>"),
    f"<x-own is=x onclick={HARM}><img src={AT}></x-own>",
)
NODES_OF = """import(new URL("safe_html.js", document.querySelector("script[src$='start.js']").src))
  .then(({ nodesOf }) => { window.nodesOf = nodesOf; window.reached = []; return 1; })"""
# Put what a trick becomes into the page, touch it, and return what it should not have.
TRY = """((trick) => {
  const WRONG = /^(on|popover|ping|background|aria-(live|owns)|tabindex)/;
  const box = document.createElement("div");
  document.querySelector("article").append(box);
  box.append(...nodesOf(trick));
  const found = [...box.querySelectorAll("*")].flatMap((element) => {
    const { overflow, position, transform } = getComputedStyle(element);
    const names = element.getAttributeNames().filter((name) => WRONG.test(name));
    if (["fixed", "absolute", "sticky"].includes(position) || !["none", ""].includes(transform)) names.push("style");
    if (element.localName === "svg" && overflow === "visible") names.push("overflow");
    if (element.id && !element.id.startsWith("shown-")) names.push("id");
    if (element.name || element.role === "alert" || element.target === "_top") names.push("attribute");
    if (element.className.length) names.push("class");
    if (/^data:text/.test(element.href)) names.push("href");
    return names;
  });
  const never = `meta, base, link, style, script, template, form, button, input, textarea, dialog, object, iframe,
    header`;
  found.push(...[...box.querySelectorAll(never)].map(({ localName }) => localName));
  for (const element of box.querySelectorAll("a, b, text, x-own")) {
    if (!/^http/.test(element.href)) element.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  }
  return found;
})"""
LATER = "new Promise((then) => setTimeout(() => then(reached), 100))"  # a script in a link runs in a later task
KEPT = (
    '<div class="verdict verdict-fail" style="border-left: 4px solid rgb(1, 2, 3); margin: 0.5em 0px;"><strong>✗'
    '</strong> <p style="margin: 0.4em 0px;"><em>a</em> “<a href="02_backward.html#x" target="_blank">c</a>”</p></div>',
    "<details><summary>x</summary><pre>y\n z</pre></details>",
    '<table class="table"><thead><tr><th scope="col">x</th></tr></thead><tbody><tr><td>y</td></tr></tbody></table>',
    '<a download="weights.npz" href="data:application/x-npz;base64,UEsDBA==">Download weights.npz</a>',
    '<img src="data:image/png;base64,iVBORw0KGgo=" alt="x">',
    '<svg role="img" aria-label="x: y" viewBox="0 0 9 9" width="9"><defs><path id="shown-m" d="M 0 0 L 9 9"></path>'
    '<clipPath id="shown-c"><rect width="9" height="9"></rect></clipPath></defs>'
    '<g clip-path="url(#shown-c)" transform="scale(2)"><use xlink:href="#shown-m" '
    'style="fill: currentcolor;"></use><text x="1" dy="2">y</text></g></svg>',
)
# Return what the copies of a page's outputs lack, apart from the beginning of their ids.
LACKING = """fetch(location.href).then((response) => response.text()).then((text) => {
  const page = new DOMParser().parseFromString(text, "text/html");
  const names = (element) => element.getAttributeNames().filter((name) => !/^(xmlns|style)/.test(name));
  const value = (element, name) => `${name}=${element.getAttribute(name).trim()}`; // spaces at its ends mean nothing
  const described = (root) => [...root.querySelectorAll("*")].map((element) => [
    element.localName, element.style?.cssText, ...names(element).map((name) => value(element, name)),
    element.childElementCount ? "" : element.textContent].join(" ").replaceAll("shown-", ""));
  const outputs = [...page.querySelectorAll(".output.text_html")];
  const lacking = outputs.flatMap((output) => {
    const copy = document.createElement("div");
    copy.append(...nodesOf(output.innerHTML));
    const copied = new Set(described(copy));
    return described(output).filter((element) => !copied.has(element));
  });
  return [outputs.length, lacking.slice(0, 9)];
})"""

DOMPURIFY = "5e8c53cd086a012531fc754ee6a7ad7a02e8a06fc4dadd805b912e128c3f6c58"  # npm's dompurify, dist/purify.es.mjs


def test_dompurify_is_the_file_of_its_authors():
    assert hashlib.sha256((IN_PAGE / "purify.es.mjs").read_bytes()).hexdigest() == DOMPURIFY


@pytest.fixture
def page_with_nodes(without_python, browser, site):
    page = opened_by_new_reader(browser, site)
    browser.evaluate(NODES_OF)
    return page


def test_no_trick_in_html_reaches_beyond_its_box(page_with_nodes, browser):
    assert len(TRICKS) >= 40
    address = browser.evaluate("location.href")
    tricks = [trick.replace("§", str(number)) for number, trick in enumerate(TRICKS)]
    found = {trick: names for trick in tricks if (names := browser.evaluate(f"{TRY}({json.dumps(trick)})"))}
    assert found == {}
    assert [tricks[number] for number in browser.evaluate(LATER)] == []
    assert [url for url in browser.requested_urls() if "harm-" in url] == []
    assert browser.evaluate("[location.href, document.baseURI]") == [address, address]


@pytest.mark.parametrize("html", KEPT)
def test_what_python_shows_in_the_book_s_way_stays_as_it_is(page_with_nodes, browser, html):
    shown = f"(box => {{ box.append(...nodesOf({json.dumps(html.replace('shown-', ''))})); return box.innerHTML; }})"
    assert browser.evaluate(f"{shown}(document.createElement('div'))") == html


@pytest.mark.parametrize("chapter", thinned(["01_attention", "06_position"], ["06_position"], "the same in chapter 1"))
def test_every_output_of_the_book_can_be_shown_again(html, browser, chapter):
    with serving(html) as address:
        browser.open(f"{address}/chapters/{chapter}.html")
        browser.evaluate(NODES_OF)
        count, lacking = browser.evaluate(LACKING)
    shown = (html / f"chapters/{chapter}.html").read_text().count('class="output text_html"')
    assert lacking == [] and count == shown > 0
