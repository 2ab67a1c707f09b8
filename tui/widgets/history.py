"""Where the reader has been, so that one can go back and forward again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

_LONGEST: Final = 200


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in a trace: the key of what was shown, and a character offset in it."""

    key: int
    offset: int


@dataclass(slots=True)
class History:
    """Spots left by a jump, and spots left by going back."""

    past: list[Spot] = field(default_factory=list)
    future: list[Spot] = field(default_factory=list)

    def leave(self, spot: Spot) -> None:
        """Remember a spot that a jump leaves; what lay ahead is forgotten."""
        if not self.past or self.past[-1] != spot:
            self.past.append(spot)
            del self.past[:-_LONGEST]
        self.future.clear()

    def back(self, here: Spot) -> Spot | None:
        """The spot to go back to."""
        if not self.past:
            return None
        self.future.append(here)
        return self.past.pop()

    def forward(self, here: Spot) -> Spot | None:
        """The spot that `back` came from."""
        if not self.future:
            return None
        self.past.append(here)
        return self.future.pop()
