import { v7 } from 'uuid'

/** An id that sorts by the time it was made. */
export const newId = (): string => v7()
