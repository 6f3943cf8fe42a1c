"""How a test sets the agent's database before a call, and reads it after."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from practice import SCHEMA

from pytest_voiceeval import Scenario


class PracticeState:
    """A database file for each call; the bot gets the same session id in its URL."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def connect(self, session_id: str) -> closing[sqlite3.Connection]:
        db = sqlite3.connect(self.folder / f"{session_id}.db")
        db.row_factory = sqlite3.Row
        return closing(db)

    def prepare(self, scenario: Scenario, session_id: str) -> None:
        """Fill the database with what the scenario starts from."""
        start: dict[str, Any] = {}
        scenario.setup_shared_state(start, "agent")
        with self.connect(session_id) as db:
            db.executescript(SCHEMA)
            for table, records in start["db"].items():
                for key, record in records.items():
                    row = {"id": key, **record}
                    values = ", ".join(f":{column}" for column in row)
                    db.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({values})", row)
            db.commit()

    def __call__(self, _scenario: Scenario, session_id: str) -> dict[str, Any]:
        """The database as {table: {id: record}}, the shape of the expected one."""
        with self.connect(session_id) as db:
            tables = db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
            rows = {name: db.execute(f"SELECT * FROM {name}").fetchall() for (name,) in tables}
        return {
            table: {row["id"]: {key: row[key] for key in row.keys()[1:]} for row in found}
            for table, found in rows.items()
        }


@pytest.fixture(scope="session")
def agent_state(tmp_path_factory: pytest.TempPathFactory) -> PracticeState:
    folder = tmp_path_factory.mktemp("databases")
    os.environ["PRACTICE_DATABASES"] = str(folder)  # the bot, started later, inherits it
    return PracticeState(folder)
