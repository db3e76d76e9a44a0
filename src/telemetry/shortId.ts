/** An id or a name that came from a server or a model: real ones are shorter, but nobody knows what is sent. */
export const shortId = (id: string): string => id.slice(0, 200)
