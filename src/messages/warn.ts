import { describeThrown } from './errors.ts'

/** True unless the environment says that this is production, or a test. */
export const isDevelopment = (): boolean =>
  typeof process === 'undefined' || !['production', 'test'].includes(process.env.NODE_ENV ?? '')

/**
 * Writes a warning for the developer: through `process`, which can silence or redirect it, or to the console of a
 * browser.
 */
export const emitWarning = (text: string, detail = ''): void =>
  typeof process === 'undefined'
    ? console.warn(detail === '' ? text : `${text}\n${detail}`)
    : process.emitWarning(text, { ...(detail !== '' && { detail }) })

/**
 * The text of an error for a client, from a user's function. It is called while an answer breaks, so it must not break
 * anything itself: if it throws or does not return a string, the client sees the default text, and an exception is a
 * warning.
 */
export const safeText =
  (showError: (error: unknown) => unknown, otherwise: string) =>
  (error: unknown): string => {
    const warn = (thrown: unknown) => emitWarning(`showError threw: ${describeThrown(thrown)}`)
    try {
      const text = showError(error)
      if (typeof text === 'string') return text
      Promise.resolve(text).catch(warn)
    } catch (thrown) {
      warn(thrown)
    }
    return otherwise
  }
