"""check_game finds each fault that is planted in a small game file, and nothing in games that are right."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from azero.check_game import main, report
from azero.games import make_game
from azero.games.laws.check import GameCheck, check_game, check_own_game, quick_check

# A game file of a user who starts from tic-tac-toe and changes one thing.
HEAD = """
from dataclasses import replace
import numpy as np
from numba import cfunc, njit
from azero.games import game as interface
from azero.games import tictactoe
from azero.games.tictactoe import CELLS, FULL, ONE, has_line

@njit
def count_stones(stones):
    count = 0
    while stones:
        stones &= stones - ONE
        count += 1
    return count
"""
TAIL = """
def make_game():
    game = tictactoe.make_game()
    if BOARD:
        CHANGES["board"] = replace(game.board, **BOARD)
    changed = {name: rule for name, rule in globals().items() if name in game.rules._fields}
    return replace(game, name="changed", rules=game.rules._replace(**changed), **{"set_up": None} | CHANGES)
"""

LISTED = """
        legal_mask = interface.no_legal_mask

        @cfunc(interface.LEGAL_ACTIONS)
        def legal_actions(state, actions):
            count = 0
            for cell in range({order}):
                if ((state[0] | state[1]) >> np.uint64(cell)) & ONE == 0:
                    actions[count] = cell
                    count += 1
            {more}
            return {returned}
        """

FAULTS = {
    "a rule that changes the state it reads": (
        "step changed the state it was given",
        """
        @cfunc(interface.STEP)
        def step(state, action, successor):
            state[0] |= ONE << np.uint64(action)
            successor[0] = state[1]
            successor[1] = state[0]
        """,
    ),
    "a mask that is not symmetric": (
        "the legal mask of a mirrored game is not the mirrored legal mask",
        """
        @cfunc(interface.LEGAL_MASK)
        def legal_mask(state, mask):
            empty = FULL & ~(state[0] | state[1])
            for cell in range(CELLS):
                mask[cell] = (empty >> np.uint64(cell)) & ONE != 0
            mask[8] = mask[8] and not mask[0]
        """,
    ),
    "planes of fixed sides instead of the mover's view": (
        "planes do not switch with the player to move",
        """
        @cfunc(interface.WRITE_PLANES)
        def planes(state, out):
            second = count_stones(state[0] | state[1]) & 1
            for cell in range(CELLS):
                out[0, cell // 3, cell % 3] = np.float32((state[second] >> np.uint64(cell)) & ONE)
                out[1, cell // 3, cell % 3] = np.float32((state[1 - second] >> np.uint64(cell)) & ONE)
        """,
    ),
    "a bound on the plies left that stays the same": (
        "plies_left is negative, or has not fallen since the ply before",
        """
        @cfunc(interface.PLIES_LEFT)
        def plies_left(state):
            return CELLS
        """,
    ),
    "a bound on the plies left that is too small": (
        "plies_left is negative, or has not fallen since the ply before",
        """
        @cfunc(interface.PLIES_LEFT)
        def plies_left(state):
            return CELLS - 1 - count_stones(state[0] | state[1])
        """,
    ),
    "a draw scored as a loss": (
        "a final board is lost for both sides",
        """
        @cfunc(interface.OUTCOME)
        def outcome(state):
            return -1.0
        """,
    ),
    "a draw scored as a win": (
        "a final board is won for both sides",
        """
        @cfunc(interface.OUTCOME)
        def outcome(state):
            return -1.0 if has_line(state[1]) else 1.0
        """,
    ),
    "a draw scored as a loss where both sides' lines are looked at": (
        "a final board is lost for both sides",
        """
        @cfunc(interface.OUTCOME)
        def outcome(state):
            return 1.0 if has_line(state[0]) else -1.0
        """,
    ),
    "an outcome for the first player": (
        "outcome seems to be the first player's value, not the mover's: the second player wins",
        """
        @cfunc(interface.OUTCOME)
        def outcome(state):
            first_moved = count_stones(state[0] | state[1]) & 1
            return 0.0 if not has_line(state[1]) else 1.0 if first_moved else -1.0
        """,
    ),
    "fixed sides as 1 and -1 in one plane": (
        "planes do not switch with the player to move",
        """
        @cfunc(interface.WRITE_PLANES)
        def planes(state, out):
            second = count_stones(state[0] | state[1]) & 1
            for cell in range(CELLS):
                first = np.float32((state[second] >> np.uint64(cell)) & ONE)
                out[0, cell // 3, cell % 3] = first - np.float32((state[1 - second] >> np.uint64(cell)) & ONE)

        CHANGES = {"planes_shape": (1, 3, 3)}
        """,
    ),
    "an outcome beyond 1": (
        "outcome is -2.0",
        """
        @cfunc(interface.OUTCOME)
        def outcome(state):
            return -2.0 if has_line(state[1]) else 0.0
        """,
    ),
    "an outcome that depends on where the line is": (
        "outcome differs between a game and its mirror image",
        """
        @cfunc(interface.OUTCOME)
        def outcome(state):
            return -1.0 if has_line(state[1] & np.uint64(0b111_111_011)) else 0.0
        """,
    ),
    "an empty mask before the end": (
        "the legal mask is empty although the game is not over",
        """
        @cfunc(interface.LEGAL_MASK)
        def legal_mask(state, mask):
            empty = FULL & ~(state[0] | state[1])
            if count_stones(empty) < 2:
                empty = np.uint64(0)
            for cell in range(CELLS):
                mask[cell] = (empty >> np.uint64(cell)) & ONE != 0
        """,
    ),
    "a game longer than it says": (
        "the game is not over after max_plies = 7 plies",
        "CHANGES = {'max_plies': 7}",
    ),
    "compiled rules that differ from plain ones": (
        "compiled and plain Python results differ: outcome",
        """
        LOSS = 1.0

        @cfunc(interface.OUTCOME)
        def outcome(state):
            return -LOSS if has_line(state[1]) else 0.0  # Numba keeps the number it saw

        LOSS = 0.5
        """,
    ),
    "planes that are not written everywhere": (
        "planes leaves elements unwritten",
        """
        @cfunc(interface.WRITE_PLANES)
        def planes(state, out):
            for side in range(2):
                for cell in range(CELLS):
                    if (state[side] >> np.uint64(cell)) & ONE:
                        out[side, cell // 3, cell % 3] = 1.0
        """,
    ),
    "a key that leaves something out": (
        "evaluation_key is equal for two states with different planes",
        """
        @cfunc(interface.EVALUATION_KEY)
        def evaluation_key(state, key):
            key[0] = state[0]
            key[1] = 0
        """,
    ),
    "a key that holds more than is read": (
        "evaluation_key differs for two states with equal planes",
        """
        @cfunc(interface.INITIAL)
        def initial(state):
            for word in range(3):
                state[word] = 0

        @cfunc(interface.STEP)
        def step(state, action, successor):
            successor[0] = state[1]
            successor[1] = state[0] | (ONE << np.uint64(action))
            successor[2] = state[2] * np.uint64(10) + np.uint64(action)

        @cfunc(interface.EVALUATION_KEY)
        def evaluation_key(state, key):
            for word in range(3):
                key[word] = state[word]

        CHANGES = {"state_words": 3, "key_words": 3}
        """,
    ),
    "a rule that raises": (
        "legal_mask raised in plain Python: IndexError",
        """
        @cfunc(interface.LEGAL_MASK)
        def legal_mask(state, mask):
            empty = FULL & ~(state[0] | state[1])
            for cell in range(CELLS + 1):
                mask[cell] = (empty >> np.uint64(cell)) & ONE != 0
        """,
    ),
    "no rule that says what is legal": (
        "the rules have neither legal_mask nor legal_actions; write one",
        "legal_mask = interface.no_legal_mask",
    ),
    "a list that falls": (
        "legal_actions does not list the actions in rising order, each once",
        LISTED.format(order="CELLS - 1, -1, -1", more="", returned="count"),
    ),
    "a list with an action twice": (
        "legal_actions does not list the actions in rising order, each once",
        LISTED.format(order="CELLS", more="actions[count - 1] = actions[0]", returned="count"),
    ),
    "a list that counts too many": (
        "legal_actions leaves elements unwritten, or differs between two calls",
        LISTED.format(order="CELLS", more="", returned="min(count + 1, CELLS)"),
    ),
    "a list that counts too few": (
        "legal_actions writes more actions than it counts",
        LISTED.format(order="CELLS", more="", returned="max(count - 1, 1)"),
    ),
    "a list that counts more than there are": (
        "legal_actions returns 109; it must be the number of legal actions, 0 to 9",
        LISTED.format(order="CELLS", more="", returned="count + 100"),
    ),
    "a list with an action that there is none": (
        "legal_actions lists an action outside 0 to 8",
        LISTED.format(order="CELLS", more="actions[count - 1] = 9", returned="count"),
    ),
    "a list that changes the state": (
        "legal_actions changed the state it was given",
        LISTED.format(order="CELLS", more="state[0] = 0", returned="count"),
    ),
    "a compiled list that differs from the plain one": (
        "compiled and plain Python results differ: legal_actions",
        "FIRST = 1\n"
        + textwrap.dedent(LISTED).format(order="FIRST, CELLS", more="", returned="count")
        + "\nFIRST = 0\n",
    ),
    "a list and a mask that differ": (
        "legal_mask and legal_actions differ; write only one of them",
        LISTED.format(order="1, CELLS", more="", returned="count").replace(
            "legal_mask = interface.no_legal_mask", ""
        ),
    ),
    "one side that always moves": (
        "to_play is never 1 in any game",
        """
        @cfunc(interface.TO_PLAY)
        def to_play(state):
            return 0
        """,
    ),
    "a second player who moves first": (
        "to_play of the initial state is 1",
        """
        @cfunc(interface.TO_PLAY)
        def to_play(state):
            return 1 - count_stones(state[0] | state[1]) & 1
        """,
    ),
    "a mover who does not fit the planes": (
        "planes switch to the opponent's view although to_play says",
        """
        @cfunc(interface.TO_PLAY)
        def to_play(state):
            return (count_stones(state[0] | state[1]) >> 1) & 1
        """,
    ),
    "a third player": (
        "to_play is 2; it must be 0 or 1",
        """
        @cfunc(interface.TO_PLAY)
        def to_play(state):
            return count_stones(state[0] | state[1]) % 3
        """,
    ),
    "a symmetry of the actions that is none of the board": (
        "mirror",
        "CHANGES = {'action_symmetries': tictactoe.square_symmetries(3)[[0, 2, 1, 3, 4, 5, 6, 7]]}",
    ),
    "a symmetry that is no permutation": (
        "each row of action_symmetries must be a permutation of 0 .. 8",
        "CHANGES = {'action_symmetries': np.zeros((8, 9), np.int64)}",
    ),
    "a rule without a decorator": (
        "outcome is not compiled; write @interface.rule(interface.OUTCOME)",
        """
        def outcome(state):
            return 0.0
        """,
    ),
    "a rule of another signature": (
        "to_play is compiled with the wrong signature; it needs interface.TO_PLAY",
        """
        @cfunc(interface.IS_TERMINAL)
        def to_play(state):
            return False
        """,
    ),
    "a repetition key that comes back after every move": (
        "every legal action repeats an earlier position",
        """
        @cfunc(interface.REPETITION_KEY)
        def repetition_key(state, key):
            key[0] = count_stones(state[0] | state[1]) & 1

        CHANGES = {"repetition_words": 1}
        """,
    ),
    "a repetition key that is not written": (
        "repetition_key leaves elements unwritten",
        """
        @cfunc(interface.REPETITION_KEY)
        def repetition_key(state, key):
            key[0] = state[0] | state[1]

        CHANGES = {"repetition_words": 2}
        """,
    ),
    "an outcome for the first player in a game that shows whose turn it is": (
        "outcome seems to be the first player's value, not the mover's: the second player wins",
        """
        @cfunc(interface.STEP)
        def step(state, action, successor):
            successor[0] = state[1]
            successor[1] = state[0] | (ONE << np.uint64(action))

        @njit
        def has_two(stones):  # neighbours in a row or a column: nothing is drawn
            rows = stones & (stones >> ONE) & np.uint64(0b011_011_011)
            return rows != 0 or stones & (stones >> np.uint64(3)) != 0

        @cfunc(interface.IS_TERMINAL)
        def is_terminal(state):
            return has_two(state[1]) or (state[0] | state[1]) == FULL

        @cfunc(interface.OUTCOME)
        def outcome(state):
            return -1.0 if count_stones(state[0] | state[1]) & 1 == 0 else 1.0

        @cfunc(interface.WRITE_PLANES)
        def planes(state, out):
            for side in range(2):
                for cell in range(CELLS):
                    out[side, cell // 3, cell % 3] = np.float32((state[side] >> np.uint64(cell)) & ONE)
            out[2] = np.float32(count_stones(state[0] | state[1]) & 1)

        CHANGES = {
            "planes_shape": (3, 3, 3),
            "action_symmetries": np.arange(9)[None],
            "cell_symmetries": np.arange(9)[None],
        }
        """,
    ),
    "marks of a wrong shape": (
        "board.marks returns an array of shape (9,); rows and columns need an array of shape (3, 3)",
        "BOARD = {'marks': lambda state: np.zeros(9, np.int8)}",
    ),
    "marks as a list": ("board.marks returns list", "BOARD = {'marks': lambda state: [[0] * 3] * 3}"),
    "marks of a third kind": (
        "board.marks must hold whole numbers: 0 empty, 1 first player, 2 second player",
        "BOARD = {'marks': lambda state: np.full((3, 3), 3)}",
    ),
    "marks that raise": ("board.marks raised KeyError", "BOARD = {'marks': lambda state: {}[0]}"),
    "marks that change the state": (
        "board.marks changed the state",
        "BOARD = {'marks': lambda state: state.fill(9) or np.zeros((3, 3), int)}",
    ),
    "a cell outside the board": (
        "board.cell_of returns neither a cell from 0 to 8 nor NO_CELL",
        "BOARD = {'cell_of': lambda state, action: action + 1}",
    ),
    "a cell that is no number": (
        "board.cell_of returns neither a cell",
        "BOARD = {'cell_of': lambda state, action: None}",
    ),
    "cells that raise": (
        "board.cell_of raised ZeroDivisionError",
        "BOARD = {'cell_of': lambda state, action: 1 // 0}",
    ),
    "cells of the mirrored board": (
        "board.cell_of names a cell that the move leaves as it is",
        "BOARD = {'cell_of': lambda state, action: 8 - action}",
    ),
    "rows and columns exchanged": (
        "board.marks returns an array of shape (3, 3); rows and columns need an array of shape (3, 2)",
        "BOARD = {'columns': ('a', 'b')}",
    ),
    "labels twice": ("board.rows has the same label twice", "BOARD = {'rows': ('1', '2', '1')}"),
    "an empty label": ("board.columns must be a tuple of labels", "BOARD = {'columns': ('a', '', 'c')}"),
    "a board of another kind": ("board.kind is 'triangles'", "BOARD = {'kind': 'triangles'}"),
    "two symbols": ("board.symbols must be three texts", "BOARD = {'symbols': ('X', 'O')}"),
    "four symbols": ("more kinds need board.figures", "BOARD = {'symbols': ('.', 'X', 'O', '#')}"),
    "two kinds that look alike": (
        "board.figures is ('stone', 'stone'), so two kinds of pieces look alike",
        "BOARD = {'symbols': ('.', 'X', 'O', '#', '%'), 'figures': ('stone', 'stone')}",
    ),
    "another shape of planes": (
        "; planes_shape is (2, 3, 2)",
        "CHANGES = {'planes_shape': (2, 3, 2), 'cell_symmetries': np.arange(6)[None].repeat(8, 0)}",
    ),
    "one goal": ("board.goals must be two texts", "BOARD = {'goals': ('win',)}"),
    "a text that raises": (
        "format_state raised IndexError",
        "CHANGES = {'format_state': lambda state: 'abc'[int(state[0])]}",
    ),
    "no text": ("format_state returns no text", "CHANGES = {'format_state': lambda state: None}"),
    "an action without a name": (
        "action_name(3) returns no text",
        "CHANGES = {'action_name': lambda a: 'abc'[a:a + 1]}",
    ),
    "a position that forgets who moves": (
        "position(text(state)) is another position",
        "CHANGES = {'set_up': lambda marks, to_play: np.zeros(2, np.uint64)}",
    ),
    "a position that cannot be read": (
        "text or position raised KeyError",
        "CHANGES = {'set_up': lambda marks, to_play: {}[0]}",
    ),
    "moves of one name in a position": (
        "actions 0 and 1 have the same name, 'x'",
        "CHANGES = {'action_name': lambda state, action: 'x'}",
    ),
    "two actions of one name": ("have the same name, 'x'", "CHANGES = {'action_name': lambda action: 'x'}"),
    "names that cannot be read back": (
        "parse_action cannot read action_name(",
        "CHANGES = {'action_name': lambda action: 'ABCDEFGHI'[action]}",
    ),
}

ROLE_PLANE = """
        @cfunc(interface.WRITE_PLANES)
        def planes(state, out):
            for side in range(2):
                for cell in range(CELLS):
                    out[side, cell // 3, cell % 3] = np.float32((state[side] >> np.uint64(cell)) & ONE)
            out[2] = np.float32(count_stones(state[0] | state[1]) & 1)

        CHANGES = {"planes_shape": (3, 3, 3)}
        """
SOUND = {
    "a position without a board that would show it": (
        "CHANGES = {'board': None, 'set_up': tictactoe.make_game().set_up}"
    ),
    "a list in place of the mask": LISTED.format(order="CELLS", more="", returned="count"),
    "a list beside the mask": LISTED.format(order="CELLS", more="", returned="count").replace(
        "legal_mask = interface.no_legal_mask", ""
    ),
    "misère: who has a line has lost": """
        @cfunc(interface.OUTCOME)
        def outcome(state):
            return 1.0 if has_line(state[1]) else 0.0
        """,
    "a line wins for the second player, whoever completes it, as the planes show": """
        @cfunc(interface.OUTCOME)
        def outcome(state):
            return 0.0 if not has_line(state[1]) else count_stones(state[0] | state[1]) % 2 * 2.0 - 1.0
        """
    + ROLE_PLANE,
    "words of fixed sides": """
        @cfunc(interface.STEP)
        def step(state, action, successor):
            side = count_stones(state[0] | state[1]) & 1
            successor[1 - side] = state[1 - side]
            successor[side] = state[side] | (ONE << np.uint64(action))

        @cfunc(interface.IS_TERMINAL)
        def is_terminal(state):
            return (state[0] | state[1]) == FULL or has_line(state[0]) or has_line(state[1])

        @cfunc(interface.OUTCOME)
        def outcome(state):
            side = count_stones(state[0] | state[1]) & 1
            return -1.0 if has_line(state[1 - side]) else 0.0

        @cfunc(interface.WRITE_PLANES)
        def planes(state, out):
            side = count_stones(state[0] | state[1]) & 1
            for cell in range(CELLS):
                out[0, cell // 3, cell % 3] = np.float32((state[side] >> np.uint64(cell)) & ONE)
                out[1, cell // 3, cell % 3] = np.float32((state[1 - side] >> np.uint64(cell)) & ONE)
        """,
    "one plane of 1 and -1": """
        @cfunc(interface.WRITE_PLANES)
        def planes(state, out):
            for cell in range(CELLS):
                own, other = (state[0] >> np.uint64(cell)) & ONE, (state[1] >> np.uint64(cell)) & ONE
                out[0, cell // 3, cell % 3] = np.float32(own) - np.float32(other)

        CHANGES = {"planes_shape": (1, 3, 3)}
        """,
    "a full board won by the second player, whose role the planes show": """
        @cfunc(interface.OUTCOME)
        def outcome(state):
            return -1.0 if has_line(state[1]) else 1.0
        """
    + ROLE_PLANE,
    "planes of fixed sides, with one that says who moves": """
        @cfunc(interface.WRITE_PLANES)
        def planes(state, out):
            second = count_stones(state[0] | state[1]) & 1
            for cell in range(CELLS):
                out[0, cell // 3, cell % 3] = np.float32((state[second] >> np.uint64(cell)) & ONE)
                out[1, cell // 3, cell % 3] = np.float32((state[1 - second] >> np.uint64(cell)) & ONE)
            out[2] = np.float32(second)

        CHANGES = {"planes_shape": (3, 3, 3)}
        """,
    "stones without owners, where who fills a line wins": """
        @cfunc(interface.STEP)
        def step(state, action, successor):
            successor[0] = state[0] | (ONE << np.uint64(action))
            successor[1] = 0

        @cfunc(interface.IS_TERMINAL)
        def is_terminal(state):
            return has_line(state[0])

        @cfunc(interface.OUTCOME)
        def outcome(state):
            return -1.0
        """,
}


def write_game(folder: Path, body: str) -> str:
    """Write a game file and return its path."""
    path = folder / "changed.py"
    path.write_text(HEAD + "CHANGES = {}\nBOARD = {}\n" + textwrap.dedent(body) + TAIL)
    return str(path)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    finding, body = FAULTS[fault]
    games = 100 if fault.startswith("an outcome for the first player") else 20  # it shows in many games only
    assert main([write_game(tmp_path, body), f"games={games}"]) == 1
    output = capsys.readouterr().out
    assert finding in output
    assert "1." in output and "Nothing wrong" not in output


@pytest.mark.parametrize("variant", SOUND)
def test_nothing_is_found_in_a_sound_variant(variant: str, tmp_path: Path) -> None:
    check = check_game(make_game(write_game(tmp_path, SOUND[variant])), games=50)
    assert not check.findings, report(check)


def test_a_finding_shows_the_board_and_the_law(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([write_game(tmp_path, FAULTS["a draw scored as a loss"][1]), "games=20"])
    output = capsys.readouterr().out
    assert "law 3" in output
    assert any(set(line.split()[:3]) == {"X", "O"} for line in output.splitlines())


def test_many_findings_of_one_law_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([write_game(tmp_path, FAULTS["two actions of one name"][1]), "games=5"]) == 1
    output = capsys.readouterr().out
    assert output.count("have the same name, 'x'") == 3  # of eight
    assert "\n5 more findings of one law are not shown.\n" in output and "\n8 findings.\n" in output


def test_no_game_is_played_with_a_broken_board(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([write_game(tmp_path, FAULTS["two symbols"][1])]) == 1
    assert "No game was played, because of what was found.\n" in capsys.readouterr().out


WARNED = {
    "if the sides have different goals, add a plane that says who is to move": """
        @cfunc(interface.IS_TERMINAL)
        def is_terminal(state):
            return (state[0] | state[1]) == FULL

        @cfunc(interface.OUTCOME)
        def outcome(state):
            return -1.0 if has_line(state[1]) else 1.0
        """,
    "the second player wins whoever moves last": SOUND[
        "a line wins for the second player, whoever completes it, as the planes show"
    ],
    "every game is a draw": """
        @cfunc(interface.OUTCOME)
        def outcome(state):
            return 0.0
        """,
    "equal planes, different legal masks": """
        @cfunc(interface.WRITE_PLANES)
        def planes(state, out):
            for cell in range(CELLS):
                out[0, cell // 3, cell % 3] = np.float32((state[0] >> np.uint64(cell)) & ONE)

        CHANGES = {"planes_shape": (1, 3, 3)}
        """,
}


@pytest.mark.parametrize("warning", WARNED)
def test_what_is_right_in_some_games_only_gets_a_warning(
    warning: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([write_game(tmp_path, WARNED[warning]), "games=50"]) == 0
    output = capsys.readouterr().out
    assert "\nWarning: " in output and warning in output and "Nothing wrong found." in output


@pytest.mark.parametrize(("rows", "columns", "connect"), [(1, 5, 3), (5, 1, 2), (2, 2, 2), (3, 1, 3)])
def test_nothing_is_found_in_lines_on_tiny_boards(rows: int, columns: int, connect: int) -> None:
    check = check_game(make_game("gomoku", rows=rows, columns=columns, connect=connect), games=20)
    assert not check.findings and not check.warnings - {"every game is a draw"}, report(check)


@pytest.mark.parametrize("games", [60, 200])
def test_a_draw_that_is_not_0_is_found_where_all_games_are_equally_long(tmp_path: Path, games: int) -> None:
    """Four plies a game, so every second or fourth position would always be of the same ply."""
    body = """
        @cfunc(interface.LEGAL_MASK)
        def legal_mask(state, mask):
            for cell in range(CELLS):
                mask[cell] = cell in (0, 2, 6, 8) and ((state[0] | state[1]) >> np.uint64(cell)) & ONE == 0

        @cfunc(interface.IS_TERMINAL)
        def is_terminal(state):
            return (state[0] | state[1]) == np.uint64(0b101_000_101)

        @cfunc(interface.OUTCOME)
        def outcome(state):
            return 1e-4
        """
    check = check_game(make_game(write_game(tmp_path, body)), games=games)
    assert [text.split(" (")[0] for text in check.findings.first] == ["a final board is won for both sides"]


def test_a_game_that_is_over_at_once_is_a_finding_in_plain_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = """
        @cfunc(interface.IS_TERMINAL)
        def is_terminal(state):
            return True
        """
    assert main([write_game(tmp_path, body)]) == 1
    output = capsys.readouterr().out
    assert output.startswith("changed: The game is over before the first move.\n") and "1 finding." in output


def test_a_loop_says_what_the_check_warns_of(tmp_path: Path) -> None:
    path = write_game(tmp_path, WARNED["every game is a draw"])
    warnings = check_own_game(make_game(path), path, {})
    assert warnings == [f"Warning: every game is a draw (azero check_game game={path})."]


def test_a_check_with_little_time_stops_in_the_middle_of_a_game() -> None:
    check = GameCheck(make_game("tictactoe"), games=10**9, seed=1, seconds=0.0)
    check.run()
    assert not check.findings and not check.terminals


def test_nobody_ends_a_game_who_can_avoid_it() -> None:
    game = make_game("tictactoe")
    check = GameCheck(game, games=0, seed=1)
    check.run()
    lengths = [len(check.play_random(avoid_end=True)[1]) for _ in range(20)]
    assert min(lengths) >= 7 and sum(lengths) > 20 * 8  # random games have 7.6 plies on average


def test_tictactoe_passes_and_says_how_the_games_went(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tictactoe", "games=50", "seed=2"]) == 0
    output = capsys.readouterr().out
    assert output.startswith("tictactoe: 50 random games, ") and "%," not in output.replace(" %,", "")
    assert max(map(len, output.splitlines())) <= 80
    assert " and loses 0 %.\n" in output  # the last move may win or draw
    assert "Nothing wrong found." in output


def test_the_quick_check_finds_what_the_full_one_finds_first(tmp_path: Path) -> None:
    assert not quick_check(make_game("tictactoe"), seconds=0.3).findings
    for fault in ("an outcome for the first player", "planes of fixed sides instead of the mover's view"):
        finding, body = FAULTS[fault]
        folder = tmp_path / fault
        folder.mkdir()
        check = quick_check(make_game(write_game(folder, body)), seconds=60)
        assert next(iter(check.findings.first)).startswith(finding)


def test_a_file_of_settings_is_checked_with_its_options_and_others_beside(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["gomoku9", "rows=3", "connect=3", "games=5"]) == 0
    assert "(max_plies 27)" in capsys.readouterr().out  # 3 rows of the file's 9 columns


def test_the_same_seed_gives_the_same_report() -> None:
    game = make_game("tictactoe")
    assert report(check_game(game, 20, seed=5)) == report(check_game(game, 20, seed=5))
    assert report(check_game(game, 20, seed=5)) != report(check_game(game, 20, seed=6))


@pytest.mark.parametrize(
    "arguments", [["draughts"], ["tictactoe", "size=4"], ["tictactoe", "games=0"], ["tictactoe", "games"]]
)
def test_a_wrong_command_line_gets_one_sentence(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("azero: ") and captured.err.count("\n") == 1


@pytest.mark.parametrize(
    "text, said", [("x = (", "SyntaxError"), ("def make_game():\n    return 3\n", "must return a Game")]
)
def test_a_file_that_is_no_game_gets_one_sentence(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken.py").write_text(text)
    assert main([str(tmp_path / "broken.py")]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1
