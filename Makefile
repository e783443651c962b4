# Everything from a fresh clone: `make help`.
#
#   PYTHON      interpreter that .venv is made with
#   ROS_DISTRO  jazzy or kilted: which wheels, where no ROS 2 installation is sourced
#   ARGS        passed on to the command

PYTHON ?= python3
ARGS ?=

VENV := $(CURDIR)/.venv
# The executables of .venv, with the libraries of message types that were built into it.
RUN = env LD_LIBRARY_PATH="$(VENV)/lib$${LD_LIBRARY_PATH:+:$$LD_LIBRARY_PATH}" "$(VENV)"/bin

.DEFAULT_GOAL := help
.PHONY: help demo test lint soak fuzz bench bench-wire figures docs docs-links env clean

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 16

demo: env ## IK node, simulated arm, a page and a client (ARGS=--once: one round, no page; --obstacle: around a box)
	@$(RUN)/ik_demo $(ARGS)

# One worker more than there are cores, as many tests wait for other processes, and four at most;
# a file of tests at a time, the long files first (see CONTRIBUTING.md).
WORKERS = -n $$(( $$(nproc) < 4 ? $$(nproc) + 1 : 4 )) --dist loadfile --no-loadscope-reorder

test: env ## all tests but the slow ones (ARGS='-k name': some of them; ARGS='-m slow': the others)
	@$(RUN)/python -m pytest $(WORKERS) -m 'not slow' $(ARGS)

lint: env ## style and types
	@$(RUN)/ruff check .
	@$(RUN)/ruff format --check .
	@$(RUN)/mypy

WITHSTANDS := docs/withstands.json

soak: env ## fuzzers, load, faults and a soak, 50 minutes; writes docs/withstands.md
	@PYTHONPATH=test $(RUN)/python -m hardening.run --long --repeat 5 --before $(WITHSTANDS) \
		--output $(WITHSTANDS) $(ARGS); code=$$?; \
		$(RUN)/python docs/write_withstands.py && exit $$code

fuzz: env ## only the fuzzers, long, and atheris on robot descriptions where it installs
	@PYTHONPATH=test $(RUN)/python -m hardening.run --long \
		--only requests groups parameters targets motions paths descriptions \
		$(ARGS)
	@$(RUN)/pip install --quiet --require-hashes -r test/hardening/requirements-atheris.txt \
		|| { echo 'atheris does not install here'; exit 0; } && \
		PYTHONPATH=test $(RUN)/python -m hardening.fuzz_urdf -max_total_time=300

bench: env ## measure against other libraries and write docs/benchmarks.md (ARGS=--quick or --full)
	@$(PYTHON) benchmarks/setup_env.py
	@.bench-venv/bin/python benchmarks/run.py $(ARGS)

bench-wire: env ## what controllers would execute in every case; writes tables into docs/withstands.md
	@$(RUN)/python benchmarks/wire.py && $(RUN)/python docs/write_wire.py

figures: env ## all studies into docs/figures, and docs/methods.md from their numbers
	@$(RUN)/ik_study all --output docs/figures
	@$(RUN)/python docs/write_methods.py

docs: env ## the documentation site, into build/docs; needs no network
	@$(RUN)/python -c 'import furo, myst_parser, sphinx' || { \
		echo "Sphinx is missing: $(VENV)/bin/pip install -e '.[docs]'" >&2; exit 1; }
	@$(RUN)/python docs/draw_rooms.py
	@$(RUN)/python -m sphinx -b html -W --keep-going -n -q docs build/docs $(ARGS)
	@echo 'The site is in build/docs/index.html'

docs-links: env ## check the links of the site to other sites
	@$(RUN)/python -m sphinx -b linkcheck -q docs build/docs-links $(ARGS)

env: ## only make or update .venv
	@command -v $(PYTHON) >/dev/null || { echo 'No $(PYTHON) on PATH; on Debian and Ubuntu:' \
		'sudo apt install python3 python3-venv python3-dev' >&2; exit 1; }
	@$(PYTHON) standalone/setup_env.py

clean: ## remove .venv and all that was built
	rm -rf .venv .bench-venv build install log *.egg-info .pytest_cache .ruff_cache .hypothesis
	find ik_service launch standalone test -name __pycache__ -prune -exec rm -rf {} +
