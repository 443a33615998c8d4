
const char *${id}_action_name(int action)
{
    static const char *const names[] = {${action_names}};
    return action < 0 || action >= ${id}_actions ? "" : names[action];
}

const char *${id}_observation_name(int observation)
{
    static const char *const names[] = {${observation_names}};
    return observation < 0 || observation >= ${id}_observations ? "" : names[observation];
}
