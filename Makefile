# `make` sets up, builds the book, releases, grades the example class, and says where to look. `make test` tests.
# `make pdf` and `make epub` make the book's other forms; `make serve` serves it, so that its exercises run.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
# Folders of packages: their own tests, other languages' lexers, other databases' dialects, PyTorch's compilers ...
RARE := tests|testing|lexers|dialects|_vendored|pip|setuptools|sympy|mpmath|networkx|mypyc?|torchgen|fontTools|hypothesis|$\
	pypdf|_inductor|_dynamo|onnx
PIP := $(BIN)/pip install --quiet --disable-pip-version-check
# A hub's users run this one, so it is the machine's and not somebody's own.
HUB_PYTHON ?= /usr/bin/python3
HUB ?= .hub
# Two at a time, the long ones first: the book and the example class; the release takes the place of the first to end.
MAKEFLAGS += --jobs=2

export OMP_NUM_THREADS ?= 1
# Many images set it, and each process of the tests would rewrite every assertion anew, in three seconds.
export PYTHONDONTWRITEBYTECODE :=

COURSE := $(shell find chapters check solutions autograder -name '*.md' -o -name '*.py' -o -name '*.npz' -o -name '*.j2' -o -name '*.css') \
	nbgrader_config.py requirements.txt requirements-torch.txt CITATION.cff _config.yml
BOOK := $(COURSE) _toc.yml $(shell find book -type f -not -name '*.pyc') $(wildcard chapters/*.bib)

.PHONY: all setup book serve pdf epub release example hub formgrader hub-demo test clean
.SILENT:

all: book example release
	echo "The example class, sixteen made-up students in each chapter, is graded:"
	echo
	cat example/summary.txt
	echo
	echo "The book:      $(CURDIR)/_build/html/index.html; in a page served by \`make serve\`, its exercises run"
	echo "The bundles:   $(CURDIR)/course/release/*.zip, one for each chapter"
	echo "The feedback:  $(CURDIR)/example/feedback/STUDENT/CHAPTER/CHAPTER.html"
	echo "The scores:    $(CURDIR)/example/scores.txt, all exercises of all students"
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
release: course/release/.done
example: example/summary.txt
hub: $(HUB)/.done
formgrader: .venv/.formgrader
hub-demo: .venv/.formgrader $(HUB)/.done
	$(BIN)/python deploy/demo.py --hub $(HUB)

$(BIN)/python:
	$(PYTHON) -c 'import sys; v = sys.version_info; v >= (3, 11) or sys.exit("This course needs Python 3.11 or newer; " \
		"this is %d.%d. To take another one: make PYTHON=python3.12" % v[:2])'
	$(PYTHON) -m venv .venv

# Where an index or a folder offers the CPU build, pip downloads it in place of PyPI's build for CUDA, but only as long as
# no hash is asked for. So compare the hashes of what was downloaded.
.venv/.torch: requirements-torch.txt | $(BIN)/python
	$(BIN)/pip download --quiet --disable-pip-version-check --no-deps --dest .venv/torch $$(grep -o '^torch==[^ ]*' $<)
	$(PIP) --no-compile --no-deps --require-hashes --no-index --find-links .venv/torch -r $<
	rm -r .venv/torch
	touch $@

# The list is complete, so two of pip install half of it each.
.venv/.pins: requirements.txt | $(BIN)/python
	echo "Setting up .venv: about a minute, if pip has the packages already."
	awk '/==/ { half = !half } /==|--hash/ { print > (".venv/pins-" half) }' $<
	echo .venv/pins-0 .venv/pins-1 | xargs -n 1 -P 2 $(PIP) --no-compile --no-deps --require-hashes -r
	touch $@

# PyTorch for CUDA needs NVIDIA's libraries, which the lists do not name: pip finds them, without hashes.
.venv/.done: .venv/.torch .venv/.pins pyproject.toml
	$(BIN)/pip check > /dev/null || $(PIP) $$(grep -oh '^[^ #]*==[^ ]*' requirements.txt requirements-torch.txt)
	$(PIP) --no-deps --no-build-isolation -e .
# What pip would do on one processor, and for what is rarely imported: whoever does import it compiles it. A file that is
# no Python is nobody's loss.
	$(BIN)/python -m compileall -qq -j 0 -x '/($(RARE))/' .venv/lib || true
	touch $@

# Sphinx and jupyter-cache know which pages have changed; the gate then reads every built page for a solution.
_build/.done: .venv/.done $(BOOK)
	echo "Building the book: chapters that have changed are executed, two minutes for all of them."
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

# What the course's own server on a hub needs besides, so that instructors share formgrader.
.venv/.formgrader: .venv/.done deploy/requirements.txt
	$(PIP) -r deploy/requirements.txt
	touch $@

# JupyterHub and what students need, apart from .venv: nothing of the solutions is in it. deploy/README.md has the rest.
$(HUB)/.done: deploy/requirements.txt deploy/package-lock.json
	command -v npm > /dev/null || { echo "A hub needs Node 20 or newer and npm, for its proxy."; exit 1; }
	echo "Setting up $(HUB): about two minutes."
	test -x $(HUB)/bin/python || $(HUB_PYTHON) -m venv $(HUB)
	$(HUB)/bin/pip install --quiet --disable-pip-version-check -r deploy/requirements.txt
	cp deploy/package.json deploy/package-lock.json $(HUB)
	npm ci --silent --prefix $(HUB)
	touch $@

# mypy takes a while, and works beside the tests; what it says comes after theirs, and either may fail.
test: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo --no-cache
	said=$$(mktemp); $(BIN)/mypy > $$said 2>&1 & mypy=$$!; \
	$(BIN)/pytest --numprocesses=4 --dist=loadgroup --no-loadscope-reorder; pytest=$$?; \
	wait $$mypy; mypy=$$?; echo "mypy:"; cat $$said; rm $$said; \
	test $$pytest = 0 || { echo "pytest failed, see above."; exit 1; }; \
	test $$mypy = 0 || { echo "mypy failed, see above."; exit 1; }

clean:
	rm -rf _build example .pytest_cache .mypy_cache .ruff_cache
