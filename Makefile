# `make` sets up, builds the book, releases, grades the example class, and says where to look. `make test` tests.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin

export OMP_NUM_THREADS ?= 1

.PHONY: all setup book release example test clean
.SILENT:

all: book release example
	echo
	echo "The book:       $(CURDIR)/_build/html/index.html"
	echo "The bundles:    $(CURDIR)/course/release/*.zip, one for each chapter"
	echo "The feedback:   $(CURDIR)/example/feedback/STUDENT/CHAPTER/CHAPTER.html, for the example class above"

setup: .venv/.done

.venv/.done: requirements.txt pyproject.toml
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "Python 3.11 or newer is needed"'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps -e .
	touch $@

# Sphinx and jupyter-cache know what has changed; the gate then reads every built page for a solution.
book: setup
	$(BIN)/jupyter-book build . --quiet
	$(BIN)/python -m autograder.release.gate _build/html

release: setup
	$(BIN)/autograder release

example: example/scores.txt
	cat $<

# Graded again when a chapter or any code has changed.
example/scores.txt: .venv/.done $(shell find chapters solutions autograder -name '*.md' -o -name '*.py') nbgrader_config.py
	mkdir -p example
	$(BIN)/python -m autograder.example.example_class > $@.new || { cat $@.new; exit 1; }
	mv $@.new $@

test: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo --no-cache
	$(BIN)/pytest

clean:
	rm -rf _build example .pytest_cache .mypy_cache .ruff_cache
