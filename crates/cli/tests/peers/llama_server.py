"""Serves a model with llama.cpp's server at a free port: `llama_server.py FILE`. Prints the address, ends with stdin."""

import sys

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.model_alias = {"tiny"}
params.hostnames = ["127.0.0.1"]
params.port = 0
params.n_ctx = 65536
params.n_parallel = 1
params.use_jinja = True
params.warmup = False
# More threads than that spin against each other on a small machine.
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
