"""Every setting once: type, default, range and published value.

For others: the dataclasses of `schema`, `reading.read_value`, `checks.check`, `suggest.did_you_mean`, the
arithmetic of `window`.
Imports: nothing.
"""

from azero.config.schema import Config, UserError

__all__ = ["Config", "UserError"]
