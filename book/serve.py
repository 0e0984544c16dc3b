"""Serve the built book on this machine: `python -m book.serve`, or `make serve`.

A browser loads no JavaScript modules for a page that was opened from a disk, so that its exercises would not run.
"""

import argparse
import gzip
import http.server
import io
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any, BinaryIO

PORT = 8000
COMPRESSIBLE = {".css", ".html", ".ipynb", ".js", ".json", ".mjs", ".py", ".svg", ".wasm"}
BOOK = Path(__file__).resolve().parent.parent / "_build" / "html"
# Only what the pages need: no code from other machines, and no code made from text. Python needs WebAssembly.
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; worker-src 'self'; connect-src 'self'; object-src 'none'; "
    "base-uri 'self'; frame-ancestors 'none'"
)


@cache
def compressed(file: Path, changed: float) -> bytes:
    """Return the content of a file, compressed; a file with a new modification time is compressed again."""
    return gzip.compress(file.read_bytes(), compresslevel=6, mtime=0)


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serve the files of a folder under the policy that the README recommends for every web server."""

    extensions_map = {
        **http.server.SimpleHTTPRequestHandler.extensions_map,
        ".mjs": "text/javascript",
        ".js": "text/javascript",
        ".wasm": "application/wasm",
        ".whl": "application/zip",
        ".ipynb": "application/json",
    }

    def send_response(self, code: int, message: str | None = None) -> None:
        self.found = code < 400
        super().send_response(code, message)

    def end_headers(self) -> None:
        self.send_header("Content-Security-Policy", POLICY)
        immutable = self.found and "/_static/live/" in self.path  # the names in this folder contain a hash
        self.send_header("Cache-Control", "public, max-age=31536000, immutable" if immutable else "no-cache")
        super().end_headers()

    def send_head(self) -> io.BytesIO | BinaryIO | None:
        """Send the headers, and return the content: compressed if that saves much and the browser accepts it."""
        file = Path(self.translate_path(self.path))
        accepts = "gzip" in self.headers.get("Accept-Encoding", "")
        if not (accepts and file.suffix in COMPRESSIBLE and file.is_file()):
            return super().send_head()
        content = compressed(file, file.stat().st_mtime)
        self.send_response(http.HTTPStatus.OK)
        self.send_header("Content-Type", self.guess_type(file))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Vary", "Accept-Encoding")
        self.end_headers()
        return io.BytesIO(content)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer with the book's own page if the book does not have the address."""
        page = Path(self.directory, "404.html")
        if code != http.HTTPStatus.NOT_FOUND or not page.is_file():
            return super().send_error(code, message, explain)
        # The missing address may lie in any folder, but the links of the page begin at the top.
        content = page.read_bytes().replace(b"<head>", b'<head><base href="/404.html">', 1)
        self.send_response(code)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *arguments: object) -> None:
        """Print nothing, so that the terminal shows only the address."""


class Server(http.server.ThreadingHTTPServer):
    """Report no error when a reader leaves a page that is still loading."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def server(folder: Path, port: int = 0, handler: type[Handler] = Handler) -> Server:
    """Return a server of a folder that only this machine can reach.

    port: 0 for any free port. Raises OSError if another program uses the port.
    """
    return Server(("127.0.0.1", port), partial(handler, directory=str(folder)))


@contextmanager
def serving(folder: Path, handler: type[Handler] = Handler) -> Iterator[str]:
    """Serve a folder inside a `with` block, and yield its address."""
    started = server(folder, handler=handler)
    thread = threading.Thread(target=started.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{started.server_port}"
    finally:
        started.shutdown()
        thread.join()
        started.server_close()


def main() -> None:
    parser = argparse.ArgumentParser(description="Serve the built book on this machine.")
    parser.add_argument("folder", type=Path, nargs="?", default=BOOK)
    folder = parser.parse_args().folder
    try:
        started = server(folder, PORT)
    except OSError:
        started = server(folder)
    print(f"The book: http://127.0.0.1:{started.server_port}/   (stop it with Ctrl-C)", flush=True)
    try:
        started.serve_forever()
    except KeyboardInterrupt:
        print()


if __name__ == "__main__":
    main()
