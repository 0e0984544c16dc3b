"""`autograder release`"""

WORDS = "Make what students get, and refuse if it gives a solution away."


def arguments(parser):
    parser.add_argument("chapters", nargs="*", metavar="CHAPTER", help="01_attention, say; all if none is named")


def run(options):
    from autograder.release.publish import publishing

    for released in publishing(options.course, options.chapters):
        what = "released" if released.changed else "unchanged"
        print(f"{released.chapter}: {what}, {released.zip}", flush=True)
    return 0
