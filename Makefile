# Everything runs in a private environment, .venv, filled from the lock files in requirements/.
ENV := .venv
SCRATCH := $(CURDIR)/build/quickstart
# A cache of its own has a lock of its own: no other run on this machine is in the way. Nor is it in this machine's journal.
CACHE := $(CURDIR)/build/quickstart-cache
STATE := $(CURDIR)/build/quickstart-state
TREE := examples/quickstart
TESTS := tests --ignore tests/extras

.PHONY: help quickstart dev test check lock wheel clean

help:  ## what there is
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

quickstart: $(ENV)/.runtime  ## install, and apply examples/quickstart into build/quickstart
	@mkdir -p $(SCRATCH)
	ASYNCSTATE_CACHEDIR=$(CACHE) ASYNCSTATE_STATE_DIR=$(STATE) $(ENV)/bin/asyncstate apply --file-root $(TREE)/states --pillar-root $(TREE)/pillar \
	    --pillar '{"root": "$(SCRATCH)"}'

dev: $(ENV)/.dev  ## install what tests and checks need, too

test: export PYTHONDONTWRITEBYTECODE =  # compiled once, not by every process that a test starts
test: $(ENV)/.dev  ## the tests of the engine and its plugins, three workers for two cores; TESTS=tests/extras: of the extras
	$(ENV)/bin/python -m pytest -n auto --dist worksteal $(TESTS)

check: $(ENV)/.dev  ## lint, format, layers, types
	$(ENV)/bin/python -m nox -s lint types

lock: $(ENV)/.dev  ## write requirements/*.txt anew from pyproject.toml
	PATH="$(CURDIR)/$(ENV)/bin:$$PATH" requirements/compile.sh

wheel: $(ENV)/.runtime  ## build the wheel for other machines, in dist/
	$(ENV)/bin/python -m pip --disable-pip-version-check -q wheel --no-deps --no-build-isolation --wheel-dir dist .
	@ls dist/*.whl

clean:  ## remove the environment and everything that was built
	rm -rf $(ENV) .nox build dist site .coverage

$(ENV)/.runtime: requirements/runtime.txt requirements/build.txt pyproject.toml
	requirements/install.sh $(ENV) runtime
	@touch $@

$(ENV)/.dev: requirements/dev.txt pyproject.toml
	requirements/install.sh $(ENV) dev
	@touch $@ $(ENV)/.runtime
