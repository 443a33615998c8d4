/* Controller of agent ${name}, problem ${problem}.
 * Written by decpomdp. C99, no other files, no malloc.
 *
 *   ${id}_state state;
 *   int action = ${id}_start(&state, -1);
 *   action = ${id}_step(&state, observation);
 *
 * Give -1 as the first observation when nothing is seen before the first action. Actions and observations are numbers
 * from 0; an observation out of range gives -1 and changes nothing.
 */
#include <stdint.h>

enum { ${id}_nodes = ${nodes}, ${id}_actions = ${actions}, ${id}_observations = ${observations} };

typedef struct { int node; } ${id}_state;

int ${id}_start(${id}_state *state, int observation);
int ${id}_step(${id}_state *state, int observation);
const char *${id}_action_name(int action);
const char *${id}_observation_name(int observation);

${tables}
int ${id}_start(${id}_state *state, int observation)
{
    if (observation < -1 || observation >= ${id}_observations)
        return -1;
    state->node = ${id}_start_node[${row}];
    return ${id}_node_action[state->node];
}

int ${id}_step(${id}_state *state, int observation)
{
    if (observation < 0 || observation >= ${id}_observations)
        return -1;
    state->node = ${id}_node_move[state->node][observation];
    return ${id}_node_action[state->node];
}
