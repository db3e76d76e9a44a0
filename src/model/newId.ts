/** An id that sorts by the time it was made. */
export const newId = (): string => crypto.randomUUID()
