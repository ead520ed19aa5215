"""The screen: one module a panel. The only Streamlit code besides app.py and pages/."""
