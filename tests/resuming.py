"""A monitor behind which states are kept in memory, for tests of methods that can be resumed."""

from mercer.runtime.checkpoints import Store


class Memory:
    """Keeps every state that is offered, and interrupts at a given call.

    Parameters
    ----------
    interrupt : int, optional
        At which of the calls of the monitor KeyboardInterrupt is raised.
    former : mapping, optional
        What another run has left.
    """

    def __init__(self, interrupt=None, former=None):
        self.store = Store(former, every=0.0)
        self.interrupt = interrupt
        self.calls = self.opened = 0

    def keeping(self, name, fields):
        self.opened += 1
        return self.store.open(str(self.opened), name, fields)

    def __call__(self, iteration, residual):
        self.calls += 1
        if self.calls == self.interrupt:
            raise KeyboardInterrupt
        return False


def resumed(run, interrupt, times=1):
    """What `run(monitor)` returns after it was interrupted and taken up, one or several times."""
    former = None
    for _ in range(times):
        memory = Memory(interrupt, former)
        try:
            return run(memory)  # it came to its end before
        except KeyboardInterrupt:
            former = memory.store.entries()
    return run(Memory(None, former))
