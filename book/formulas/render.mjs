// Read {tex, chtml, formulas: [{tex, display}]} from the input, and write {css, html}: one style sheet for all formulas,
// and the HTML of each. `tex` and `chtml` are MathJax's settings. The packages are those of the page's MathJax, but for the
// two that load more from a server. An undefined macro is an error here, not red text.
import { readFileSync } from "node:fs";

import { AssistiveMmlHandler } from "mathjax-full/js/a11y/assistive-mml.js";
import { liteAdaptor } from "mathjax-full/js/adaptors/liteAdaptor.js";
import { RegisterHTMLHandler } from "mathjax-full/js/handlers/html.js";
import { TeX } from "mathjax-full/js/input/tex.js";
import "mathjax-full/js/input/tex/ams/AmsConfiguration.js";
import "mathjax-full/js/input/tex/configmacros/ConfigMacrosConfiguration.js";
import "mathjax-full/js/input/tex/newcommand/NewcommandConfiguration.js";
import { mathjax } from "mathjax-full/js/mathjax.js";
import { CHTML } from "mathjax-full/js/output/chtml.js";

const { tex, chtml, formulas } = JSON.parse(readFileSync(0, "utf8"));
const adaptor = liteAdaptor();
AssistiveMmlHandler(RegisterHTMLHandler(adaptor));

const input = new TeX({
  packages: ["base", "ams", "newcommand", "configmacros"],
  formatError: (_, error) => { throw error; },
  ...tex,
});
const output = new CHTML({ fontURL: "mathjax/output/chtml/fonts/woff-v2", ...chtml });
const page = mathjax.document("", { InputJax: input, OutputJax: output });

// \allowbreak, which _config.yml makes a space of no width, marks where a narrow page may break a line of a displayed
// formula. The parts of the line become boxes, between which a browser breaks only if they do not fit (house.css).

const isBreak = (node) => adaptor.kind(node) === "mjx-mspace" && !adaptor.getAttribute(node, "style"); // of no width
const isSpace = (node) => adaptor.tags(node, "mjx-mspace").length && !adaptor.tags(node, "mjx-c").length;

/** Puts the parts of a line between its breaks into boxes. A space before a break has its own, and may end a line. */
function makeBoxes(line) {
  const boxes = [[]];
  for (const node of [...adaptor.childNodes(line)]) {
    if (isBreak(node)) {
      const before = boxes.at(-1);
      if (before.length > 1 && isSpace(before.at(-1))) boxes.push([before.pop()]);
      boxes.push([]);
    } else boxes.at(-1).push(node);
    adaptor.remove(node);
  }
  for (const box of boxes) adaptor.append(line, adaptor.node("mjx-part", {}, box));
  adaptor.setAttribute(line, "breaks", "");
  for (const side of ["left", "top", "bottom"]) adaptor.setStyle(line, `padding-${side}`, ""); // house.css has it
}

/** Lets a formula break where its TeX allows it, and puts half an em between the rows of an alignment. */
function prepare(formula) {
  const lines = new Set(adaptor.tags(formula, "mjx-mspace").filter(isBreak).map((node) => adaptor.parent(node)));
  for (const line of lines) {
    if (!["mjx-mtd", "mjx-math"].includes(adaptor.kind(line))) throw new Error("\\allowbreak is inside a group");
    makeBoxes(line);
    // MathJax's width of each table around the line is that without breaks.
    for (let node = line; node; node = adaptor.parent(node)) {
      if (adaptor.kind(node) === "mjx-mtable") adaptor.setStyle(node, "min-width", "");
    }
  }
  for (const cell of adaptor.tags(formula, "mjx-mtd")) {
    for (const side of ["padding-top", "padding-bottom"]) {
      if (adaptor.getStyle(cell, side) === "0.15em") adaptor.setStyle(cell, side, "0.25em");
    }
  }
  return formula;
}

const html = formulas.map(({ tex, display }) => {
  try {
    const formula = page.convert(tex, { display });
    return adaptor.outerHTML(display ? prepare(formula) : formula);
  } catch (error) {
    console.error(`MathJax cannot set this formula: ${tex}\n${error.message}`);
    process.exit(1);
  }
});
process.stdout.write(JSON.stringify({ css: adaptor.textContent(output.styleSheet(page)), html }));
