/* The one Python of a page. It takes {kind: "start", assets, bundle, drivers} once and {id, job, tried} as often as one
   likes; `tried` if the job is a cell of the book, for which matplotlib is loaded where its code needs it. It answers
   {kind: "ready"}, {kind: "loading", id}, {kind: "done", id, answer} or {kind: "broken", id, text}. */

let python, check, trying;

async function fetched(address) {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${response.status} ${address}`);
  return response;
}

const texts = (addresses) => Promise.all(addresses.map(async (address) => (await fetched(address)).text()));

/** Put modules of Python into a package of their own, where they are imported from. */
function put(addresses, sources) {
  python.FS.mkdirTree("/course/in_page");
  addresses.forEach((address, i) => python.FS.writeFile(`/course/in_page/${address.split("/").at(-1)}`, sources[i]));
}

/** A function of Python's, from a job to what can be sent. */
const withJson = (name) => python.runPython(`lambda job: json.dumps(${name}(json.loads(job)))`);

async function start({ assets, bundle, drivers }) {
  const { loadPyodide } = await import(`${assets}pyodide.mjs`);
  const [loaded, zip, sources] = await Promise.all([
    loadPyodide({ indexURL: assets, packages: ["numpy"] }),
    fetched(bundle).then((response) => response.arrayBuffer()),
    texts(drivers),
  ]);
  python = loaded;
  python.unpackArchive(zip, "zip", { extractDir: "/course" });
  put(drivers, sources);
  python.runPython("import json, os, sys; sys.path.insert(0, '/course'); os.chdir('/course'); from in_page import exercise_run");
  check = withJson("exercise_run.run");
}

async function trial(id, job) {
  if (!trying) {
    const drivers = ["slicing.py", "cell_run.py"].map((name) => new URL(name, self.location).href);
    put(drivers, await texts(drivers));
    python.runPython("import importlib; importlib.invalidate_caches(); os.environ['MPLBACKEND'] = 'svg'; from in_page import cell_run");
    trying = { draws: withJson("cell_run.draws"), run: withJson("cell_run.run") };
  }
  if (JSON.parse(trying.draws(job)) && !python.loadedPackages.matplotlib) {
    postMessage({ kind: "loading", id });
    await python.loadPackage("matplotlib", { messageCallback: () => {} });
  }
  return trying.run(job);
}

self.onmessage = async ({ data }) => {
  try {
    if (data.kind === "start") {
      await start(data);
      postMessage({ kind: "ready" });
    } else {
      const job = JSON.stringify(data.job);
      postMessage({ kind: "done", id: data.id, answer: JSON.parse(data.tried ? await trial(data.id, job) : check(job)) });
    }
  } catch (error) {
    // Python itself has broken, as by a recursion that is too deep for the browser, or could not be loaded.
    postMessage({ kind: "broken", id: data.id, text: String(error).slice(0, 500) });
  }
};
