import { ConfigurationError, describeThrown } from '../../messages/errors.ts'
import { largestTape, parseTape, type TapedExchange, tapeText } from './tape.ts'

/** Imported when it is needed: scripted models stay usable where there is no file system. */
const files = () => process.getBuiltinModule('node:fs')

export const hasTape = (path: string): boolean => files().existsSync(path)

export const readTape = (path: string): TapedExchange[] => {
  const { statSync, readFileSync } = files()
  let json: string
  try {
    const { size } = statSync(path)
    if (size > largestTape)
      throw new ConfigurationError(`${path} has ${size} bytes; a tape may have ${largestTape}.`)
    json = readFileSync(path, 'utf8')
  } catch (thrown) {
    if (thrown instanceof ConfigurationError) throw thrown
    throw new ConfigurationError(`${path} cannot be read: ${describeThrown(thrown)}`, { cause: thrown })
  }
  return parseTape(json, path)
}

/** A reader meanwhile sees the old tape or the new one, and never half of it. */
export const writeTape = (path: string, exchanges: readonly TapedExchange[]): void => {
  const { existsSync, mkdirSync, writeFileSync, renameSync, rmSync } = files()
  const { dirname } = process.getBuiltinModule('node:path')
  const text = tapeText(exchanges)
  if (text.length > largestTape)
    throw new ConfigurationError(
      `${path} would get larger than ${largestTape} bytes: use a tape for each test.`,
    )
  const unfinished = `${path}.${process.pid}.tmp`
  try {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(unfinished, text)
    renameSync(unfinished, path)
  } catch (thrown) {
    if (existsSync(unfinished)) rmSync(unfinished)
    throw new ConfigurationError(`${path} cannot be written: ${describeThrown(thrown)}`, { cause: thrown })
  }
}
