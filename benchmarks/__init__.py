"""Quality and speed, each one command that prints a table: ``python -m benchmarks.NAME``.

Timings are medians; the machine and the versions that matter stand above each table.
"""
