"""Serve the built book on this machine, as `make serve` does: a page from the disk may not load modules."""

import argparse
import http.server
import threading
from contextlib import contextmanager
from functools import partial
from pathlib import Path

FIRST = 8000
BOOK = Path(__file__).resolve().parent.parent / "_build" / "html"
# What the pages need, and nothing more: no code from elsewhere, none made of text; WebAssembly is Python's.
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; worker-src 'self'; connect-src 'self'; object-src 'none'; "
    "base-uri 'self'; frame-ancestors 'none'"
)


class Handler(http.server.SimpleHTTPRequestHandler):
    """A folder's files, under the policy that the book asks of a web server."""

    extensions_map = {
        **http.server.SimpleHTTPRequestHandler.extensions_map,
        ".mjs": "text/javascript",
        ".js": "text/javascript",
        ".wasm": "application/wasm",
        ".whl": "application/zip",
        ".ipynb": "application/json",
    }

    def end_headers(self):
        self.send_header("Content-Security-Policy", POLICY)
        # Below a folder or a name that holds its own hash nothing ever changes.
        lasting = "/_static/live/" in self.path
        self.send_header("Cache-Control", "public, max-age=31536000, immutable" if lasting else "no-cache")
        super().end_headers()

    def log_message(self, *arguments):
        """Say nothing: the terminal is for the address."""


def server(folder, port=0):
    """A server of a folder for this machine alone.

    Args:
        folder: Path of the built book.
        port: the port to take; 0 for any that is free.

    Raises:
        OSError: the port is taken.
    """
    return http.server.ThreadingHTTPServer(("127.0.0.1", port), partial(Handler, directory=str(folder)))


@contextmanager
def serving(folder):
    """Serve a folder for as long as the context lasts; gives its address."""
    started = server(folder)
    thread = threading.Thread(target=started.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{started.server_port}"
    finally:
        started.shutdown()
        thread.join()
        started.server_close()


def main():
    parser = argparse.ArgumentParser(description="Serve the built book on this machine.")
    parser.add_argument("folder", type=Path, nargs="?", default=BOOK)
    folder = parser.parse_args().folder
    try:
        started = server(folder, FIRST)
    except OSError:
        started = server(folder)
    print(f"The book: http://127.0.0.1:{started.server_port}/   (Ctrl-C ends it)", flush=True)
    try:
        started.serve_forever()
    except KeyboardInterrupt:
        print()


if __name__ == "__main__":
    main()
