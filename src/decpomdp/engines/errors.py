"""What can go wrong with a cluster."""


class EngineError(RuntimeError):
    """The cluster cannot be reached, or does not work any more; the message is one line."""
