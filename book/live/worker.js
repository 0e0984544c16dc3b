/* The one Python of a page. It takes {kind: "start", assets, bundle, drivers} once and {id, job} as often as one likes,
   and answers {kind: "ready"}, {kind: "done", id, answer} or {kind: "broken", id, text}. */

let run;

async function fetched(address) {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${response.status} ${address}`);
  return response;
}

async function start({ assets, bundle, drivers }) {
  const { loadPyodide } = await import(`${assets}pyodide.mjs`);
  const [python, zip, ...sources] = await Promise.all([
    loadPyodide({ indexURL: assets, packages: ["numpy"] }),
    fetched(bundle).then((response) => response.arrayBuffer()),
    ...drivers.map((address) => fetched(address).then((response) => response.text())),
  ]);
  python.unpackArchive(zip, "zip", { extractDir: "/course" });
  drivers.forEach((address, i) => python.FS.writeFile(`/course/${address.split("/").at(-1)}`, sources[i]));
  python.runPython("import json, os, sys; sys.path.insert(0, '/course'); os.chdir('/course'); import session");
  run = python.runPython("lambda job: json.dumps(session.run(json.loads(job)))");
}

self.onmessage = async ({ data }) => {
  try {
    if (data.kind === "start") {
      await start(data);
      postMessage({ kind: "ready" });
    } else {
      postMessage({ kind: "done", id: data.id, answer: JSON.parse(run(JSON.stringify(data.job))) });
    }
  } catch (error) {
    // Python itself has broken, as by a recursion that is too deep for the browser, or could not be loaded.
    postMessage({ kind: "broken", id: data.id, text: String(error).slice(0, 500) });
  }
};
