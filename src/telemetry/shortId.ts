/** An id or a name that came from a server or a model: real ones are shorter, but a server may send anything. */
export const shortId = (id: string): string => id.slice(0, 200)
