/* The data of the page for its scripts, and addresses. */

export const config = JSON.parse(document.getElementById("live-exercises").textContent);
export const here = new URL(".", import.meta.url);
export const address = (path) => new URL(path, document.baseURI).href;
