import { stripVTControlCharacters } from 'node:util'

/** How much room a text takes. */
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
