# make            set up, build the book, release the chapters, grade an example class, print where everything is
# make formgrader install what only `autograder watch`, `autograder passback` and a course's server on a hub need
# make serve      serve the book, so that the exercises in its pages run
# make pdf, epub  make the book's other forms
# make formulas   store the formulas as HTML, after a change of a formula; needs Node 20 or newer and npm
# make bytecode   store the bytecode of Python's modules for the pages, after a change of Pyodide;
#                 needs Node 20 or newer
# make check      lint, import contracts, types, workflows and the fast tests: a minute
# make exercise NAME=softmax
#                 test one exercise, print its kill table and its messages
# make test       test at least one example of every behaviour; make test ALL=1 runs every test
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
# Folders of installed packages that nothing here imports: their tests, lexers for other languages, PyTorch's compilers.
RARE := tests|testing|lexers|dialects|_vendored|pip|setuptools|sympy|mpmath|networkx|mypyc?|torchgen|fontTools|$\
	hypothesis|pypdf|_inductor|_dynamo|onnx
PIP := $(BIN)/pip install --quiet --disable-pip-version-check
TORCH := $(shell grep -o '^torch==[^ ]*' requirements-torch.txt)
# Every account of a hub runs this Python, so it must not be in a home directory.
HUB_PYTHON ?= /usr/bin/python3
HUB ?= .hub
DEPLOY := autograder/hub/deploy
# Two targets run at a time. The long ones, the book and the example class, start first.
MAKEFLAGS += --jobs=2

export OMP_NUM_THREADS ?= 1
# Many container images set this. Without bytecode, each process of pytest rewrites all assertions again: three seconds.
export PYTHONDONTWRITEBYTECODE :=

COURSE := $(shell find chapters check solutions autograder -path autograder/hub -prune -o -type f \
	\( -name '*.md' -o -name '*.py' -o -name '*.npz' -o -name '*.j2' -o -name '*.css' \) -print) \
	nbgrader_config.py requirements.txt requirements-torch.txt CITATION.cff _config.yml
