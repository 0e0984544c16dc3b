/* Repair Python code that was pasted from a page, a chat or a console, where Python cannot read its characters. */

const SPACES = /[\u00a0\u2000-\u200a\u202f\u3000]/g;
const INVISIBLE = /[\u200b-\u200d\u2060\ufeff]/g;
const FENCE = /^\s*```.*$/;
const PROMPT = /^\s*(?:>>>|\.\.\.)(?: |$)/;

/** Returns the code without prompts, fences and characters that only look like spaces or quotes. A console's output goes
    with the prompts. error: what Python said; we replace quotes only if it complained about one. */
export function cleaned(source, error) {
  let lines = source.replace(SPACES, " ").replace(INVISIBLE, "").split("\n").filter((line) => !FENCE.test(line));
  if (lines.some((line) => /^\s*>>>/.test(line))) lines = lines.filter((line) => PROMPT.test(line)).map((line) => line.replace(PROMPT, ""));
  const text = lines.join("\n");
  return /invalid character '[“”‘’]'/.test(error) ? text.replace(/[“”]/g, '"').replace(/[‘’]/g, "'") : text;
}
