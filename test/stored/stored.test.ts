/**
 * Runs that older releases stored go on in this one. The files in a folder were written by the release whose snapshots have
 * that version, one for each state of each chart, and are never written again.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { snapshotVersion } from '../../machines/stored/version.ts'
import { pendingIn } from '../../machines/tools/pendingCalls.ts'
import { ConfigurationError } from '../../src/messages/errors.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import { validateHistory } from '../../src/messages/validateHistory.ts'
import { type ChartName, chartNames, type StateName, stateNames, successor } from '../api/storedRuns.ts'
import { idle, rejection } from '../engine/watching.ts'
import { type SceneName, sceneNames, successors } from './teams.ts'

const versions = readdirSync(import.meta.dirname).filter((name) => /^\d/.test(name))

const storedBy = (version: string, file: string) =>
  JSON.parse(readFileSync(join(import.meta.dirname, version, file), 'utf8'))

/** The first version whose charts had a state. */
const since: Partial<Record<StateName, string>> = { AtLimit: '4.2', Summarising: '4.2' }

test('there are snapshots of this version, in every state of every chart', () => {
  for (const version of new Set([...versions, snapshotVersion])) {
    const states = stateNames.filter((state) => Number(version) >= Number(since[state] ?? 0))
    const names = chartNames.flatMap((chart) => states.map((state) => `${chart}.${state}.json`))
    expect(readdirSync(join(import.meta.dirname, version)).toSorted()).toEqual(names.toSorted())
  }
})

describe.each(versions)('stored by version %s', (version) => {
  test.each(readdirSync(join(import.meta.dirname, version)))('%s goes on to its end', async (file) => {
    const { agent, schema } = successor(file.split('.')[0] as ChartName)
    const run = agent.start({ snapshot: storedBy(version, file) }, schema)
    run.result.catch(() => {})
    await idle(20)
    for (let round = 0; run.pending.length > 0 && round < 3; round += 1) {
      for (const { id, kind } of run.pending) {
        if (kind === 'answer') run.answer(id, 'ok')
        else if (kind === 'limit') run.approve(id)
        else run.reject(id)
      }
      await idle(20)
    }
    const { messages, finishReason } = await run.result
    expect(finishReason).toBe('stop')
    expect(validateHistory(messages)).toEqual([])
  })
})

test.each([
  ['of another major', '3.9', /reads versions 4\.0 to/],
  ['of a newer release', '4.99', /a newer release wrote it/],
  ['that is not one', 'new', /reads versions/],
  ['that is missing', undefined, /version is missing/],
])('a version %s is refused, and the error says why', async (_, version, reason) => {
  const stored = storedBy(snapshotVersion, 'plain.Requesting.json')
  stored.context.version = version
  const error = await rejection(
    successor('plain').agent.start({ snapshot: stored }).result,
    ConfigurationError,
  )
  expect(error.message).toMatch(reason)
})

test.each([
  ['4', ['Be brief.', 'Be kind.']],
  ['4.1', ['Be brief.', 'Be kind.']],
  ['4.1', []],
])('what version %s stored of steers, %j, still reaches the model', async (version, steering) => {
  const stored = storedBy(version, 'plain.Streaming.json')
  stored.context.steering = steering
  const { messages } = await successor('plain').agent.start({ snapshot: stored }).result
  const asked = messages.filter(({ role }) => role === 'user').slice(1)
  expect(asked.flatMap(({ parts }) => parts)).toEqual(steering.map((text) => ({ type: 'text', text })))
})

const teamVersions = readdirSync(join(import.meta.dirname, 'teams'))

/** The calls that a stored run waits for, and what runs once all of them are approved. */
const expected: Record<SceneName, { pending: string[]; ran: string[] }> = {
  waiting: { pending: ['a/x', 'a/y'], ran: ['x 1 {}', 'y 1 {}'] },
  nested: { pending: ['m/a/x', 'm/a/y'], ran: ['x 1 {}', 'y 1 {}'] },
  working: { pending: [], ran: ['l 2 {}', 'x 1 {}', 'y 1 {}'] },
  edited: { pending: [], ran: ['e 2 {"n":2}'] },
  paused: { pending: ['p'], ran: ['p 2 {}', 'l 2 {}', 'x 1 {}', 'y 1 {}'] },
  // The decision on one of its calls is on its way.
  decided: { pending: [], ran: ['y 1 {}'] },
  ended: { pending: [], ran: [] },
  orchestrated: { pending: ['a/x', 'a/y'], ran: ['x 1 {}', 'y 1 {}'] },
}

test('there are teams of this version', () => {
  expect(teamVersions).toContain(snapshotVersion)
  for (const version of teamVersions)
    expect(readdirSync(join(import.meta.dirname, 'teams', version)).toSorted()).toEqual(
      sceneNames.map((name) => `${name}.json`).toSorted(),
    )
})

describe.each(teamVersions)('a team stored by version %s', (version) => {
  test.each(sceneNames)('continues: %s', async (name) => {
    const stored = storedBy(`teams/${version}`, `${name}.json`)
    expect(pendingIn(stored).map(({ id }) => id)).toEqual(expected[name].pending)
    const { agent, ran } = successors(name)
    const run = agent.start({ snapshot: stored })
    run.result.catch(() => {})
    for (let round = 0; round < 5; round += 1) {
      await idle(20)
      for (const { id } of run.pending) run.approve(id)
    }
    const { messages, finishReason } = await run.result
    expect(finishReason).toBe('stop')
    expect(validateHistory(messages)).toEqual([])
    expect(ran).toEqual(expected[name].ran)
  })
})

test('what the last call used is counted, though the executor of version 4.2 had not reported it', async () => {
  const run = successors('ended').agent.start({ snapshot: storedBy('teams/4.2', 'ended.json') })
  const { messages, usage } = await run.result
  expect(usage).toEqual({ inputTokens: 14 })
  expect(messages.flatMap(toolResultsOf).map(({ result }) => result)).toEqual(['ran q', 'ran r'])
})
