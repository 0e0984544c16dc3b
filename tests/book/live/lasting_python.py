"""Python that stays when a test opens a page, because its start takes most of a test's processor time.

A second tab runs the workers. The pages that a test opens get a class `Worker` which sends its messages there. A page
that starts Python in the same way as an earlier page gets the same worker. If the reader of the earlier page left while
Python was running code, or if a page has ended the worker, the second tab starts another one.
"""

from book.serve import Handler

ADDRESS = "/the-tab-that-runs-python.html"
SECOND_TAB = """<!DOCTYPE html><title>Runs Python</title><script>
const channel = new BroadcastChannel("python");
const running = new Map(); // how a page starts a worker -> the worker

class Kept {
  constructor(address, start) {
    this.jobs = new Set();
    this.isReady = false;
    this.worker = new Worker(address, { type: "module" });
    this.worker.onerror = ({ message }) => channel.postMessage({ page: this.page, error: message });
    this.worker.onmessage = ({ data }) => {
      this.isReady ||= data.kind === "ready";
      if (data.kind === "done") this.jobs.delete(data.id);
      this.send(data);
    };
    this.worker.postMessage(start);
  }

  send(data) {
    channel.postMessage({ page: this.page, data });
  }

  /** Serves a page from now on. */
  begin(page) {
    const isNew = this.page !== page;
    this.page = page;
    if (isNew && this.isReady) this.send({ kind: "ready" });
  }

  run(job) {
    this.jobs.add(job.id);
    this.worker.postMessage(job);
  }
}

function end(key) {
  running.get(key)?.worker.terminate();
  running.delete(key);
}

function begin(page, address, start) {
  const key = JSON.stringify([address, start]);
  if (running.get(key)?.jobs.size) end(key);
  if (!running.has(key)) running.set(key, new Kept(address, start));
  running.get(key).begin(page);
}

channel.onmessage = ({ data: { page, address, message } }) => {
  if (message?.kind === "start") return begin(page, address, message);
  const [key, kept] = [...running].find(([, kept]) => kept.page === page) ?? [];
  if (message) kept?.run(message);
  else end(key);
};
channel.postMessage({ isOpen: true });
</script>"""
WORKER = """window.Worker = class extends EventTarget {
  constructor(address) {
    super();
    const page = crypto.randomUUID(), channel = new BroadcastChannel("python");
    this.send = (message) => channel.postMessage({ page, address: String(address), message });
    channel.onmessage = ({ data: { page: receiver, isOpen, error, data } }) => {
      if (isOpen && this.start) this.send(this.start); // the second tab is open only now
      if (receiver !== page) return;
      if (error !== undefined) this.onerror?.({ message: error });
      else this.dispatchEvent(new MessageEvent("message", { data }));
    };
  }
  set onmessage(listener) {
    this.addEventListener("message", listener);
  }
  postMessage(message) {
    if (message.kind === "start") this.start = message;
    this.send(message);
  }
  terminate() {
    this.send();
  }
};
"""

# Python that never starts, for tests that run no code.
NO_WORKER = "window.Worker = class extends EventTarget { postMessage() {} terminate() {} };"


class WithSecondTab(Handler):
    """Serves the book, and the page of the second tab."""

    def do_GET(self):
        if self.path != ADDRESS:
            return super().do_GET()
        content = SECOND_TAB.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
