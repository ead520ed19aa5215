"""Everything HALO does. Nothing in this package imports Streamlit; see docs/architecture.md."""