WORKFLOWS := $(wildcard .github/workflows/*.yml)
BOOK := $(COURSE) _toc.yml $(shell find book -type f -not -name '*.pyc') $(wildcard chapters/*.bib chapters/*.yml)

.PHONY: all setup book serve pdf epub formulas bytecode release example hub formgrader hub-demo clean
.PHONY: check static lint format contracts types workflows fast exercise test tests
.SILENT:

all: book example release
	echo "The example class, made-up students of every chapter, is graded:"
	echo
	cat example/summary.txt
	echo
	echo "The book:      $(CURDIR)/_build/html/index.html; in a page served by \`make serve\`, its exercises run"
	echo "The bundles:   $(CURDIR)/course/release/*.zip, one for each chapter"
	echo "The feedback:  $(CURDIR)/example/feedback/STUDENT/CHAPTER/CHAPTER.html"
	echo "The scores:    $(CURDIR)/example/scores.txt, all exercises of all students"
	echo "The pages lend $$($(BIN)/python -m autograder.release.lending) (\`lend\` in _config.yml)"
	echo
	echo "What to do with them is on the page \"How to use this book\" of the book."

setup: .venv/.done
book: _build/.done
serve: _build/.done
	$(BIN)/python -m book.serve
pdf: _build/transformer-by-hand.pdf
	echo "The book on paper:     $(CURDIR)/$<"
epub: _build/transformer-by-hand.epub
	echo "The book for readers:  $(CURDIR)/$<"
formulas: _build/.done
	$(BIN)/python -m book.formulas.make _build/html
bytecode: setup
	$(BIN)/python -m book.live.bytecode.make
release: course/release/.done
example: example/summary.txt
hub: $(HUB)/.done
formgrader: .venv/.formgrader
hub-demo: .venv/.formgrader $(HUB)/.done
	$(BIN)/python $(DEPLOY)/demo.py --hub $(HUB)

$(BIN)/python:
	$(PYTHON) -c 'import sys; v = sys.version_info; v >= (3, 11) or sys.exit("This course needs Python 3.11 or newer; " \
		"this is %d.%d. To take another one: make PYTHON=/path/to/python" % v[:2])'
	$(PYTHON) -m venv .venv

# If an index or a folder offers the CPU build, pip prefers it to PyPI's build for CUDA, but not when a hash is
# required. So download first, then check the hash of the downloaded file.
.venv/.torch: requirements-torch.txt | $(BIN)/python
	$(BIN)/pip download --quiet --disable-pip-version-check --no-deps --dest .venv/torch $(TORCH)
	$(PIP) --no-compile --no-deps --require-hashes --no-index --find-links .venv/torch -r $<
	rm -r .venv/torch
	touch $@

# The list is complete, so two processes of pip install half of it each.
.venv/.pins: requirements.txt | $(BIN)/python
	echo "Setting up .venv: about a minute, if pip has the packages already."
	awk '/==/ { half = !half } /==|--hash/ { print > (".venv/pins-" half) }' $<
	echo .venv/pins-0 .venv/pins-1 | xargs -n 1 -P 2 $(PIP) --no-compile --no-deps --require-hashes -r
	touch $@

# PyTorch for CUDA needs NVIDIA's libraries, which are not in the lists. pip finds them, without hashes.
.venv/.done: .venv/.torch .venv/.pins pyproject.toml
	$(BIN)/pip check > /dev/null || echo "This build of PyTorch needs more packages. No hash of them is known to check."
	$(BIN)/pip check > /dev/null || $(PIP) $(TORCH)
	$(PIP) --no-deps --no-build-isolation -e .
# Compile the installed packages on all processors; pip would use one, and would compile the rare folders too. Some
# packages contain templates that are not valid Python, so ignore errors.
	$(BIN)/python -m compileall -qq -j 0 -x '/($(RARE))/' .venv/lib || true
	touch $@

# Sphinx and jupyter-cache find the pages that have changed. The gate then searches every built page for solutions.
_build/.done: .venv/.done $(BOOK)
	echo "Building the book. Changed chapters are executed, which takes two minutes for all of them."
	$(BIN)/jupyter-book build . --quiet
	$(BIN)/python -m autograder.release.gate _build/html
	touch $@

_build/transformer-by-hand.pdf: _build/.done
	echo "Printing the book with Chromium: a minute or two."
	$(BIN)/python -m book.forms.pdf _build/html $@

_build/transformer-by-hand.epub: _build/.done
	echo "Writing the book as an EPUB: half a minute."
	$(BIN)/jupyter-book build . --quiet --builder custom --custom-builder epub
	$(BIN)/python -m autograder.release.gate _build/epub/$(@F)
	cp _build/epub/$(@F) $@

course/release/.done: .venv/.done $(COURSE)
	echo "Releasing the chapters into course/release."
	$(BIN)/autograder release
	touch $@

example/summary.txt: .venv/.done $(COURSE)
	echo "Grading the example class, sixteen submissions in each chapter."
	mkdir -p example
	$(BIN)/python -m autograder.example.example_class > $@.new || { cat $@.new; exit 1; }
	mv $@.new $@

# What only autograder/hub needs: to share formgrader on a hub, to grade on arrival, and to send scores over LTI.
.venv/.formgrader: .venv/.done $(DEPLOY)/requirements.txt
	$(PIP) -r $(DEPLOY)/requirements.txt
	touch $@

# JupyterHub and the packages that students need, in an environment of their own that holds no solutions. See
# autograder/hub/deploy/README.md.
$(HUB)/.done: $(DEPLOY)/requirements.txt $(DEPLOY)/package-lock.json
	command -v npm > /dev/null || { echo "A hub needs Node 20 or newer and npm, for its proxy."; exit 1; }
	echo "Setting up $(HUB): about two minutes."
	test -x $(HUB)/bin/python || $(HUB_PYTHON) -m venv $(HUB)
	$(HUB)/bin/pip install --quiet --disable-pip-version-check -r $(DEPLOY)/requirements.txt
	cp $(DEPLOY)/package.json $(DEPLOY)/package-lock.json $(HUB)
	npm ci --silent --prefix $(HUB)
	touch $@

# ------------------------------------------------------------------------------------------------ tests
# A process that ends early ends the run: pytest-xdist 3.8 may wait forever after it has replaced one (its issue 1323).
PYTEST := $(BIN)/pytest --dist=loadgroup --no-loadscope-reorder --max-worker-restart=0
# Many tests wait for a time limit, a browser or another process, so two processes of pytest share a processor.
TESTERS ?= $(shell expr 2 \* $$(nproc))
# Only root can run a hub, and npm installs its proxy. Without them the tests of the hub are skipped, and say why.
CAN_RUN_HUB := $(shell test "$$(id -u)" = 0 && command -v npm)

check: fast static
# The steps run in parallel. Each prints its findings when it ends, and a failing step does not stop the others.
ifneq ($(filter check static,$(MAKECMDGOALS)),)
MAKEFLAGS += --keep-going --output-sync=target
endif

static: lint format contracts types workflows
lint: setup
	$(BIN)/ruff check .
format: setup
	$(BIN)/ruff format --check .
contracts: setup
	$(BIN)/lint-imports --no-logo --no-cache
types: setup
	$(BIN)/mypy
workflows: setup
	$(if $(WORKFLOWS),$(BIN)/actionlint -shellcheck= -pyflakes= $(WORKFLOWS))
# These tests compute and do not wait, so each process has a processor of its own.
fast: setup
	$(PYTEST) --numprocesses=$$(nproc) -m fast

exercise: setup
	test -n "$(NAME)" || { echo "Which exercise? For example: make exercise NAME=softmax"; exit 2; }
	$(BIN)/autograder exercise $(NAME)
	$(BIN)/pytest --exercise $(NAME) tests/autograder/exercises tests/explanations

# mypy runs beside the tests; without its cache it needs 13 seconds of one processor.
test: types tests
# ALL=1 also runs the tests marked `thorough` and those of a running hub; with UNTIL, only the thorough ones that begin
# before that time, in seconds as `date +%s` gives them.
tests: lint format contracts workflows formgrader $(if $(ALL),$(if $(CAN_RUN_HUB),hub))
	$(PYTEST) --numprocesses=$(TESTERS) --durations=20 $(if $(ALL),$(if $(UNTIL),--thorough-until=$(UNTIL)),--quick)

clean:
	rm -rf _build example .pytest_cache .mypy_cache .ruff_cache
