from passlens.tui.widgets.history import History, Spot


def test_back_and_forward() -> None:
    history = History()
    history.leave(Spot(0, 1))
    history.leave(Spot(0, 2))
    assert history.back(Spot(1, 3)) == Spot(0, 2)
    assert history.back(Spot(0, 2)) == Spot(0, 1)
    assert history.back(Spot(0, 1)) is None
    assert history.forward(Spot(0, 1)) == Spot(0, 2)
    assert history.forward(Spot(0, 2)) == Spot(1, 3)
    assert history.forward(Spot(1, 3)) is None


def test_a_new_jump_forgets_what_lay_ahead() -> None:
    history = History()
    history.leave(Spot(0, 1))
    history.back(Spot(0, 5))
    history.leave(Spot(0, 9))
    assert history.forward(Spot(0, 2)) is None


def test_the_past_is_bounded() -> None:
    history = History()
    for offset in range(1000):
        history.leave(Spot(0, offset))
    assert len(history.past) == 200
