"""Exact scores of positions, and how often a champion's moves fall short of them. Only to measure, never to train.

Letters: P positions, A actions, S state words.

A *score* is said of a move and counts plies: +n, the player to move wins with the n-th ply from here on, that move being the
first; -n, the player loses so; 0, a draw. Of winning moves the one with fewest plies is best, of losing ones that with most.
"""
