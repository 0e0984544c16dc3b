/* What the editor suggests while the reader types: names in scope, and what NumPy and math contain. */

import { autocompletion, globalCompletion, ifNotIn, localCompletionSource, pythonLanguage } from "./codemirror.js";
import { members } from "./members.js";

const NO_CODE = ["String", "FormatString", "Comment"];
const NAME = /(?<![.\p{L}\w])[\p{L}_][\p{L}\w]*/u;
const DELAY = 100; // milliseconds after a key

/** Returns the extension. scope: returns the sources that run before the editor's.
    It has one source of suggestions. With several, CodeMirror ignores Tab while it queries one of them again. */
export function completion(scope) {
  const source = ifNotIn(NO_CODE, (context) => member(context) ?? name(context, scope));
  return autocompletion({ defaultKeymap: false, override: [source], icons: false, activateOnTypingDelay: DELAY });
}

/** Suggests names of this text, names that the sources define, and Python's own names and keywords. */
function name(context, scope) {
  const word = context.matchBefore(NAME);
  if (!word && !context.explicit) return null;
  const labels = new Set([
    ...labelsOf(localCompletionSource(context)),
    ...scope().flatMap(definedNames),
    ...labelsOf(globalCompletion(context)),
  ]);
  return { from: word?.from ?? context.pos, options: [...labels].map((label) => ({ label })), validFor: /^[\p{L}\w]*$/u };
}

/** Returns what CodeMirror suggests, without templates for whole statements. */
function labelsOf(result) {
  return (result?.options ?? []).filter(({ apply }) => !apply).map(({ label }) => label);
}

/** Suggests what a module contains, after its name and a dot. */
function member(context) {
  const dotted = context.matchBefore(/(?<![.\w])(?:np|math)(?:\.\w+)*\.\w*/);
  if (!dotted) return null;
  const dot = dotted.text.lastIndexOf(".");
  const names = members[dotted.text.slice(0, dot)] ?? [];
  return { from: dotted.from + dot + 1, options: names.map((label) => ({ label })), validFor: /^\w*$/ };
}

/** Returns the names that the statements of a source define, without those inside their blocks. */
export function definedNames(source) {
  const names = [];
  for (let node = pythonLanguage.parser.parse(source).topNode.firstChild; node; node = node.nextSibling) {
    names.push(...defined(node).map(({ from, to }) => source.slice(from, to)));
  }
  return names;
}

/** Returns the nodes of the names that a statement defines. */
function defined(node) {
  if (node.name === "DecoratedStatement") return defined(node.lastChild);
  if (["FunctionDefinition", "ClassDefinition"].includes(node.name)) return node.getChildren("VariableName").slice(0, 1);
  if (node.name === "AssignStatement") return node.getChildren("VariableName", null, "AssignOp");
  if (node.name !== "ImportStatement") return [];
  return node.getChildren("VariableName", "import").filter(({ nextSibling }) => nextSibling?.name !== "as" && nextSibling?.name !== ".");
}
