import gc

import pytest
from passlens.tui.collecting import LARGE, dropped, undisturbed


@pytest.fixture(autouse=True)
def thawed() -> object:
    yield
    gc.unfreeze()
    gc.enable()


def test_nothing_is_collected_while_a_large_program_is_built_and_it_is_set_aside() -> None:
    before = gc.get_freeze_count()
    with undisturbed(LARGE):
        assert not gc.isenabled()
        with undisturbed(LARGE):
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
    assert gc.get_freeze_count() > before
    dropped(LARGE)
    assert gc.get_freeze_count() == 0


def test_the_collector_is_on_again_after_a_fault() -> None:
    with pytest.raises(ValueError), undisturbed(LARGE):
        raise ValueError
    assert gc.isenabled()


def test_small_programs_change_nothing() -> None:
    before = gc.get_freeze_count()
    with undisturbed(LARGE - 1):
        assert gc.isenabled()
    assert gc.get_freeze_count() == before
