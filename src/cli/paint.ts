type Shade = (text: string) => string

/** Colours for one stream; without colours every shade leaves the text as it is. */
export type Paint = { dim: Shade; bold: Shade; green: Shade; yellow: Shade; red: Shade; cyan: Shade }

const shade =
  (on: boolean, open: number, close: number): Shade =>
  (text) =>
    on && text !== '' ? `\u001b[${open}m${text}\u001b[${close}m` : text

export const paintFor = (on: boolean): Paint => ({
  dim: shade(on, 2, 22),
  bold: shade(on, 1, 22),
  green: shade(on, 32, 39),
  yellow: shade(on, 33, 39),
  red: shade(on, 31, 39),
  cyan: shade(on, 36, 39),
})

/** Colours go to terminals only; `FORCE_COLOR` and `NO_COLOR` have the last word, in this order. */
export const wantsColour = (stream: { isTTY?: boolean }, env: NodeJS.ProcessEnv): boolean => {
  if (env.FORCE_COLOR !== undefined) return env.FORCE_COLOR !== '0' && env.FORCE_COLOR !== 'false'
  if (env.NO_COLOR) return false
  return stream.isTTY === true && env.TERM !== 'dumb'
}

/**
 * Text of a model or a tool on a terminal: without the control characters that would make the terminal do things, and
 * without those that would show it in another order than it has.
 */
export const printable = (text: string): string =>
  text.replace(/[\p{Cc}\p{Bidi_Control}]/gu, (sign) => (sign === '\n' || sign === '\t' ? sign : ''))

/** The same in one line. */
export const oneLine = (text: string): string => printable(text).replace(/\s+/g, ' ').trim()
