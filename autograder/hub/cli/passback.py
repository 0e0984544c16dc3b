"""`autograder passback`"""

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.errors import UserError
from autograder.hub.cli.packages import hub_packages
from autograder.layout import known_chapter

if TYPE_CHECKING:
    from autograder.hub.passback.send import Outcome

HELP = "Send scores to the learning platform from which students open the hub (LTI 1.3)."


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("chapters", nargs="*", metavar="CHAPTER", help="for example 01_attention")
    parser.add_argument(
        "--hub", type=Path, default=Path("/srv/hub"), metavar="DIR", help="the hub's folder (default: /srv/hub)"
    )
    parser.add_argument("--dry-run", action="store_true", help="show which scores would be sent, but send nothing")
    parser.add_argument("--again", action="store_true", help="send also the scores that were sent before")
    parser.add_argument(
        "--key", action="store_true", help="print the public key to register with the platform; make it if needed"
    )


@hub_packages()
def run(options: Namespace) -> int:
    """Return 0 if the platform has all scores, 1 if it refused some or does not know some students."""
    if options.key:
        return _print_key(options.course)
    if not options.chapters:
        raise UserError("name the chapters to send, such as 01_attention")
    from autograder.hub.passback.send import send_scores

    chapters = [known_chapter(chapter) for chapter in options.chapters]
    outcomes = send_scores(options.course, options.hub, chapters, again=options.again, dry_run=options.dry_run)
    for outcome in outcomes:
        _report(outcome, dry_run=options.dry_run)
    return 1 if any(outcome.refused or outcome.unknown for outcome in outcomes) else 0


def _report(outcome: "Outcome", *, dry_run: bool) -> None:
    from check.words import count, shown

    if dry_run:
        for student, score in outcome.sent.items():
            print(f"{outcome.chapter}: would send {shown(student)} {score:g} of {outcome.points:g}")
    verb = "would be sent" if dry_run else "sent"
    print(f"{outcome.chapter}: {count(len(outcome.sent), 'score')} {verb}, {len(outcome.unchanged)} sent before")
    if outcome.platform_points not in (None, outcome.points):
        print(
            f"note: the platform's column has a maximum of {outcome.platform_points:g}, and the chapter "
            f"{outcome.points:g} points: the platform scales the scores"
        )
    for student, answer in outcome.refused.items():
        print(f"the platform refuses the score of {shown(student)}: {shown(answer, 300)}")
    for student in outcome.unknown:
        print(f"has a score, but has never opened the hub from the platform: {shown(student)}")


def _print_key(course: Path) -> int:
    from autograder.hub.passback.key import make_key, public_jwk, public_pem

    key = make_key(course)
    print("Moodle, as public key type “RSA key”:\n")
    print(public_pem(key))
    print("Canvas, as public JWK:\n")
    print(public_jwk(key))
    return 0
