/* Controller of agent ${name}, problem ${problem}.
 * Written by decpomdp. C99, no other files, no malloc.
 *
 *   ${id}_state state;
 *   int action = ${id}_start(&state, ${first});
 *   action = ${id}_step(&state, observation);
 *
 * Give -1 as the first observation when nothing is seen before the first action. Actions and observations are numbers
 * from 0; an observation out of range gives -1 and changes nothing.
${more} */
#include <stdint.h>

enum { ${id}_nodes = ${nodes}, ${id}_actions = ${actions}, ${id}_observations = ${observations} };
