"""A file of a download that could be a student's submission."""

from dataclasses import dataclass

from autograder.collecting.zip_or_folder import Entry
from autograder.platforms.file_names import ParsedName

Skipped = tuple[Entry, str]  # a file that is not collected, and the reason


@dataclass(frozen=True)
class Candidate:
    """A file of a download, and the student who handed it in.

    upload: the name in the download of the zip file that holds it, or of the file itself.
    when: of two candidates of a student, the one with the larger `when` was handed in later; equal if the order is
    unknown.
    """

    entry: Entry
    student: str
    name: ParsedName
    upload: str
    when: tuple[float, ...]

    @property
    def own_name(self) -> str:
        """The name that the student gave the file."""
        return self._own(self.entry.name)

    @property
    def own_place(self) -> str:
        """The name that the student gave the file, and that of the zip file that holds it."""
        return self.own_name if self.upload == self.entry.name else f"{self.own_name} in {self._own(self.upload)}"

    def _own(self, name: str) -> str:
        return name.rsplit("/", 1)[-1].removeprefix(f"{self.name.prefix}_")
