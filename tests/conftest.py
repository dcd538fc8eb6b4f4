from __future__ import annotations

from hypothesis import settings

# A busy machine is no failure: examples have no time limit.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
