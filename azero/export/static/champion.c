/* The five functions of champion.h over azero's own rules, search and network (azero/export/kernels.py). */

#include "champion.h"
#include <stdint.h>

#define JOIN(start, end) start##end
#define OF(start, algorithm) JOIN(start, algorithm) /* ALGORITHM is defined where this is compiled */

extern uint8_t azero_legal[];   /* of each action */
extern double azero_status[3];  /* who is to move, whether the game is over, the first player's outcome */
extern double azero_summary[3]; /* simulations done, the search's value, its move */
void azero_restart(void), azero_look(void), azero_play(int action), azero_begin(int simulations), azero_infer(void);
int azero_receive(void), OF(azero_advance_, ALGORITHM)(void);
void OF(azero_read_, ALGORITHM)(void);
#ifdef PREPARED
void OF(azero_prepare_, ALGORITHM)(int simulations);
#endif

static int ready;

void champion_reset(void) {
    azero_restart();
    azero_look();
    ready = 1;
}

static void begin_first_game(void) {
    if (!ready) champion_reset();
}

int champion_is_legal(int action) {
    begin_first_game();
    return action >= 0 && action < CHAMPION_ACTIONS && azero_legal[action];
}

int champion_play(int action) {
    if (!champion_is_legal(action)) return 0;
    azero_play(action);
    azero_look();
    return 1;
}

int champion_to_play(double *outcome) {
    begin_first_game();
    if (azero_status[1] == 0) return (int)azero_status[0];
    if (outcome) *outcome = azero_status[2];
    return -1;
}

int champion_best(int simulations, double *value) {
    if (champion_to_play(0) < 0) return -1;
    if (simulations < 1) simulations = 1;
    if (simulations > MOST_SIMULATIONS) simulations = MOST_SIMULATIONS;
#ifdef PREPARED
    OF(azero_prepare_, ALGORITHM)(simulations);
#endif
    azero_begin(simulations);
    while (OF(azero_advance_, ALGORITHM)()) {
        azero_infer();
        if (azero_receive() <= 0) break;
    }
    OF(azero_read_, ALGORITHM)();
    if (value) *value = azero_summary[1];
    return (int)azero_summary[2];
}
