/* Let a page that was used work without a network. */

import { address, config, here } from "./page_data.js";
import { python } from "./python.js";

let cached = "";
let watcher; // of the files that the page loads later, such as the pictures that the reader scrolls to

/** Asks a service worker to cache what this page needs. We start after the first run, add matplotlib after the
    first figure, and add the book's functions after the reader has borrowed one. */
export async function cacheForOffline() {
  const scripts = ["worker.js", "own_solutions.py", "exercise_run.py", "rest.py", "steps.py", "progress.js", "progress_file.js"];
  if (python.hasTried) scripts.push("slicing.py", "cell_run.py");
  const packages = python.hasDrawn ? [...config.python, ...config.drawing] : config.python;
  const files = [...scripts, ...packages.map((name) => `pyodide/${name}`)];
  const lent = python.hasBorrowed ? [address(config.lent.package)] : [];
  const loaded = performance.getEntriesByType("resource").map(({ name }) => name.split("#")[0]);
  const page = [location.href.split("#")[0], ...[config.start, ...Object.values(config.data), config.notebook, config.progress].filter(Boolean).map(address)];
  const addresses = [...new Set([...page, ...files.map((path) => new URL(path, here).href), ...lent, ...loaded])];
  if (!navigator.serviceWorker || cached === addresses.join()) return;
  cached = addresses.join();
  if (!watcher) (watcher = new PerformanceObserver(cacheForOffline)).observe({ type: "resource" });
  try {
    await navigator.serviceWorker.register(address(`${config.root}live-offline.js`));
    const { active } = await navigator.serviceWorker.ready;
    active.postMessage({ addresses, folder: here.pathname.split("/").at(-2) });
  } catch {
    // Some private windows allow no service worker. The page works without it.
  }
}
