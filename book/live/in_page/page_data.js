/* What the page says of itself to its scripts, and where things are. */

export const config = JSON.parse(document.getElementById("live-exercises").textContent);
export const here = new URL(".", import.meta.url);
export const address = (path) => new URL(path, document.baseURI).href;
