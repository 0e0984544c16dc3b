/* What the editor of the pages needs of CodeMirror 6. `npm run build` writes it into one file, codemirror.js. */

export { acceptCompletion, autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, ifNotIn } from "@codemirror/autocomplete";
export { defaultKeymap, history, historyKeymap, indentLess, indentMore, isolateHistory } from "@codemirror/commands";
export { globalCompletion, localCompletionSource, pythonLanguage } from "@codemirror/lang-python";
export { bracketMatching, forceParsing, indentOnInput, indentService, indentUnit, LanguageSupport, syntaxHighlighting, syntaxTree } from "@codemirror/language";
export { search, searchKeymap } from "@codemirror/search";
export { Annotation, EditorState, Prec, StateEffect, StateField } from "@codemirror/state";
export { Decoration, EditorView, keymap, lineNumbers } from "@codemirror/view";
export { tagHighlighter, tags } from "@lezer/highlight";
