/* The theme's scripts stop at the first error of the browser's storage, and with them the menus, the search and the theme
   button. Where the browser refuses its storage, by an error or by null, give the page one that lasts until it is closed.
   Where there is no room, let a value get lost without an error: storage.js looks for the values that it has written. */
for (const name of ["localStorage", "sessionStorage"]) {
  try {
    window[name].getItem("");
  } catch {
    const values = new Map();
    const value = {
      isStandIn: true, // so that storage.js says that nothing is stored
      get length() { return values.size; },
      key: (place) => [...values.keys()][place] ?? null,
      getItem: (key) => values.get(String(key)) ?? null,
      setItem: (key, text) => { values.set(String(key), String(text)); },
      removeItem: (key) => { values.delete(String(key)); },
      clear: () => values.clear(),
    };
    Object.defineProperty(window, name, { value, configurable: true });
  }
}
{
  const { setItem } = Storage.prototype;
  Storage.prototype.setItem = function (key, text) {
    try {
      setItem.call(this, key, text);
    } catch {} // no room
  };
}
