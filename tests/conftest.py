from __future__ import annotations

import signal
import threading

from hypothesis import settings

# A busy machine is no failure: examples have no time limit.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")

# A shell lets what it runs in the background ignore Ctrl-C, and so would all that we start.
in_main = threading.current_thread() is threading.main_thread()
if in_main and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
