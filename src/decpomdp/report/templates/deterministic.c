
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
