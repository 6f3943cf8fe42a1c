"""`--voice-offline`: nothing beyond this machine is connected to."""

from __future__ import annotations

from pytest_voiceeval.wire.urls import is_loopback, mask_url


def problem_offline(url: str, what: str) -> str:
    """Why an offline run does not connect to a URL, empty if it may.

    Args:
        url: The address.
        what: Who named it, for the text: an option, or whose bot it is.
    """
    if is_loopback(url):
        return ""
    return (
        f"--voice-offline: {what} names {mask_url(url)}, which is not this machine "
        "(localhost, 127.0.0.0/8, [::1], or a name that /etc/hosts gives such an address)"
    )
