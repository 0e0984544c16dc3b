/* The service worker of the book: a page on which the reader ran code can be read and used without a network. */

"use strict";

const BOOK = registration.scope; // where the book begins; other books may be on the same server
const SHARED = "book"; // earlier versions of all books on a server used one cache
const CACHE = `book ${new URL(BOOK).pathname}`;
const IMMUTABLE = "/_static/live/"; // the names in this folder contain a hash
const HASHES = {}; // the build writes the path of each file of the book and its SHA-256 here

addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(Promise.all([clients.claim(), leaveShared()])));

/** Deletes the files of this book from the cache that all books shared. */
async function leaveShared() {
  if (!(await caches.has(SHARED))) return;
  const cache = await caches.open(SHARED);
  for (const { url } of await cache.keys()) if (url.startsWith(BOOK)) await cache.delete(url);
}

/** A page sends the addresses that it needs, and the folder of its scripts. */
addEventListener("message", ({ data: { addresses, folder } }) => store(addresses, folder));

/** Adds files to the cache, and deletes those of other builds of this book. */
async function store(addresses, folder) {
  const cache = await caches.open(CACHE);
  for (const { url } of await cache.keys()) {
    const [, name, within] = url.split(IMMUTABLE)[1]?.match(/^(\w+)(\/)/) ?? [];
    if (within && name !== folder) await cache.delete(url);
  }
  const wanted = addresses.filter((address) => address.startsWith(BOOK));
  const keepIt = async (url) => (await isOfThisBuild(url, await cache.match(url))) || keep(cache, url, await fetch(url));
  await Promise.allSettled(wanted.map(keepIt));
}

/** Whether a response from the cache has the bytes that the build wrote: every script on this server can write into the
    cache. The browser takes this service worker, and so the hashes, from the network only. */
async function isOfThisBuild(url, response) {
  if (!response) return false;
  const path = decodeURI(new URL(url).pathname.slice(new URL(BOOK).pathname.length));
  const digest = await crypto.subtle.digest("SHA-256", await response.clone().arrayBuffer());
  const hash = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hash === HASHES[path.replace(/(^|\/)$/, "$1index.html")];
}

/** Stores a response of the network, unless it is an error or the server forbids storing it. Its bytes need no check
    here: code in the page can choose what to request, but not what the server answers, and nothing is served from the
    cache before `isOfThisBuild` has checked it. */
async function keep(cache, request, response) {
  const allowed = !/no-store/i.test(response.headers.get("cache-control") ?? "");
  if (response.status === 200 && allowed) await cache.put(request, response.clone());
}

addEventListener("fetch", (event) => {
  const { method, url } = event.request;
  if (method === "GET" && url.startsWith(BOOK)) event.respondWith(answer(event.request));
});

/** Answers from the cache if the file cannot change. Otherwise it answers from the network, or from the cache if there
    is no network. It renews what a page asked us to store, and stores nothing else: a book at the root of a server would
    otherwise keep pages of other applications. */
async function answer(request) {
  const cache = await caches.open(CACHE);
  const cached = await cache.match(request);
  const isRight = await isOfThisBuild(request.url, cached);
  if (isRight && request.url.includes(IMMUTABLE)) return cached;
  try {
    const response = await fetch(request);
    if (cached) await keep(cache, request, response);
    return response;
  } catch (error) {
    if (isRight) return cached;
    throw error;
  }
}
