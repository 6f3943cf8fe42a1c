"""Why there is no verdict: a short code for machines and a text for people."""

from __future__ import annotations


class JudgeFault(ValueError):
    """The judge gave no verdict that can be used.

    Attributes:
        code: Short cause, such as `timeout` or `cut_off`.
        status: HTTP status, None if there was no answer or it was 200.
        passing: The same request may succeed a little later.
        retry_after: Seconds the endpoint asked to wait, None if it did not.
        again: The judge may do better when it is told what was wrong.
    """

    def __init__(
        self,
        code: str,
        text: str,
        *,
        status: int | None = None,
        passing: bool = False,
        retry_after: float | None = None,
        again: bool = False,
    ) -> None:
        super().__init__(text)
        self.code = code
        self.status = status
        self.passing = passing
        self.retry_after = retry_after
        self.again = again

    @property
    def described(self) -> dict[str, str]:
        """Code and text, as they stand in a result."""
        return {"code": self.code, "message": str(self)}


def unreadable(code: str, text: str) -> JudgeFault:
    """A reply that is no verdict; asked again, the judge may give one."""
    return JudgeFault(code, text, again=True)
