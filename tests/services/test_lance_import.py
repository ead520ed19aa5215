"""lancedb is imported without the parts HALO never calls, and everybody else gets those parts."""

import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]


def in_fresh_process(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_tables_work_and_the_catalogue_client_is_not_loaded(tmp_path: Path) -> None:
    shown = in_fresh_process(f"""
import sys
from services.lance_import import import_lancedb
connection = import_lancedb().connect({str(tmp_path)!r})
connection.create_table("memos", [{{"n": 1}}])
print(connection.list_tables().tables, "lance_namespace" in sys.modules)
""")
    assert shown == "['memos'] False"


def test_the_catalogue_client_can_be_imported_afterwards() -> None:
    shown = in_fresh_process("""
from services.lance_import import import_lancedb
import_lancedb()
from lance_namespace import ListTablesResponse
print(ListTablesResponse(tables=["a"]).model_dump()["tables"])
""")
    assert shown == "['a']"


def test_a_program_of_one_command_loads_no_pandas() -> None:
    shown = in_fresh_process("""
import sys
from services.lance_import import import_lancedb, spare_pandas
spare_pandas()
import_lancedb()
print("pandas" in sys.modules)
""")
    assert shown == "False"
