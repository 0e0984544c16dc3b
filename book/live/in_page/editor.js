/* A field for Python code. CodeMirror takes the place of a plain textarea when the reader scrolls near it. */

import { Textarea } from "./textarea.js";

const NEAR = "800px"; // from the screen
const LITTLE_MEMORY = 1; // gigabytes

let Field = Textarea; // the kind of new editors
let loading;
const editors = new WeakMap();

/** Loads CodeMirror once. Where it does not load, the textareas remain. */
function loadCodeMirror() {
  loading ??= import("./code_field.js").then(
    ({ CodeField }) => { Field = CodeField; },
    () => {},
  );
  return loading;
}

const observer = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    observer.unobserve(target);
    loadCodeMirror().then(() => editors.get(target).replaceTextarea());
  }
}, { rootMargin: NEAR });

export class Editor {
  /** @param {{label: string, help: string, source: string, changed: Function, run: Function, scope: Function}} options
      help: id of the element that describes the keys; changed: called after the reader has changed the text; scope:
      returns the sources that run before this one. */
  constructor(options) {
    this.options = options;
    this.element = document.createElement("div");
    this.element.className = "live-editor";
    this.field = new Field(options);
    this.element.append(this.field.element);
    if (this.field instanceof Textarea && !(navigator.deviceMemory <= LITTLE_MEMORY)) {
      editors.set(this.element, this);
      observer.observe(this.element);
    }
  }

  /** Replaces the textarea, with its text, selection and focus, if CodeMirror was loaded. */
  replaceTextarea() {
    const { field, focused } = this;
    if (Field === Textarea) return;
    if (field.isComposing) return void field.element.addEventListener("compositionend", () => setTimeout(() => this.replaceTextarea()), { once: true });
    this.field = new Field({ ...this.options, source: field.source, selection: field.selection });
    field.element.replaceWith(this.field.element);
    if (focused) this.focus();
  }

  get source() {
    return this.field.source;
  }

  /** Replaces the text, without a call of `changed`. In CodeMirror, one Ctrl-Z undoes it. */
  set source(text) {
    this.field.source = text;
  }

  get focused() {
    return this.element.contains(document.activeElement);
  }

  focus() {
    this.field.focus();
  }

  /** Marks the line of an error until the text changes. Without a line it removes the mark. */
  markError(line) {
    this.field.markError(line);
  }
}
