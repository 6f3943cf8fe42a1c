from __future__ import annotations

from pytest_voiceeval.wire.secret import Secret, masked, secrets_in_query


def test_secrets_that_begin_alike_are_masked_as_a_whole() -> None:
    secrets = [Secret("sk-proj-1"), Secret("sk-proj-12345")]
    assert masked("a sk-proj-12345 b sk-proj-1 c", secrets) == "a *** b *** c"


def test_a_value_in_an_address_is_masked_as_written_and_decoded() -> None:
    secrets = secrets_in_query("https://h.example/v1?key=ab%2Fcd%3D%3D&v=1")
    assert masked("GET /v1?key=ab%2Fcd%3D%3D said ab/cd==", secrets) == "GET /v1?key=*** said ***"
