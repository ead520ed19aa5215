"""Everything HALO does. Nothing in this package imports Streamlit; see docs/architecture.md."""

import os

# Else onnxruntime reports to its maker, and keeps a database for that in the home folder.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
