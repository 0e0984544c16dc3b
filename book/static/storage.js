/* Store what the reader does, in this browser only. Each key begins with the path of the book, so that two books on one
   server, or two versions of one book, do not mix. If there is no storage, as in some private windows, or no room in
   it, values last until the page is closed. */

"use strict";

window.bookStorage = (() => {
  const prefix = `${new URL(document.documentElement.dataset.content_root, document.baseURI).pathname} `;
  const TAKEN_OVER = `${prefix}taken over`;
  const OF_EARLIER_VERSIONS = /^(?:exercise|cells|question) /; // their keys had no path
  const memory = new Map(); // key -> JSON of a value that the browser has not stored
  let isOpen = false;

  /** Returns the browser's storage. The first call copies what earlier versions of the book have stored. The original
      stays, because another book on this server may have stored it. */
  function opened() {
    if (localStorage.isStandIn) throw new Error("the browser refuses its storage"); // see templates/storage_stand_in.js
    if (!isOpen && localStorage.getItem(TAKEN_OVER) === null) {
      for (const key of Object.keys(localStorage).filter((name) => OF_EARLIER_VERSIONS.test(name))) {
        if (localStorage.getItem(prefix + key) === null) localStorage.setItem(prefix + key, localStorage.getItem(key));
      }
      localStorage.setItem(TAKEN_OVER, "yes");
    }
    isOpen = true;
    return localStorage;
  }

  /** Returns the value of a key, an object; {} if there is none. */
  function read(key) {
    if (memory.has(key)) return JSON.parse(memory.get(key));
    try {
      return JSON.parse(opened().getItem(prefix + key)) ?? {};
    } catch {
      return {};
    }
  }

  function write(key, value) {
    const text = JSON.stringify(value);
    try {
      opened().setItem(prefix + key, text);
      if (opened().getItem(prefix + key) !== text) throw new Error("no room"); // see templates/storage_stand_in.js
      memory.delete(key);
    } catch {
      memory.set(key, text);
    }
  }

  function remove(key) {
    memory.delete(key);
    try {
      opened().removeItem(prefix + key);
    } catch {} // there is no storage
  }

  /** Returns key -> value of everything that this book has stored. */
  function all() {
    const keys = new Set(memory.keys());
    try {
      for (const key of Object.keys(opened())) if (key.startsWith(prefix) && key !== TAKEN_OVER) keys.add(key.slice(prefix.length));
    } catch {} // there is no storage
    return Object.fromEntries([...keys].map((key) => [key, read(key)]));
  }

  /** Returns whether the values are there after the page is closed. */
  function isStored() {
    try {
      opened();
    } catch {
      return false;
    }
    return memory.size === 0;
  }

  /** Calls `changed(keys)` when other tabs may have changed these values of this book. A page to which the reader
      goes back has received no events meanwhile. */
  function onOtherTab(changed) {
    addEventListener("storage", ({ key }) => {
      if (!key?.startsWith(prefix)) return;
      memory.delete(key.slice(prefix.length)); // the other tab's value is newer
      changed([key.slice(prefix.length)]);
    });
    addEventListener("pageshow", ({ persisted }) => {
      if (persisted) changed(Object.keys(all()));
    });
  }

  return { read, write, remove, all, isStored, onOtherTab };
})();
