/* A champion of azero as a library: {{heading}}; {{facts}}.
 *
 * The library holds one game, for one thread. A value lies in [-1, 1]: 1 is a win, 0 a draw, -1 a loss.
 * {{actions}}
 */
#ifndef CHAMPION_H
#define CHAMPION_H
#ifdef __cplusplus
extern "C" {
#endif

#define CHAMPION_ACTIONS {{count}} /* actions are 0, 1, ... */

/* Begin a new game. A library that has just been loaded has done so. */
void champion_reset(void);

/* Return whether the player to move may play an action. */
int champion_is_legal(int action);

/* Play an action. Return 1, or 0 if it is not legal; then nothing has happened. */
int champion_play(int action);

/* Return the player to move, 0 or 1; -1: the game is over, and *outcome, if it is not null, is the first player's. */
int champion_to_play(double *outcome);

/* Search and return the best action, -1 if the game is over. *value, if not null, becomes the mover's value:
 * with search.kind=gumbel the one that training learns from, which differs from the mean that Python tells. */
int champion_best(int simulations, double *value);

#ifdef __cplusplus
}
#endif
#endif
