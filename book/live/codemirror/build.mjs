/* Write codemirror.js, its SHA-256, and the licences of the packages in it. The same lock file gives the same bytes. */

import { build } from "esbuild";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";

const BUNDLE = "codemirror.js";

const { metafile } = await build({
  entryPoints: ["entry.js"],
  outfile: BUNDLE,
  bundle: true,
  charset: "utf8",
  format: "esm",
  legalComments: "none", // they are in the file of licences
  metafile: true,
  minify: true,
  target: "es2022",
});

const inside = Object.entries(metafile.outputs[BUNDLE].inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0);
const names = inside.flatMap(([file]) => file.match(/^node_modules\/((?:@[^/]+\/)?[^/]+)/)?.[1] ?? []);
const licences = [...new Set(names)].sort().map((name) => {
  const { version, license } = JSON.parse(readFileSync(`node_modules/${name}/package.json`));
  return `${name} ${version} (${license})\n\n${readFileSync(`node_modules/${name}/LICENSE`, "utf8").trim()}\n`;
});

writeFileSync("codemirror-MIT.txt", licences.join(`\n${"-".repeat(80)}\n\n`));
writeFileSync(`${BUNDLE}.sha256`, `${createHash("sha256").update(readFileSync(BUNDLE)).digest("hex")}  ${BUNDLE}\n`);
