import { stripVTControlCharacters } from 'node:util'

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
 * Text of a model or a tool on a terminal: without control characters, which the terminal would
 * execute, and without those that would show it in another order.
 */
export const printable = (text: string): string =>
  text.replace(/[\p{Cc}\p{Bidi_Control}]/gu, (sign) => (sign === '\n' || sign === '\t' ? sign : ''))

/** Printable text in one line. */
export const oneLine = (text: string): string => printable(text).replace(/\s+/g, ' ').trim()

/** The number of characters that a text shows, colours aside. */
export const widthOf = (cell: string): number => stripVTControlCharacters(cell).length

/** Rows in columns, each as wide as its widest cell; colours take no room. */
export const table = (rows: readonly string[][]): string[] => {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => widthOf(row[at] ?? ''))))
  return rows.map((row) =>
    row
      .map((cell, at) => cell + ' '.repeat((widths[at] ?? 0) - widthOf(cell)))
      .join('  ')
      .trimEnd(),
  )
}

/** Rows of two columns, the first as wide as its widest entry. */
export const columns = (rows: [string, string][], paint: Paint): string[] => {
  const width = Math.max(...rows.map(([first]) => first.length))
  return rows.map(([first, second]) => `  ${paint.cyan(first.padEnd(width))}  ${second}`.trimEnd())
}

const wide =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\u3000-\u303f\uff01-\uff60]/u
const noRoom = /[\p{Mn}\p{Me}\p{Cf}]/u

/** Recognises a character that takes two columns of a terminal. Lines may break before and after it. */
export const isWide = (sign: string): boolean => sign > '\u1100' && wide.test(sign)

/** The number of columns that a text takes on a terminal. */
export const displayWidth = (text: string): number => {
  let width = 0
  for (const sign of text) {
    if (isWide(sign)) width += 2
    else if (sign < '\u0300' || !noRoom.test(sign)) width += 1
  }
  return width
}

export const units = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

/** A time in its largest unit: `5 min`. */
export const spanText = (ms: number): string => {
  if (ms < units.m) return `${Math.max(0, Math.round(ms / units.s))} s`
  if (ms < units.h) return `${Math.round(ms / units.m)} min`
  if (ms < 2 * units.d) return `${Math.round(ms / units.h)} h`
  return `${Math.round(ms / units.d)} d`
}
