import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished, vi } from 'vitest'
import { parseTape, type TapedExchange } from '../../src/testing/tape/tape.ts'

/** A place for a tape, in a folder that is not there yet. */
export const tapePath = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'tape-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'tapes', 'test.json')
}

export const textOfTape = (path: string): string => readFileSync(path, 'utf8')

export const exchangesOn = (path: string): TapedExchange[] => parseTape(textOfTape(path), path)

/** From here to the end of the test, nothing gets out. */
export const noNetwork = (): void => {
  const refuse = () => {
    throw new Error('A replay must not go to the network.')
  }
  vi.stubGlobal('fetch', refuse)
  onTestFinished(() => {
    vi.unstubAllGlobals()
  })
}
