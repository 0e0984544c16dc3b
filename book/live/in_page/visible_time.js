/* Count how long the page is visible, for the reader's page with the progress in the whole book. */

const LONGEST = 3600; // seconds: a page that stays visible longer was probably left alone

/** Adds to the time of a chapter whenever the page becomes invisible, also when the reader leaves it. */
export function countVisibleTime(chapter) {
  const key = `time ${chapter}`;
  let since = performance.now();
  document.addEventListener("visibilitychange", () => {
    const now = performance.now();
    if (document.visibilityState === "visible") since = now;
    else {
      const seconds = Math.min(LONGEST, (now - since) / 1000);
      bookStorage.write(key, { seconds: (bookStorage.read(key).seconds ?? 0) + Math.round(seconds) });
    }
  });
}
