"""The appointment book of a dental practice: a SQLite database, and what an agent may do with it.

Nothing here knows that it is tested.
"""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

SCHEMA = """
CREATE TABLE patients (id TEXT PRIMARY KEY, name TEXT NOT NULL, phone TEXT NOT NULL UNIQUE);
CREATE TABLE slots (id TEXT PRIMARY KEY, day TEXT NOT NULL, time TEXT NOT NULL);
CREATE TABLE appointments (
    id TEXT PRIMARY KEY,
    patient_id TEXT NOT NULL REFERENCES patients,
    slot_id TEXT NOT NULL REFERENCES slots,
    reason TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'booked'
);
CREATE UNIQUE INDEX one_patient_a_slot ON appointments (slot_id) WHERE status = 'booked';
"""

Answer = dict[str, Any]


class Refused(Exception):
    """What was asked for cannot be done; the model is told why."""


class Practice:
    """The book in one database file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def find_appointments(self, phone: str) -> Answer:
        return self._do(self._find, phone)

    def free_slots(self, day: str) -> Answer:
        return self._do(self._free, day)

    def book_appointment(self, phone: str, slot_id: str, reason: str) -> Answer:
        return self._do(self._book, phone, slot_id, reason)

    def move_appointment(self, appointment_id: str, slot_id: str) -> Answer:
        return self._do(self._move, appointment_id, slot_id)

    def cancel_appointment(self, appointment_id: str) -> Answer:
        return self._do(self._cancel, appointment_id)

    def _do(self, action: Callable[..., Answer], *arguments: str) -> Answer:
        """One transaction; a refusal leaves no trace."""
        try:
            with closing(sqlite3.connect(self.path)) as db, db:
                db.row_factory = sqlite3.Row
                return {"status": "success", **action(db, *arguments)}
        except Refused as refusal:
            return {"status": "error", "message": str(refusal)}

    def _find(self, db: sqlite3.Connection, phone: str) -> Answer:
        rows = db.execute(
            "SELECT a.id, reason, status, day, time FROM appointments a"
            " JOIN slots s ON s.id = slot_id WHERE patient_id = ? ORDER BY day, time",
            (self._patient(db, phone),),
        )
        return {"appointments": [dict(row) for row in rows]}

    def _free(self, db: sqlite3.Connection, day: str) -> Answer:
        rows = db.execute(
            "SELECT id, time FROM slots WHERE day = ? AND id NOT IN"
            " (SELECT slot_id FROM appointments WHERE status = 'booked') ORDER BY time",
            (day,),
        )
        return {"slots": [dict(row) for row in rows]}

    def _book(self, db: sqlite3.Connection, phone: str, slot_id: str, reason: str) -> Answer:
        patient = self._patient(db, phone)
        self._check_free(db, slot_id)
        [count] = db.execute("SELECT count(*) FROM appointments").fetchone()
        new = f"A-{count + 1}"
        db.execute(
            "INSERT INTO appointments (id, patient_id, slot_id, reason) VALUES (?, ?, ?, ?)",
            (new, patient, slot_id, reason),
        )
        return {"appointment_id": new}

    def _move(self, db: sqlite3.Connection, appointment_id: str, slot_id: str) -> Answer:
        self._check_booked(db, appointment_id)
        self._check_free(db, slot_id)
        db.execute("UPDATE appointments SET slot_id = ? WHERE id = ?", (slot_id, appointment_id))
        return {"slot_id": slot_id}

    def _cancel(self, db: sqlite3.Connection, appointment_id: str) -> Answer:
        self._check_booked(db, appointment_id)
        db.execute("UPDATE appointments SET status = 'cancelled' WHERE id = ?", (appointment_id,))
        return {}

    def _patient(self, db: sqlite3.Connection, phone: str) -> str:
        row = db.execute("SELECT id FROM patients WHERE phone = ?", (phone,)).fetchone()
        if row is None:
            raise Refused(f"There is no patient with the phone number {phone}")
        return str(row["id"])

    def _check_booked(self, db: sqlite3.Connection, appointment_id: str) -> None:
        query = "SELECT status FROM appointments WHERE id = ?"
        row = db.execute(query, (appointment_id,)).fetchone()
        if row is None or row["status"] != "booked":
            raise Refused(f"There is no booked appointment {appointment_id}")

    def _check_free(self, db: sqlite3.Connection, slot_id: str) -> None:
        if db.execute("SELECT 1 FROM slots WHERE id = ?", (slot_id,)).fetchone() is None:
            raise Refused(f"There is no slot {slot_id}")
        query = "SELECT 1 FROM appointments WHERE slot_id = ? AND status = 'booked'"
        if db.execute(query, (slot_id,)).fetchone():
            raise Refused(f"The slot {slot_id} is taken")
