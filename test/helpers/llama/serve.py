"""llama.cpp's own HTTP server in this process, with the members of its `CommonParams` as JSON: { "model": "…", "port": 8081 }."""

import json
import sys
import threading

sys.path.insert(0, sys.argv[1])

import xllamacpp  # noqa: E402

settings = json.loads(sys.argv[2])
params = xllamacpp.CommonParams()
params.model.path = settings.pop("model")
# More threads than free cores wait for each other.
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
for name, value in settings.items():
    setattr(params, name, value)
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
threading.Event().wait()
