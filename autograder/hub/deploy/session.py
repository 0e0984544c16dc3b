"""Send the requests that a person's browser sends to the hub and to the person's server."""

import json
import time
import urllib.error
import urllib.parse
import urllib.request
from http.cookiejar import CookieJar


class Session:
    """One person who logs in, starts a server, and presses the buttons of the assignment list.

    Args:
        hub: the hub's address, as "http://127.0.0.1:8000".
        name, password: those of an account that may log in.
    """

    def __init__(self, hub: str, name: str, password: str):
        self.hub, self.name, self._password = hub, name, password
        self._jar = CookieJar()
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self._jar))

    def log_in(self) -> None:
        """Log in. Raises PermissionError if the hub refuses."""
        self._ask("/hub/login")
        form = {"username": self.name, "password": self._password, "_xsrf": self._xsrf("/hub/")}
        try:
            self._ask("/hub/login", urllib.parse.urlencode(form).encode())
        except urllib.error.HTTPError as error:
            raise PermissionError(f"{self.name} may not log in to the hub (status {error.code})") from error

    def start_server(self, seconds: int = 60) -> None:
        """Start this person's server, as the hub's page does, and wait until it answers."""
        self._ask("/hub/spawn")
        deadline = time.monotonic() + seconds
        while True:
            try:
                if self._ask(f"/user/{self.name}/lab").geturl().startswith(f"{self.hub}/user/{self.name}/lab"):
                    return
            except urllib.error.HTTPError as error:
                if error.code not in (424, 503):  # the server is still starting
                    raise
            if time.monotonic() > deadline:
                raise TimeoutError(f"the server of {self.name} has not started within {seconds} s")
            time.sleep(0.3)

    def press(self, button: str, course: str, chapter: str) -> list[dict]:
        """Press "fetch", "submit" or "fetch_feedback" in the assignment list, and return its new rows.

        There is a row for each assignment and state.
        """
        return self._rows(self._server(f"assignments/{button}", {"course_id": course, "assignment_id": chapter}))

    def courses(self) -> list[str]:
        """Return the course list: the courses whose formgrader this person may open."""
        return [row["course_id"] for row in self._rows(self._server("formgraders"))]

    def formgrader(self, course: str, path: str) -> str:
        """Open formgrader as the course list does, and return a page. Raises PermissionError if the hub refuses."""
        try:
            self._ask(f"/services/{course}/lab?formgrader=true").close()
            with self._ask(f"/services/{course}/formgrader/{path}") as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as error:
            if error.code != 403:
                raise
            raise PermissionError(f"{self.name} may not open formgrader") from error

    def set_score(self, course: str, chapter: str, student: str, points: float) -> None:
        """Set the score of a student's first exercise in formgrader, as its page does."""
        rows = json.loads(self.formgrader(course, f"api/submitted_notebooks/{chapter}/{chapter}"))
        (row,) = (row for row in rows if row["student"] == student)
        grades = json.loads(self.formgrader(course, f"api/grades?submission_id={row['id']}"))
        path = f"/services/{course}/"
        headers = {"Content-Type": "application/json", "X-XSRFToken": self._xsrf(path)}
        body = json.dumps({"manual_score": points, "extra_credit": None}).encode()
        self._ask(f"{path}formgrader/api/grade/{grades[0]['id']}", body, headers, "PUT").close()

    def read(self, path: str) -> str:
        """Return the text of a file on this person's server."""
        return self._server(f"api/contents/{urllib.parse.quote(path)}?type=file&format=text")["content"]

    def save(self, path: str, notebook: str) -> None:
        """Save a notebook as JupyterLab does. `notebook` is the text of its file."""
        self._server(
            f"api/contents/{urllib.parse.quote(path)}", {"type": "notebook", "content": json.loads(notebook)}, "PUT"
        )

    def _server(self, path, data=None, method=None):
        headers = {"Content-Type": "application/json", "X-XSRFToken": self._xsrf(f"/user/{self.name}/")}
        body = None if data is None else json.dumps(data).encode()
        with self._ask(f"/user/{self.name}/{path}", body, headers, method) as answer:
            return json.load(answer)

    @staticmethod
    def _rows(answer):
        if not answer["success"]:
            raise RuntimeError(answer["value"])
        return answer["value"]

    def _ask(self, path, body=None, headers=None, method=None):
        return self._opener.open(
            urllib.request.Request(self.hub + path, body, headers or {}, method=method), timeout=60
        )

    def _xsrf(self, path):
        return next(cookie.value for cookie in self._jar if cookie.name == "_xsrf" and cookie.path == path)
