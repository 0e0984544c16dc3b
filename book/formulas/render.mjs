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

const html = formulas.map(({ tex, display }) => {
  try {
    return adaptor.outerHTML(page.convert(tex, { display }));
  } catch (error) {
    console.error(`MathJax cannot set this formula: ${tex}\n${error.message}`);
    process.exit(1);
  }
});
process.stdout.write(JSON.stringify({ css: adaptor.textContent(output.styleSheet(page)), html }));
