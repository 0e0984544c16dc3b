/* Compiles in Pyodide: node compile.mjs PYODIDE PROJECT OUT

   PYODIDE: folder with Pyodide, its lock file and NumPy's wheel. PROJECT: folder that contains `check`. OUT: folder for
   the bytecode. */
import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";

const [pyodide, project, out] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${pyodide}/pyodide.mjs`));
// A traceback marks no columns in these modules, so their bytecode need not say where they are.
const env = { PYTHONNODEBUGRANGES: "1" };
const python = await loadPyodide({ indexURL: `${pyodide}/`, packages: ["numpy"], env });
python.mountNodeFS("/project", project);
python.mountNodeFS("/out", out);
python.runPython(await readFile(new URL("compile_imported.py", import.meta.url), "utf-8"));
