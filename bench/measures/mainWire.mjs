/** The wire that everyone speaks: the goals are for it, and peers are measured on it. */
export const main = 'openai-chat'

/** The others are there to show that no decoder falls behind: fewer processes, as many for each contender. */
export const repetitionsOn = (wire) => (wire === main ? undefined : 3)
