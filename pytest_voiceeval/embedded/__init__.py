"""Both bots of ours, their model and the bridge in one process, on a clock of their own."""
