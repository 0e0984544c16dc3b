/* The looks of CodeMirror: the classes of Pygments, so that the book's colours apply, and the book's lines and fonts. */

import { EditorView, syntaxHighlighting, tagHighlighter, tags as t } from "./codemirror.js";

export const COLOURS = syntaxHighlighting(tagHighlighter([
  { tag: t.string, class: "s2" },
  { tag: t.comment, class: "c1" },
  { tag: t.keyword, class: "k" },
  { tag: [t.bool, t.null], class: "kc" },
  { tag: [t.function(t.definition(t.variableName)), t.definition(t.className)], class: "nf" },
  { tag: t.number, class: "mi" },
  { tag: t.operator, class: "o" },
]));

export const THEME = EditorView.theme({
  "&": { backgroundColor: "transparent", color: "var(--pst-color-text-base)" },
  "&.cm-focused": { outline: "none" }, // the box around it has one
  ".cm-scroller": { fontFamily: "var(--house-mono)", lineHeight: "1.55", overflowX: "auto" },
  ".cm-content.highlight": { padding: "0.7rem 0", background: "none", color: "inherit", caretColor: "currentcolor" },
  ".cm-line": { padding: "0 0.8rem 0 0.3rem" },
  ".cm-gutters": { backgroundColor: "var(--house-tint)", color: "var(--pst-color-text-muted)", border: "0", borderRight: "1px solid var(--house-line)" },
  ".cm-lineNumbers .cm-gutterElement": { minWidth: "2.3rem", padding: "0 0.4rem 0 0", fontSize: "0.9em", lineHeight: "1.722" }, // 1.55 / 0.9
  "@media (max-width: 576px)": { ".cm-lineNumbers .cm-gutterElement": { minWidth: "1.7rem" } },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "transparent", outline: "1px solid var(--house-accent)" },
  "&.cm-focused .cm-nonmatchingBracket": { backgroundColor: "transparent" },
  ".cm-tooltip": { border: "1px solid var(--pst-color-text-muted)", backgroundColor: "var(--pst-color-background)", color: "inherit" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { maxWidth: "min(26rem, 90vw)", fontFamily: "var(--house-mono)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--house-accent)", color: "var(--pst-color-background)" },
  ".cm-searchMatch": { backgroundColor: "color-mix(in srgb, var(--house-accent) 25%, transparent)" },
  ".cm-searchMatch.cm-searchMatch-selected": { backgroundColor: "transparent", outline: "2px solid var(--house-accent)" },
  ".cm-panels": { backgroundColor: "var(--house-tint)", color: "inherit", fontFamily: "var(--house-sans)" },
  ".cm-panels.cm-panels-top": { borderBottom: "1px solid var(--house-line)" },
  ".cm-panel :is(.cm-textfield, .cm-button)": { minHeight: "1.7rem", border: "1px solid var(--pst-color-text-muted)", background: "var(--pst-color-background)", color: "inherit" },
  ".cm-panel .cm-textfield::placeholder": { color: "var(--pst-color-text-muted)" },
  ".cm-panel.cm-search [name=close]": { minWidth: "1.5rem", minHeight: "1.5rem" },
});
