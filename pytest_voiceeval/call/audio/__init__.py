"""Calls with sound: two bots on the phone, joined by a relay, timed from what is heard."""
