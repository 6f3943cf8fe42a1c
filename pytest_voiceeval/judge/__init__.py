"""The LLM judge: what it is shown, how it is asked, how its reply is read."""
