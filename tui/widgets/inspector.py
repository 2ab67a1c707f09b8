"""The inspector: what is known of the op and the value under the cursor, or the overview of the input."""

from __future__ import annotations

from .row_list import RowList


class Inspector(RowList):
    """Rows about an op; choosing one that names a place goes there."""

    @property
    def room(self) -> int:
        """Columns that a row has."""
        return max((self.inner.width or 40) - 1, 20)
