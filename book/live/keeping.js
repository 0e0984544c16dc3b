/* A page that was used works without a network. */

import { address, config, here } from "./page_data.js";

/** From the first use on, a service worker keeps what a visited page needs, so that it works without a network. */
export async function keepForLater() {
  if (!navigator.serviceWorker || keepForLater.done) return;
  keepForLater.done = true;
  try {
    await navigator.serviceWorker.register(address(`${config.root}live-offline.js`));
    const { active } = await navigator.serviceWorker.ready;
    const loaded = performance.getEntriesByType("resource").map(({ name }) => name.split("#")[0]);
    const own = ["worker.js", "own.py", "session.py", ...config.python.map((name) => `pyodide/${name}`)];
    const scripts = own.map((path) => new URL(path, here).href);
    const page = [location.href.split("#")[0], address(config.bundle), address(config.notebook)];
    const addresses = [...new Set([...page, ...scripts, ...loaded])];
    active.postMessage({ addresses, folder: here.pathname.split("/").at(-2) });
  } catch {
    // Some private windows allow none; the page works all the same.
  }
}
