/* Let a reader report what a check says about their code. */

import { make } from "./elements.js";
import { config } from "./page_data.js";

const CODE_LIMIT = 1000; // characters: some mail programs cut an address after 2,000

/** Returns a fold with the link of a report, or nothing if the book has no address for reports.
    @param {{name: string, report: string, message: string, source: string}} about
    report: lines without the reader's code; message: what the check says, which may quote the code. */
export function offerToReport({ name, report, message, source }) {
  if (!config.report || !report) return [];
  const box = make("input", { type: "checkbox" });
  const link = make("a", {}, "Report it");
  const show = () => { link.href = address(name, box.checked ? `${report}\n\n${message}\n\n${shortened(source)}` : report); };
  box.addEventListener("change", show);
  show();
  const label = make("label", {}, box, " Add my code and the whole message");
  return [make("details", { className: "live-report" }, make("summary", {}, "Is this explanation wrong?"), make("p", {}, label), make("p", {}, link))];
}

function address(name, about) {
  const { template, version, question } = config.report;
  const texts = { subject: `${name}, version ${version}`, body: `${about}\nVersion: ${version}\n\n${question}\n` };
  return template.replace(/\{(subject|body)\}/g, (_, key) => encodeURIComponent(texts[key]));
}

const shortened = (source) => (source.length > CODE_LIMIT ? `${source.slice(0, CODE_LIMIT)}\n… (the rest is too long for a link)` : source);
