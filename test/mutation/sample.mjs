// Which mutants are tried. Stryker and the score ask the same, because mutants that no test reaches never come to a test.
import { createHash } from 'node:crypto'
import { basename } from 'node:path'

/** `MUTATION_SAMPLE=6` tries one mutant in six, always the same ones. */
export const oneIn = Number(process.env.MUTATION_SAMPLE ?? 1)

export const isChosen = ({ fileName, location: { start, end }, replacement = '' }) => {
  const place = [basename(fileName), start.line, start.column, end.line, end.column, replacement].join(' ')
  return createHash('sha256').update(place).digest().readUInt32BE(0) % oneIn === 0
}
