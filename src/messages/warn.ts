/** True unless the environment says that this is production, or a test. */
export const isDevelopment = (): boolean =>
  typeof process === 'undefined' || !['production', 'test'].includes(process.env.NODE_ENV ?? '')

/** Writes a warning for the developer: `process` can silence or redirect its own, and a browser has a console. */
export const emitWarning = (text: string, detail = ''): void =>
  typeof process === 'undefined'
    ? console.warn(detail === '' ? text : `${text}\n${detail}`)
    : process.emitWarning(text, { ...(detail !== '' && { detail }) })
