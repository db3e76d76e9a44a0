/** Frameworks import a module more often than it runs: a build imports it once, and a reload again and again. */
import { existsSync } from 'node:fs'
import { afterEach, expect, test, vi } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { openRuns, sqlite } from '../../src/durable/index.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { uiMessageHandler } from '../../src/ui/index.ts'
import { opened, storeFile } from './storeFile.ts'

afterEach(() => vi.unstubAllEnvs())

test('a build of Next opens nothing, and a handler can be made', async () => {
  vi.stubEnv('NEXT_PHASE', 'phase-production-build')
  const path = storeFile()
  const runs = await openRuns({ store: sqlite(path), agents: { it: new Agent(scriptedModel([])) } })
  uiMessageHandler(runs)
  expect(await runs.list()).toEqual([])
  expect(existsSync(path)).toBe(false)
  await runs.close()
})

const left = async (path: string) => {
  const hanging = new Agent(scriptedModel([[{ text: 'Old' }, { hang: true }]]))
  const runs = await opened(path, { it: hanging })
  const run = await runs.start('it', 'hi', { id: 'job' })
  for await (const { chunk } of run.stream()) if (chunk.output !== '') break
  return runs
}

test('after a reload in development, the new agents continue, and the old ones do not', async () => {
  vi.stubEnv('NODE_ENV', 'development')
  const path = storeFile()
  const old = await left(path)
  const runs = await opened(path, { it: new Agent(scriptedModel(['New.'])) })
  expect((await (await runs.get('job'))?.result)?.output).toBe('New.')
  await expect(old.start('it', 'again')).rejects.toThrow('closed')
})

test('elsewhere, or without agents, what is open stays open', async () => {
  const path = storeFile()
  const old = await left(path)
  const second = await opened(path, { it: new Agent(scriptedModel([])) })
  vi.stubEnv('NODE_ENV', 'development')
  const reader = await opened(path, {})
  expect((await reader.list()).map(({ id }) => id)).toEqual(['job'])
  expect((await second.list()).map(({ status }) => status)).toEqual(['running'])
  expect((await old.list()).map(({ status }) => status)).toEqual(['running'])
})
