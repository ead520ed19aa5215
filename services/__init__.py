"""Everything HALO does. Nothing in this package imports Streamlit; see docs/architecture.md."""

import os

# onnxruntime reports to its maker over the network unless this is set before it is loaded.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
