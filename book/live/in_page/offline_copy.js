/* A page that was used works without a network. */

import { address, config, here } from "./page_data.js";
import { python } from "./python.js";

let kept = "";

/** From the first use on, a service worker keeps what a visited page needs; matplotlib once it has been used. */
export async function keepForLater() {
  const scripts = ["worker.js", "own_solutions.py", "exercise_run.py"];
  if (python.hasTried) scripts.push("slicing.py", "cell_run.py");
  const packages = python.hasDrawn ? [...config.python, ...config.drawing] : config.python;
  const own = [...scripts, ...packages.map((name) => `pyodide/${name}`)];
  if (!navigator.serviceWorker || kept === own.join()) return;
  kept = own.join();
  try {
    await navigator.serviceWorker.register(address(`${config.root}live-offline.js`));
    const { active } = await navigator.serviceWorker.ready;
    const loaded = performance.getEntriesByType("resource").map(({ name }) => name.split("#")[0]);
    const page = [location.href.split("#")[0], address(config.bundle), address(config.notebook)];
    const addresses = [...new Set([...page, ...own.map((path) => new URL(path, here).href), ...loaded])];
    active.postMessage({ addresses, folder: here.pathname.split("/").at(-2) });
  } catch {
    // Some private windows allow none; the page works all the same.
  }
}
