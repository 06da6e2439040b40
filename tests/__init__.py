"""What the machine has must not decide a test: threads and terminal are fixed here, before numpy is imported.

Children of the tests inherit this; `tests/conftest.py` fixes the number of cores and the memory budget in this process.
"""

import os

CORES = 2

os.environ |= {"LOKY_MAX_CPU_COUNT": str(CORES), "MPLBACKEND": "Agg"}
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")
if "PYTHONPATH" in os.environ:  # some children work in a folder of their own
    os.environ["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, os.environ["PYTHONPATH"].split(os.pathsep)))
for name in ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "CLICOLOR_FORCE", "PYTHONWARNINGS"):
    os.environ.pop(name, None)
