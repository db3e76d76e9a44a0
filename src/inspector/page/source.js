// @ts-check

/**
 * Asks whoever the page gets its data from.
 *
 * @param {string} path
 * @returns {Promise<Response>}
 */
export const ask = (path) => fetch(path)
