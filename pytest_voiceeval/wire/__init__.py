"""The wire room: protobuf frames, RTVI messages, and a connection to one bot.

``frames`` and ``rtvi`` are pure, ``connection`` does the I/O, ``settings`` holds its limits.
"""
