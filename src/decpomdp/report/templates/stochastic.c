/* Controller of agent ${name}, problem ${problem}.
 * Written by decpomdp. C99, no other files, no malloc.
 *
 *   ${id}_state state;
 *   int action = ${id}_start(&state, -1, seed, episode);
 *   action = ${id}_step(&state, observation);
 *
 * Give -1 as the first observation when nothing is seen before the first action. Actions and observations are numbers
 * from 0; an observation out of range gives -1 and changes nothing.
 *
 * Random numbers: decision t of an episode uses two numbers of 64 bits, SplitMix64 at a position that depends on t.
 * So the same seed and episode give the actions of decpomdp.TeamRunner(team, seed, episode). To use other random
 * numbers, use the functions that end in _with.
 */
#include <stdint.h>

enum { ${id}_nodes = ${nodes}, ${id}_actions = ${actions}, ${id}_observations = ${observations} };

typedef struct { uint64_t key, time; int node, last; } ${id}_state;

int ${id}_start(${id}_state *state, int observation, uint64_t seed, uint64_t episode);
int ${id}_step(${id}_state *state, int observation);
int ${id}_start_with(${id}_state *state, int observation, uint64_t move_bits, uint64_t action_bits);
int ${id}_step_with(${id}_state *state, int observation, uint64_t move_bits, uint64_t action_bits);
const char *${id}_action_name(int action);
const char *${id}_observation_name(int observation);

${tables}
#define ${id}_GOLDEN UINT64_C(0x9E3779B97F4A7C15)

static uint64_t ${id}_mix(uint64_t value)
{
    value = (value ^ (value >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94D049BB133111EB);
    return value ^ (value >> 31);
}

static uint64_t ${id}_bits(const ${id}_state *state, uint64_t lane)
{
    return ${id}_mix(state->key + (1 + state->time * ${lanes} + lane) * ${id}_GOLDEN);
}

static int ${id}_pick(uint32_t row, uint64_t bits)
{
    uint32_t place = ${id}_row_first[row] + (uint32_t)(((bits >> 32) * ${id}_row_count[row]) >> 32);
    return (uint32_t)bits < ${id}_entry_cut[place] ? (int)${id}_entry_own[place] : (int)${id}_entry_other[place];
}

static int ${id}_act(${id}_state *state, uint32_t row, uint64_t move_bits, uint64_t action_bits)
{
    state->node = ${id}_pick(row, move_bits);
    state->last = ${id}_pick(${starts} + (uint32_t)state->node, action_bits);
    return state->last;
}

int ${id}_start_with(${id}_state *state, int observation, uint64_t move_bits, uint64_t action_bits)
{
    if (observation < -1 || observation >= ${id}_observations)
        return -1;
    return ${id}_act(state, ${row}, move_bits, action_bits);
}

int ${id}_step_with(${id}_state *state, int observation, uint64_t move_bits, uint64_t action_bits)
{
    uint32_t place;
    if (observation < 0 || observation >= ${id}_observations)
        return -1;
    place = ((uint32_t)state->node * ${id}_actions + (uint32_t)state->last) * ${id}_observations + (uint32_t)observation;
    return ${id}_act(state, ${starts} + ${id}_nodes + place, move_bits, action_bits);
}

int ${id}_start(${id}_state *state, int observation, uint64_t seed, uint64_t episode)
{
    if (observation < -1 || observation >= ${id}_observations)
        return -1;
    state->key = ${id}_mix(${id}_mix(seed + ${id}_GOLDEN) + episode * ${id}_GOLDEN);
    state->time = 0;
    return ${id}_start_with(state, observation, ${id}_bits(state, ${lane}), ${id}_bits(state, ${lane} + 1));
}

int ${id}_step(${id}_state *state, int observation)
{
    if (observation < 0 || observation >= ${id}_observations)
        return -1;
    state->time++;
    return ${id}_step_with(state, observation, ${id}_bits(state, ${lane}), ${id}_bits(state, ${lane} + 1));
}
