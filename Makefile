# Two commands do everything: `make run` and `make test`.
.PHONY: run test test-all test-slow test-agents test-backends test-chaos test-vendors check bench install

run:        ## install what is missing, start Atoll, print a login link, with a sandbox ready
	@scripts/install run
	@scripts/run

test:       ## install what is missing, run every test that can run here
	@scripts/install test
	@scripts/test

test-all:   ## hours: every tier but the one that installs 1.8 GB of agents
	@scripts/install test
	@scripts/test all

test-slow:  ## the named slow tiers
	@scripts/install test
	@scripts/test slow

test-agents: ## every agent Atoll knows finishes a scripted task (installs them: 1.8 GB)
	@scripts/install test
	@scripts/test agents

test-backends: ## what needs another wall than this machine's own: a Docker daemon
	@scripts/install test
	@scripts/test backends

test-chaos: ## over an hour: replicas that fail under load, random operations, random streams to redact
	@scripts/install test
	@scripts/test chaos

test-vendors: ## each of the 13 providers by the vendor's own SDK (installs them: 350 MB)
	@scripts/install test
	@scripts/test vendors

check:      ## format, lint, types, layers, layout, commits, page
	@scripts/install test
	@scripts/check

bench:      ## print each figure beside its floor or peer
	@scripts/install test
	@.venv/bin/python -m bench
