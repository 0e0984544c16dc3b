/* The service worker of a book that was used: a page once visited can be read and worked in without a network. */

"use strict";

const KEPT = "book";
const NEVER_CHANGES = "/_static/live/"; // names below it hold a hash

addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(clients.claim()));

/** A page tells what it needs, once it has been used, and in which folder its scripts are. */
addEventListener("message", ({ data: { addresses, folder } }) => keep(addresses, folder));

async function keep(addresses, folder) {
  const cache = await caches.open(KEPT);
  for (const { url } of await cache.keys()) {
    const [, name, within] = url.split(NEVER_CHANGES)[1]?.match(/^(\w+)(\/)/) ?? [];
    if (within && name !== folder) await cache.delete(url);
  }
  await Promise.allSettled(addresses.map(async (address) => (await cache.match(address)) ?? cache.add(address)));
}

addEventListener("fetch", (event) => {
  const { method, url } = event.request;
  if (method === "GET" && new URL(url).origin === location.origin) event.respondWith(answer(event.request));
});

/** What never changes comes from the cache; all else from the network, and from the cache where there is none. */
async function answer(request) {
  const cache = await caches.open(KEPT);
  const kept = await cache.match(request);
  if (kept && request.url.includes(NEVER_CHANGES)) return kept;
  try {
    const response = await fetch(request);
    if (response.status === 200) await cache.put(request, response.clone());
    return response;
  } catch (error) {
    if (kept) return kept;
    throw error;
  }
}
