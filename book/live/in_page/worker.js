/* The worker of a page, with the page's one Python.

   It takes {kind: "start", assets, chapter, data, drivers, cache, patience} once, and then any number of {id, job, tried, lent}. With `tried` the
   job is a cell of the book, for which the worker loads matplotlib if the code needs it. With `lent`, an address, the job
   uses functions of the book's, which the worker loads from there. It answers {kind: "arrived", bytes} while it loads
   files, {kind: "missing", text} if a file cannot be loaded, {kind: "ready"}, {kind: "loading", id} and {kind: "loaded", id}
   around the loading of matplotlib, {kind: "step", step} during a training, {kind: "done", id, answer} or
   {kind: "broken", id, text}. */

/* Python code can call what JavaScript offers here, and readers paste code that they have not read. Without these names
   it cannot change the files that the service worker will serve on the next visit, nor start a worker that could. */
for (let part = self; part; part = Object.getPrototypeOf(part)) {
  for (const name of ["caches", "indexedDB", "Worker", "SharedWorker"]) Reflect.deleteProperty(part, name);
}

const fetchFile = self.fetch;
self.fetch = fetchAndReport; // Pyodide calls it too
let loading = 0; // files that have not arrived completely
let silence = 0; // seconds since the last byte

/** Reports files that have been silent for this many seconds. We count them here and not in the page, because here
    the count stops while Python is compiled, which takes long on a slow machine. */
function reportSilence(patience) {
  setInterval(() => {
    silence = loading ? silence + 1 : 0;
    if (silence === patience) postMessage({ kind: "missing", text: `nothing has arrived for ${patience} seconds` });
  }, 1000);
}

/** Fetches a file, and reports each part that arrives. It also reports a file that does not come, because Pyodide would
    wait for it forever. The browser stores the compiled form of a response from the network only, so we read a copy. */
async function fetchAndReport(request, options) {
  const address = String(request.url ?? request);
  const failed = (error) => {
    reportMissing(address, NO_CONNECTION);
    throw error;
  };
  loading++;
  const response = await fetchFile(request, { ...options, cache }).catch(failed);
  if (!response.ok) reportMissing(address, answersWith(response));
  reportParts(response.clone().body?.getReader()).catch(failed);
  return response;
}

const NO_CONNECTION = "the connection to the server of the book failed";
const answersWith = ({ status }) => `the server of the book answers with the error ${status}`;

/** Reports a file that cannot be loaded. The page then ends this worker. */
function reportMissing(address, reason) {
  postMessage({ kind: "missing", text: `${address.split("/").at(-1)}: ${reason}` });
}

/** Returns the bytes of a file that Python needs at once, because it cannot wait for a promise. */
function fetchNow(address) {
  const request = new XMLHttpRequest();
  request.open("GET", address, false);
  request.responseType = "arraybuffer";
  try {
    request.send();
  } catch {} // the status is then 0
  if (request.status === 200 && !isCut(request)) return request.response;
  reportMissing(address, request.status > 200 ? answersWith(request) : NO_CONNECTION);
  throw new Error(`${request.status} ${address}`);
}

/** When the connection breaks, Firefox takes the bytes that have arrived for the whole file. */
function isCut(request) {
  const encoded = request.getResponseHeader("Content-Encoding");
  return !encoded && request.response.byteLength < Number(request.getResponseHeader("Content-Length"));
}

async function reportParts(reader) {
  for (let part; reader && !(part = await reader.read()).done; ) {
    silence = 0;
    postMessage({ kind: "arrived", bytes: part.value.length });
  }
  loading--;
}

let python, check, tryCell, lentFrom, cache;

async function load(address) {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${response.status} ${address}`);
  return response;
}

const texts = (addresses) => Promise.all(addresses.map(async (address) => (await load(address)).text()));

/** Writes Python modules into a package, from which Python imports them. */
function writeModules(addresses, sources) {
  python.FS.mkdirTree("/course/in_page");
  addresses.forEach((address, i) => python.FS.writeFile(`/course/in_page/${address.split("/").at(-1)}`, sources[i]));
}

/** Makes a file whose bytes are loaded when Python opens it for the first time. */
function mount(path, address) {
  python.FS.mkdirTree(path.slice(0, path.lastIndexOf("/")));
  python.FS.writeFile(path, "");
  const { node } = python.FS.lookupPath(path);
  const { stream_ops } = node;
  const open = () => {
    const bytes = new Uint8Array(fetchNow(address));
    node.stream_ops = stream_ops;
    python.FS.writeFile(path, bytes, { canOwn: true });
  };
  node.stream_ops = { ...stream_ops, open };
}

/** Returns a function that calls a Python function with JSON, and returns the JSON of its answer. */
const withJson = (name) => python.runPython(`lambda job: json.dumps(${name}(json.loads(job)))`);

async function start({ assets, chapter, data, drivers }) {
  const { loadPyodide } = await import(`${assets}pyodide.mjs`);
  const [loaded, zip, sources] = await Promise.all([
    loadPyodide({ indexURL: assets, packages: ["numpy"] }),
    load(chapter).then((response) => response.arrayBuffer()),
    texts(drivers),
  ]);
  python = loaded;
  python.unpackArchive(zip, "zip", { extractDir: "/course" });
  writeModules(drivers, sources);
  Object.entries(data).forEach(([path, address]) => mount(`/course/${path}`, address));
  mount("/course/in_page/rest.zip", `${assets}rest.zip`);
  python.runPython("import json, os, sys; sys.path.insert(0, '/course'); os.chdir('/course'); from in_page import exercise_run, rest");
  python.runPython("rest.install()");
  check = withJson("exercise_run.run");
  python.pyimport("in_page.steps").watch((step) => postMessage({ kind: "step", step }));
}

async function loadLent(address) {
  if (!address || address === lentFrom) return;
  python.unpackArchive(await (await load(address)).arrayBuffer(), "zip", { extractDir: "/course" });
  python.runPython("import importlib; importlib.invalidate_caches()");
  lentFrom = address;
}

async function runCell(id, job) {
  if (!tryCell) {
    const drivers = ["slicing.py", "cell_run.py"].map((name) => new URL(name, self.location).href);
    writeModules(drivers, await texts(drivers));
    python.runPython("import importlib; importlib.invalidate_caches(); os.environ['MPLBACKEND'] = 'svg'; from in_page import cell_run");
    tryCell = { draws: withJson("cell_run.draws"), run: withJson("cell_run.run") };
  }
  if (JSON.parse(tryCell.draws(job)) && !python.loadedPackages.matplotlib) {
    postMessage({ kind: "loading", id });
    await python.loadPackage("matplotlib", { messageCallback: () => {} });
    postMessage({ kind: "loaded", id });
  }
  return tryCell.run(job);
}

self.onmessage = async ({ data }) => {
  try {
    if (data.kind === "start") {
      ({ cache } = data); // "reload" if files could not be loaded before
      reportSilence(data.patience);
      await start(data);
      postMessage({ kind: "ready" });
    } else {
      await loadLent(data.lent);
      const job = JSON.stringify(data.job);
      const answer = data.tried ? await runCell(data.id, job) : check(job);
      postMessage({ kind: "done", id: data.id, answer: JSON.parse(answer) });
    }
  } catch (error) {
    // Python could not be loaded, or it broke, for example by a recursion that is too deep for the browser.
    postMessage({ kind: "broken", id: data.id, text: String(error).slice(0, 500) });
  }
};
