"""``python -m benchmarks``: every benchmark that needs no data from outside, one after another."""

import subprocess
import sys

NAMES = ("embedding", "intake", "limits", "screen")

if __name__ == "__main__":
    for name in NAMES:
        subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *sys.argv[1:]], check=True)
        print()
